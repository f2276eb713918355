"""What Arrow is told before its first array is made; importing this tells it."""

import sys

import pyarrow as pa


class _WithoutPandas:
    """Arrow loads pandas at the first array, to look for its types: half a second and 60 MB in
    every process, for types that nobody here has. It goes on without where there is none."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used", name=name)


def _keeping_pool() -> pa.MemoryPool:
    """Memory that is kept for a while when it is given back. What Arrow chooses by itself gives it
    to the system soon, and new pages cost more than what most searches do with them."""
    if "jemalloc" in pa.supported_memory_backends():
        return pa.jemalloc_memory_pool()
    return pa.system_memory_pool()


sys.meta_path.insert(0, _WithoutPandas())
pa.set_memory_pool(_keeping_pool())
