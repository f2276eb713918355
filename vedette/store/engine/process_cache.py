"""Cache of query results about single processes, invalidated by writes to them.

Paging through a process reads its segment counts with every page, which takes longer than the page
itself. All writes to an embedded engine pass through this server. A cluster has other writers, so
nothing is cached there.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from vedette.model.columns import PROCESS, RANK_LENGTH

T = TypeVar("T")

_NO_PROCESS = pa.chunked_array([], pa.string())


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Any
    size: int


class ProcessCache:
    """LRU cache of at most `bytes_max`. Thread-safe."""

    def __init__(self, bytes_max: int) -> None:
        """`bytes_max` 0 disables the cache."""
        self._bytes_max = bytes_max
        self.bytes_kept = 0
        self._kept: OrderedDict[tuple[str, Hashable], _Kept] = OrderedDict()
        self._lock = Lock()
        self._begun = 0
        self._running = 0

    def get_or_load(
        self,
        process_id: str,
        question: Hashable,
        ask: Callable[[], T],
        size: Callable[[T], int],
    ) -> T:
        """Returns the cached result for a process and `question`, else the result of `ask`.

        `question` includes everything that the result depends on besides the process; `size`
        returns the result's bytes. Results are shared: callers must not modify them.
        """
        key = (process_id, question)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast(T, self._kept[key].answer)
            begun, is_unwritten = self._begun, not self._running
        answer = ask()
        with self._lock:
            # A read that overlapped a write may lack its rows.
            if is_unwritten and begun == self._begun:
                self._keep(key, _Kept(answer, size(answer)))
        return answer

    def get_or_load_many(
        self,
        process_ids: Sequence[str],
        question: Callable[[str], Hashable],
        load: Callable[[list[str]], Mapping[str, T]],
        size: Callable[[T | None], int],
    ) -> dict[str, T]:
        """Maps each process with a result to its result. Loads missing results together, and also
        caches that a process has none."""
        keys = {one: (one, question(one)) for one in process_ids}
        found: dict[str, T | None] = {}
        with self._lock:
            for one, key in keys.items():
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[one] = cast("T | None", self._kept[key].answer)
            begun, is_unwritten = self._begun, not self._running
        missing = [one for one in keys if one not in found]
        if missing:
            loaded = load(missing)
            found |= {one: loaded.get(one) for one in missing}
            with self._lock:
                if is_unwritten and begun == self._begun:
                    for one in missing:
                        self._keep(keys[one], _Kept(found[one], size(found[one])))
        return {one: answer for one in keys if (answer := found[one]) is not None}

    @property
    def writes_ended(self) -> int:
        """Number of completed writes of this process, of any rows."""
        with self._lock:
            return self._begun - self._running

    @contextmanager
    def writing(self, process_ids: pa.ChunkedArray | None = None) -> Iterator[None]:
        """Invalidates these processes (None: all); hold the context for the duration of a write."""
        with self._lock:
            self._begun += 1
            self._running += 1
            self._drop(process_ids)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def _keep(self, key: tuple[str, Hashable], kept: _Kept) -> None:
        if key in self._kept or kept.size > self._bytes_max:
            return
        self._kept[key] = kept
        self.bytes_kept += kept.size
        while self.bytes_kept > self._bytes_max:
            self.bytes_kept -= self._kept.popitem(last=False)[1].size

    def _drop(self, process_ids: pa.ChunkedArray | None) -> None:
        if not self._kept:
            return
        if process_ids is None:
            self._kept.clear()
            self.bytes_kept = 0
            return
        cached = pa.array([process_id for process_id, _ in self._kept], process_ids.type)
        written = pc.is_in(cached, value_set=process_ids.combine_chunks()).to_pylist()
        for key in [key for key, is_written in zip(self._kept, written, strict=True) if is_written]:
            self.bytes_kept -= self._kept.pop(key).size


_PARENT: Final = next(column for column in PROCESS if column.name == "parent_id")


def written_processes(data: pa.Table) -> pa.ChunkedArray:
    """Returns the processes whose cached results become wrong once the rows are written: the rows'
    processes, and their parents, because a parent's results include its children."""
    if "process_id" not in data.column_names:
        return _NO_PROCESS
    own = data.column("process_id")
    if _PARENT.physical not in data.column_names:
        return own
    # Rows that were read from a store have claims as texts, which their ranks do not let decode.
    claims = data.column(_PARENT.physical).cast(pa.binary()).unique().to_pylist()
    parents = pa.array({claim[RANK_LENGTH:].decode() for claim in claims}, own.type)
    return pa.chunked_array([*own.chunks, parents], own.type)
