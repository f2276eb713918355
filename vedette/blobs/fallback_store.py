"""A blob store and the older stores that it is filled from.

New blobs go to the current store; blobs that are not there yet are read from the older stores,
until `respond/blob_migration.py` has moved them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey, BlobStore, OlderStore
from vedette.errors import NotFoundError


class FallbackStore:
    """A `BlobStore` over a current store and older ones."""

    def __init__(self, current: BlobStore, older: Sequence[OlderStore]) -> None:
        self.current = current
        self.older = tuple(older)

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        return self.current.put(key, pieces)

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        # The current store is queried again at the end: a blob may be moved between two queries.
        for store in (self.current, *self.older, self.current):
            pieces = store.read(key, start, length)
            try:
                first = next(pieces, b"")
            except NotFoundError:
                continue
            return chain((first,), pieces)
        raise NotFoundError(f"blob {key} is not stored")

    def size(self, key: BlobKey) -> int | None:
        sizes = (store.size(key) for store in (self.current, *self.older, self.current))
        return next((size for size in sizes if size is not None), None)

    def delete(self, key: BlobKey) -> None:
        for store in (*self.older, self.current):
            store.delete(key)

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        """Yields the blobs of all stores; a blob that is being moved may appear twice."""
        return chain.from_iterable(store.blobs(area) for store in (*self.older, self.current))
