"""Backups in a blob store: contents by their hash, and for each backup a list of its files.

A file that has not changed since the previous backup is not read again, and a content that is
already stored is not stored again. A backup exists once its list does, and the list is written
last: an interrupted backup leaves contents that the next one uses. Every read is verified by its
hash.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from vedette.backup.cipher import Cipher
from vedette.blobs.blob_store import BlobKey, BlobStore, open_verified, pieces_of
from vedette.blobs.open_folder import OpenFolder, is_link_error, path_parts
from vedette.errors import BadRequestError, NotFoundError
from vedette.file_tree import walk
from vedette.limits import BACKUP_PIECE_BYTES, PATH_SHOWN_CHARS

_VERSION: Final = 1


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a backup. `path` is relative to the data directory."""

    path: str
    mode: int
    size: int
    changed_ns: int
    sha256: str
    """Hash of the content."""
    blob: str
    """Hash of the stored bytes: the same, or that of the encrypted content."""


class StoredLink(msgspec.Struct, frozen=True):
    """A symbolic link of a backup."""

    path: str
    target: str


class Manifest(msgspec.Struct, frozen=True):
    """The content of a backup."""

    version: int
    made_us: int
    server_version: str
    files: list[StoredFile]
    links: list[StoredLink]
    folders: list[str]


class _Envelope(msgspec.Struct, frozen=True):
    """The list as stored: plain, or encrypted with the key of its hash."""

    sha256: str
    is_encrypted: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a repository."""

    id: str
    """The name of its list: 64 hex digits; the first 12 are enough to identify it."""
    made_us: int
    files: int
    size: int
    """Size in bytes when restored."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Result for one file."""

    path: str
    size: int
    is_new: bool
    """Whether its content had to be stored."""


class Repository:
    """The backups in one blob store, with or without encryption."""

    def __init__(self, blobs: BlobStore, cipher: Cipher | None) -> None:
        self._blobs = blobs
        self._cipher = cipher

    def create(
        self,
        source: Path,
        made_us: int,
        server_version: str,
        note: Callable[[Progress], None],
        left_out: frozenset[str] = frozenset(),
    ) -> Backup:
        """Stores every file below `source`, which must not change meanwhile, except the top-level
        names in `left_out`. Raises OSError for an unreadable folder or file: a backup is complete
        or does not exist.

        Raises BadRequestError for a link that `restore` would refuse: the backup would lack the
        target of the link.
        """
        paths = {str(path.relative_to(source)): path for path in _below(source, left_out)}
        links = [
            StoredLink(name, _link_target(path, source))
            for name, path in paths.items()
            if path.is_symlink()
        ]
        _check_links(links)
        known = self._newest_files()
        files, folders = [], []
        for name, path in paths.items():
            if path.is_symlink():
                continue
            if path.is_dir():
                folders.append(name)
            elif path.is_file():
                files.append(self._store(path, name, known, note))
        manifest = Manifest(_VERSION, made_us, server_version, files, links, folders)
        return self._write(manifest)

    def backups(self) -> list[Backup]:
        """Returns every backup, the oldest first. Raises BadRequestError without the right key."""
        found = [self._read(info.key.sha256) for info in self._blobs.blobs("backup_lists")]
        return sorted((_summary(name, one) for name, one in found), key=lambda one: one.made_us)

    def find(self, wanted: str = "") -> str:
        """Returns the id of a backup by its prefix; the newest for "". Raises NotFoundError."""
        known = self.backups()
        if not wanted and known:
            return known[-1].id
        found = [one.id for one in known if wanted and one.id.startswith(wanted)]
        if len(found) != 1:
            raise NotFoundError(f"backup {wanted!r} not found or ambiguous")
        return found[0]

    def verify(self, backup_id: str) -> int:
        """Reads every file of a backup; returns the number of files. Raises UnavailableError or
        NotFoundError for the first damaged or missing file."""
        _, manifest = self._read(backup_id)
        for file in manifest.files:
            for _ in self._content(file):
                pass
        return len(manifest.files)

    def restore(self, backup_id: str, target: Path, note: Callable[[Progress], None]) -> Backup:
        """Writes a backup into the new directory `target`. Raises the errors of `verify`, and
        BadRequestError for a list with paths outside of it."""
        _, manifest = self._read(backup_id)
        _check_links(manifest.links)
        target.mkdir(mode=0o700, parents=True)
        with OpenFolder.root(target) as root:
            for name in manifest.folders:
                with _refusing_links(name), root.below(path_parts(name), mode=0o700):
                    pass
            for file in manifest.files:
                self._restore_file(root, file)
                note(Progress(file.path, file.size, True))
            # Links last: nothing is written through a link.
            for link in manifest.links:
                *folders, name = path_parts(link.path)
                with _refusing_links(link.path), root.below(tuple(folders), mode=0o700) as folder:
                    folder.create_link(name, link.target)
        return _summary(backup_id, manifest)

    def forget(self, keep: int) -> int:
        """Removes all backups except the newest `keep`, at least one, and the contents that only
        they need; returns the number of removed backups. Nothing else may use the repository
        meanwhile."""
        old = self.backups()[: -max(1, keep)]
        for backup in old:
            self._blobs.delete(BlobKey("backup_lists", backup.id))
        needed = {
            file.blob
            for info in self._blobs.blobs("backup_lists")
            for file in self._read(info.key.sha256)[1].files
        }
        for info in list(self._blobs.blobs("backups")):
            if info.key.sha256 not in needed:
                self._blobs.delete(info.key)
        return len(old)

    def _restore_file(self, root: OpenFolder, file: StoredFile) -> None:
        *folders, name = path_parts(file.path)
        with (
            _refusing_links(file.path),
            root.below(tuple(folders), mode=0o700) as folder,
            folder.create_file(name, file.mode & 0o700) as written,
        ):
            for piece in self._content(file):
                written.write(piece)

    def _store(
        self,
        path: Path,
        name: str,
        known: Mapping[str, StoredFile],
        note: Callable[[Progress], None],
    ) -> StoredFile:
        status = path.stat()
        before = known.get(name)
        is_same = before is not None and (before.size, before.changed_ns) == (
            status.st_size,
            status.st_mtime_ns,
        )
        if before is not None and is_same and self._has(before.blob):
            note(Progress(name, status.st_size, False))
            return before
        sha256, blob = self._hashes(path)
        is_new = not self._has(blob)
        if is_new:
            self._blobs.put(BlobKey("backups", blob), self._shown(path, sha256))
        note(Progress(name, status.st_size, is_new))
        return StoredFile(
            name, status.st_mode & 0o777, status.st_size, status.st_mtime_ns, sha256, blob
        )

    def _hashes(self, path: Path) -> tuple[str, str]:
        """Returns the hash of the content, and that of the stored bytes."""
        digest = hashlib.sha256()
        for piece in _read_pieces(path):
            digest.update(piece)
        sha256 = digest.hexdigest()
        if self._cipher is None:
            return sha256, sha256
        stored = hashlib.sha256()
        for piece in self._shown(path, sha256):
            stored.update(piece)
        return sha256, stored.hexdigest()

    def _shown(self, path: Path, sha256: str) -> Iterator[bytes]:
        """Yields the bytes to store for a file."""
        pieces = _read_pieces(path)
        return pieces if self._cipher is None else self._cipher.encrypted(sha256, pieces)

    def _content(self, file: StoredFile) -> Iterator[bytes]:
        """Yields the content of a file, verified; the stored bytes are verified before the first
        piece."""
        digest = hashlib.sha256()
        with open_verified(self._blobs, BlobKey("backups", file.blob)) as stored:
            pieces = pieces_of(stored)
            if self._cipher is not None:
                pieces = self._cipher.decrypted(file.sha256, pieces)
            for piece in pieces:
                digest.update(piece)
                yield piece
        if digest.hexdigest() != file.sha256:
            raise BadRequestError(f"{file.path}: is not what was backed up")

    def _has(self, blob: str) -> bool:
        return self._blobs.size(BlobKey("backups", blob)) is not None

    def _newest_files(self) -> dict[str, StoredFile]:
        known = self.backups()
        if not known:
            return {}
        return {file.path: file for file in self._read(known[-1].id)[1].files}

    def _write(self, manifest: Manifest) -> Backup:
        content = msgspec.json.encode(manifest)
        sha256 = hashlib.sha256(content).hexdigest()
        if self._cipher is not None:
            content = b"".join(self._cipher.encrypted(sha256, _pieces(content)))
        stored = msgspec.msgpack.encode(_Envelope(sha256, self._cipher is not None, content))
        name = hashlib.sha256(stored).hexdigest()
        self._blobs.put(BlobKey("backup_lists", name), (stored,))
        return _summary(name, manifest)

    def _read(self, backup_id: str) -> tuple[str, Manifest]:
        try:
            with open_verified(self._blobs, BlobKey("backup_lists", backup_id)) as file:
                envelope = msgspec.msgpack.decode(file.read(), type=_Envelope)
        except (ValueError, msgspec.DecodeError):
            raise NotFoundError(f"backup {backup_id[:64]!r} not found") from None
        content = envelope.content
        if envelope.is_encrypted != (self._cipher is not None):
            wanted = "give its key" if envelope.is_encrypted else "it is read without a key"
            raise BadRequestError(
                f"backup {backup_id[:12]} is {'' if envelope.is_encrypted else 'not '}encrypted: "
                f"{wanted}"
            )
        if self._cipher is not None:
            content = b"".join(self._cipher.decrypted(envelope.sha256, (content,)))
        manifest = msgspec.json.decode(content, type=Manifest)
        if manifest.version != _VERSION:
            raise BadRequestError(f"backup {backup_id[:12]} was made by a newer version")
        return backup_id, manifest


def _below(source: Path, left_out: frozenset[str]) -> list[Path]:
    """Returns all paths below a folder, sorted. Raises OSError for a folder that cannot be
    listed."""
    found: list[Path] = []
    for folder, folders, names in walk(source):
        if folder == source:
            folders[:] = [name for name in folders if name not in left_out]
            names = [name for name in names if name not in left_out]
        found += [folder / name for name in (*folders, *names)]
    return sorted(found)


def _summary(name: str, manifest: Manifest) -> Backup:
    size = sum(file.size for file in manifest.files)
    return Backup(name, manifest.made_us, len(manifest.files), size)


def _check_links(links: Sequence[StoredLink]) -> None:
    """Raises BadRequestError for a link that leads out of the directory, or through another link:
    users of the restored directory follow its links."""
    paths = {link.path for link in links}
    for link in links:
        place = list(path_parts(link.path)[:-1])
        for part in link.target.split("/"):
            if part == "..":
                is_inside = bool(place)
                del place[-1:]
            elif part not in ("", "."):
                place.append(part)
                is_inside = "/".join(place) not in paths
            else:
                is_inside = True
            if not is_inside or link.target.startswith("/"):
                raise BadRequestError(
                    f"{link.path[:PATH_SHOWN_CHARS]}: is a link to a place outside of the data "
                    f"directory, or to another link: {link.target[:PATH_SHOWN_CHARS]!r}"
                )


@contextmanager
def _refusing_links(name: str) -> Iterator[None]:
    """Translates the error for a path through a link or a file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError) or is_link_error(error):
            raise BadRequestError(
                f"the backup names one path twice, or a path through a link or a file: "
                f"{name[:PATH_SHOWN_CHARS]!r}"
            ) from None
        raise


def _link_target(path: Path, source: Path) -> str:
    """Returns the target of a link; relative for an absolute target within `source`."""
    target, root = path.readlink(), source.absolute()
    if target.is_absolute() and target.is_relative_to(root):
        return os.path.relpath(target, path.absolute().parent)
    return str(target)


def _read_pieces(path: Path) -> Iterator[bytes]:
    # Does not follow a link that replaced the file since it was listed.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while piece := file.read(BACKUP_PIECE_BYTES):
            yield piece


def _pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), BACKUP_PIECE_BYTES):
        yield content[start : start + BACKUP_PIECE_BYTES]
