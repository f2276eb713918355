"""Configures Arrow on import. Import it before the first array is created."""

import sys

import pyarrow as pa


class _WithoutPandas:
    """Import hook that hides pandas. Arrow imports pandas at the first array to check for its
    types, which costs half a second and 60 MB per process; without pandas it skips the check."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used", name=name)


def _memory_pool() -> pa.MemoryPool:
    """Returns an allocator that keeps freed memory for a while. Arrow's default returns it to the
    system soon, and page faults then cost more than most searches."""
    if "jemalloc" in pa.supported_memory_backends():
        return pa.jemalloc_memory_pool()
    return pa.system_memory_pool()


sys.meta_path.insert(0, _WithoutPandas())
pa.set_memory_pool(_memory_pool())
