"""A directory of this machine, below the folder that the settings name."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vedette.blobs.local_directory import sync_folder
from vedette.forwarder.delivery import Content, DeliveryError
from vedette.limits import FORWARD_DISK_FREE_BYTES_MIN


@dataclass(frozen=True, slots=True)
class Directory:
    """A `Destination`. Files appear whole: they are written beside, and renamed."""

    root: Path

    def deliver(self, path: str, content: Content) -> None:
        kept = self.root / path
        draft = kept.with_name(f".{kept.name}.{secrets.token_hex(4)}")
        with _translated():
            new = [kept.parent, *kept.parent.parents]
            made = [one for one in new if not one.exists()]
            kept.parent.mkdir(parents=True, exist_ok=True)
            self._check_room(len(content.body))
            try:
                with draft.open("xb") as file:
                    file.write(content.body)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(kept)
            finally:
                draft.unlink(missing_ok=True)
            # A rename is durable once its folder is, and a new folder once those above it are.
            for folder in {kept.parent, *(one.parent for one in made)}:
                sync_folder(folder)

    def _check_room(self, size: int) -> None:
        free = shutil.disk_usage(self.root).free - size
        if free < FORWARD_DISK_FREE_BYTES_MIN:
            raise DeliveryError(
                f"{self.root}: has {max(free, 0):,} bytes left on its disk; "
                f"{FORWARD_DISK_FREE_BYTES_MIN:,} are kept free"
            )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeliveryError(f"{error.filename or 'the directory'}: {error.strerror}") from None
