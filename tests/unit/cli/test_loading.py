"""Imports without garbage collection (`cli/loading.py`), each in a process of its own."""

import subprocess
import sys

CODE = """
import gc
from vedette.cli.loading import loading
{before}
with loading():
    inside = gc.isenabled()
    import {module}
print(inside, gc.isenabled(), gc.get_freeze_count() > 0)
"""


def _printed(module: str, before: str = "") -> str:
    code = CODE.format(module=module, before=before)
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def test_what_was_imported_is_never_traversed_and_collection_goes_on_afterwards() -> None:
    assert _printed("sqlalchemy") == "False True True"


def test_nothing_is_frozen_where_nothing_was_imported() -> None:
    assert _printed("gc") == "False True False"


def test_collection_that_was_off_stays_off() -> None:
    assert _printed("sqlalchemy", before="gc.disable()") == "False False False"


def test_a_failed_import_leaves_collection_on() -> None:
    code = (
        "import gc\nfrom vedette.cli.loading import loading\n"
        "try:\n    with loading():\n        import vedette.cli.nothing_of_this_name\n"
        "except ImportError:\n    print(gc.isenabled())"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout == "True\n"
