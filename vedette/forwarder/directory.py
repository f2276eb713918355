"""A directory of this machine, below the folder that the settings name."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vedette.blobs.local_directory import sync_folder
from vedette.blobs.open_folder import OpenFolder, path_parts
from vedette.forwarder.delivery import Content, DeliveryError
from vedette.limits import Limit

FORWARD_DISK_FREE_BYTES_MIN: Limit[int] = 2_000_000_000
"""Bytes that a directory leaves free on its disk, which may also be the disk of the stores."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The `Destination` for directories. Files appear complete: they are written under another name
    and then renamed."""

    root: Path

    def deliver(self, path: str, content: Content) -> None:
        *folders, name = path_parts(path)
        draft = f".{name}.{secrets.token_hex(4)}"
        with _translated():
            self.root.mkdir(parents=True, exist_ok=True)
            sync_folder(self.root.parent)
            self._check_room(len(content.body))
            with (
                OpenFolder.root(self.root) as root,
                root.below(tuple(folders), mode=0o777) as folder,
            ):
                try:
                    with folder.create_file(draft, 0o666) as file:
                        file.write(content.body)
                        file.flush()
                        os.fsync(file.fileno())
                    folder.move(draft, folder, name)
                finally:
                    folder.remove(draft)
                folder.sync()
                # A rename is durable once its folder is synced, a new folder once its parents are.
                for depth in range(len(folders)):
                    with root.below(tuple(folders[:depth])) as parent:
                        parent.sync()

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
