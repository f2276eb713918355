"""glibc's malloc in the server: what is large is mapped, whatever was freed before."""

import platform
import subprocess
import sys

import pytest

_CODE = """
import ctypes
from vedette.bootstrap.memory.malloc_tuning import SERVER_MMAP_BYTES, grow_without_copies

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
         "fordblks", "keepcost")]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo
grow_without_copies()
bytes(31 << 20)  # freed at once, which by itself raises the bound to its size
before = mallinfo().hblks
large = bytes(SERVER_MMAP_BYTES + 4096)
print(mallinfo().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's")
def test_large_buffers_are_mapped_also_after_larger_ones_were_freed() -> None:
    ran = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1"
