"""A blob store and the older places that it is filled from.

What is new goes to the store; what is not there yet is read from the older places, until
`respond/blob_migration.py` has moved it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey, BlobStore, OlderStore
from vedette.errors import NotFoundError


class FallbackStore:
    """A `BlobStore` over a store and older ones."""

    def __init__(self, current: BlobStore, older: Sequence[OlderStore]) -> None:
        self.current = current
        self.older = tuple(older)

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        return self.current.put(key, pieces)

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        # The current store is asked again at the end: a blob may be moved between two questions.
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
        """As the contract has it; one that is being moved may come twice."""
        return chain.from_iterable(store.blobs(area) for store in (*self.older, self.current))
