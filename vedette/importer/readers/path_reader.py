"""Reads all files under one path into sorters, and collects what was rejected.

Large text files are split into ranges. Ranges and EVTX logs are read by reader processes where
there are any (`reader_pool.py`).
"""

from collections import Counter
from collections.abc import Generator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from vedette.importer.order.external_sort import Sorter
from vedette.importer.readers.reader_pool import LaunchReaders, ReaderPool
from vedette.importer.scan.file_ranges import FileRange, read_found, read_range, split_offsets
from vedette.importer.scan.scan_result import ScanResult
from vedette.importer.sources.archives import Extent, FoundFile, Kind, Refusal, walk
from vedette.importer.sources.byte_streams import DAMAGE, BombError, read_all
from vedette.importer.sources.digest import Hasher
from vedette.importer.sources.text_spool import ChangedError, Spool, TextStore
from vedette.limits import DAMAGE_CHARS_MAX, IMPORT_ERRORS_MAX


class RefusedRecord(NamedTuple):
    """A rejected record, with its place and the reason."""

    file: int
    position: int
    """Position in the file, counted from 1."""
    reason: str
    message: str


class _File:
    """A file with the numbers of its ranges."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[int] = []
        self.digest: Future[bytes] | None = None
        """SHA-256 of a file that is split into ranges."""


class _DirectSink(ScanResult, kw_only=True):
    """Passes items to the sorters at once, since a stream may be longer than memory."""

    sorter: Sorter
    envelope_sorter: Sorter

    def take(self, items: list[bytes]) -> None:
        self.sorter.extend(items)

    def take_envelopes(self, items: list[bytes]) -> None:
        self.envelope_sorter.extend(items)


class PathReader:
    """The records under a path. Closing it deletes its temporary files."""

    def __init__(self, path: Path, host: str, launch: LaunchReaders) -> None:
        self.files: list[str] = []
        """Names of the files that were read."""
        self.on_disk = 0
        """Files on disk under the path: read, archives, and rejected."""
        self.refusals: list[Refusal] = []
        self.refused: list[RefusedRecord] = []
        self.reasons: Counter[str] = Counter()
        self.digests: list[bytes] = []
        self.copies: set[int] = set()
        """Numbers of files with the same content as an earlier one."""
        self.items = Sorter()
        self.envelopes = Sorter()
        self.texts = TextStore()
        self.hosts: dict[int, str] = {}
        self.votes: dict[str, Counter[int]] = {}
        self._host = host
        self._spool = Spool()
        self._files: list[_File] = []
        self._results: dict[int, ScanResult] = {}
        """Results by range number, without the items, which are in the sorters."""
        self._places: list[tuple[int, int]] = []
        """Maps range number to (file number, number of the file's records before the range)."""
        self._readers = ReaderPool(launch)
        self._hasher = Hasher()
        try:
            for spool in (self._spool, *self._readers.spools):
                self.texts.add_spool(spool)
            self._read_all(walk(path, self.refusals.append, self._count))
            for done in self._readers.results(wait_for_all=True):
                self._take(done)
        finally:
            self._readers.close()
        try:
            for file in self._files:
                self._combine(file)
        finally:
            self._hasher.close()

    def _count(self) -> None:
        self.on_disk += 1

    def close(self) -> None:
        self.items.close()
        self.envelopes.close()
        self.texts.close()

    def place(self, part: int, position: int) -> tuple[int, int]:
        """The file and the position in it, for a position in a range."""
        file, before = self._places[part]
        return file, before + position

    def _read_all(self, files: Generator[FoundFile, None, None]) -> None:
        found = next(files, None)
        while found is not None:
            file = _File(found.name)
            self._files.append(file)
            try:
                self._read(file, found)
            except BombError as error:
                found = _thrown(files, error)  # the walker rejects the rest of that archive
                continue
            except OSError as error:  # it was removed
                self.refusals.append(Refusal(file.name, "unreadable", error.strerror or str(error)))
            found = next(files, None)

    def _read(self, file: _File, found: FoundFile) -> None:
        """Raises BombError."""
        if found.place is not None:
            self._read_in_place(file, found.kind, found.place)
        elif found.kind is Kind.EVTX and self._readers.spools:
            self._submit_log(file, found)
        else:
            self._read_here(file, found)

    def _read_in_place(self, file: _File, kind: Kind, place: Extent) -> None:
        borders = split_offsets(place) if kind is Kind.TEXT else [place.begin, place.end]
        places = [Extent(place.path, begin, end) for begin, end in pairwise(borders)]
        parts = [self._part(file, kind, some) for some in places]
        if len(parts) > 1:
            file.digest = self._hasher.digest_range(*place)
        for part in parts:
            part.is_whole = len(parts) == 1
            self._submit(part)

    def _read_here(self, file: _File, found: FoundFile) -> None:
        """Raises BombError."""
        part = self._part(file, found.kind)
        into = self._direct_sink(part)
        try:
            read_found(found, part, into, self._spool, self._hasher)
        finally:
            self._take(into)

    def _submit_log(self, file: _File, found: FoundFile) -> None:
        """Raises BombError."""
        part = self._part(file, found.kind)
        try:
            part.content = read_all(found.stream).getvalue()
        except BombError:
            raise
        except DAMAGE as error:
            self._take(ScanResult(part.number, damage=str(error)[:DAMAGE_CHARS_MAX]))
            return
        self._submit(part)

    def _part(self, file: _File, kind: Kind, place: Extent | None = None) -> FileRange:
        number = len(self._places)
        self._places.append((0, 0))
        file.parts.append(number)
        part = FileRange(number, kind, self._host or _stem(file.name))
        if place is not None:
            part.path, part.begin, part.end = str(place.path), place.begin, place.end
            if kind is Kind.TEXT:
                self.texts.add_part(number, place.path)
        return part

    def _submit(self, part: FileRange) -> None:
        if not self._readers.spools:
            self._take(part)
            return
        for done in self._readers.results():
            self._take(done)
        self._readers.submit(part)

    def _direct_sink(self, part: FileRange) -> _DirectSink:
        return _DirectSink(part.number, sorter=self.items, envelope_sorter=self.envelopes)

    def _take(self, done: ScanResult | FileRange) -> None:
        """Takes a result, or a range that its reader process could not read, which is read here."""
        if isinstance(done, FileRange):
            done = read_range(done, self._direct_sink(done), self._spool, self._hasher)
        self.items.extend(done.items)
        self.envelopes.extend(done.envelopes)
        self.hosts |= done.hosts
        for host, votes in done.votes.items():
            self.votes.setdefault(host, Counter()).update(votes)
        done.items, done.envelopes = [], []
        self._results[done.part] = done

    def _combine(self, file: _File) -> None:
        """Combines the results of all ranges of a file."""
        parts = [self._results[number] for number in file.parts if number in self._results]
        self.refusals += [Refusal(file.name, "damaged", one.damage) for one in parts if one.damage]
        unread = [one.unread for one in parts if one.unread]
        if unread:
            self.refusals.append(Refusal(file.name, "unreadable", unread[0]))
        if len(unread) == len(parts):
            return
        count = sum(one.count for one in parts)
        if count and sum(one.unknown for one in parts) == count:
            message = "it holds no record of a known format"
            self.refusals.append(Refusal(file.name, "no_records", message))
            return
        number, before = len(self.files), 0
        for one in parts:
            self._places[one.part] = number, before
            room = IMPORT_ERRORS_MAX - len(self.refused)
            self.refused += [
                RefusedRecord(number, before + position, reason, message)
                for position, reason, message in one.refused[:room]
            ]
            self.reasons.update(one.reasons)
            before += one.count
        try:
            digest = parts[0].digest if file.digest is None else file.digest.result()
        except OSError as error:
            raise ChangedError(f"{file.name}: {error.strerror}") from error
        if digest in self.digests:
            self.copies.add(number)
        self.digests.append(digest)
        self.files.append(file.name)


def _thrown(files: Generator[FoundFile, None, None], error: BombError) -> FoundFile | None:
    """Raises an error in the walker; returns what it yields next."""
    try:
        return files.throw(error)
    except StopIteration:
        return None


def _stem(name: str) -> str:
    """The name of a file without its extension, as a host name."""
    last = PurePosixPath(name.rpartition("!")[2].replace("\\", "/")).name
    return last.partition(".")[0].lower() or "unknown"
