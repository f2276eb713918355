"""Reads all files under one path: what is in them, and what was refused.

Large texts are read in parts, and these and EVTX logs by other processes where there are any
(`reader_pool.py`).
"""

from collections import Counter
from collections.abc import Generator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from vedette.importer.order.external_sort import Sorter
from vedette.importer.order.text_spool import ChangedError, Spool, Texts
from vedette.importer.readers.reader_pool import Launch, Readers
from vedette.importer.scan.file_ranges import Part, edges, read, read_part
from vedette.importer.scan.scan_result import Gathered
from vedette.importer.sources.archives import Found, Kind, Place, Refusal, walk
from vedette.importer.sources.byte_streams import DAMAGE, BombError, whole
from vedette.importer.sources.digest import of_part
from vedette.limits import IMPORT_ERRORS_MAX


class RefusedRecord(NamedTuple):
    """A record that cannot be read."""

    file: int
    position: int
    """From 1, in the file."""
    reason: str
    message: str


class _File:
    """A file that is read, in one part or several."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[int] = []
        self.digest: Future[bytes] | None = None
        """Of one that is read in several."""


class _Passing(Gathered, kw_only=True):
    """Passes items on at once: a stream has no end that is known."""

    sorter: Sorter
    envelope_sorter: Sorter

    def take(self, items: list[bytes]) -> None:
        self.sorter.extend(items)

    def take_envelopes(self, items: list[bytes]) -> None:
        self.envelope_sorter.extend(items)


class Reading:
    """What was read under a path. Closing it gives its temporary files back."""

    def __init__(self, path: Path, host: str, launch: Launch) -> None:
        self.files: list[str] = []
        """Names of the files that were read."""
        self.refusals: list[Refusal] = []
        self.refused: list[RefusedRecord] = []
        self.reasons: Counter[str] = Counter()
        self.digests: list[bytes] = []
        self.copies: set[int] = set()
        """Files whose content another one before them has."""
        self.items = Sorter()
        self.envelopes = Sorter()
        self.texts = Texts()
        self.hosts: dict[int, str] = {}
        self.votes: dict[str, Counter[int]] = {}
        self._host = host
        self._spool = Spool()
        self._files: list[_File] = []
        self._gathered: dict[int, Gathered] = {}
        """By part; what is sorted already is not in it any more."""
        self._places: list[tuple[int, int]] = []
        """By part, the number of its file and the records before it."""
        self._readers = Readers(launch)
        try:
            for spool in (self._spool, *self._readers.spools):
                self.texts.add_spool(spool)
            self._read_all(walk(path, self.refusals.append))
            for done in self._readers.done(all_of_it=True):
                self._take(done)
        finally:
            self._readers.close()
        for file in self._files:
            self._settle(file)

    def close(self) -> None:
        self.items.close()
        self.envelopes.close()
        self.texts.close()

    def place(self, part: int, position: int) -> tuple[int, int]:
        """The file and the position in it, of a position in a part."""
        file, before = self._places[part]
        return file, before + position

    def _read_all(self, files: Generator[Found, None, None]) -> None:
        found = next(files, None)
        while found is not None:
            file = _File(found.name)
            self._files.append(file)
            try:
                self._read(file, found)
            except BombError as error:
                found = _thrown(files, error)  # the walker refuses the rest of that archive
                continue
            except OSError as error:  # it is there no more
                self.refusals.append(Refusal(file.name, "damaged", error.strerror or str(error)))
            found = next(files, None)

    def _read(self, file: _File, found: Found) -> None:
        """Raises BombError."""
        if found.place is not None:
            self._read_in_place(file, found.kind, found.place)
        elif found.kind is Kind.EVTX and self._readers.spools:
            self._share_log(file, found)
        else:
            self._read_here(file, found)

    def _read_in_place(self, file: _File, kind: Kind, place: Place) -> None:
        borders = edges(place) if kind is Kind.TEXT else [place.begin, place.end]
        places = [Place(place.path, begin, end) for begin, end in pairwise(borders)]
        parts = [self._part(file, kind, some) for some in places]
        if len(parts) > 1:
            file.digest = of_part(*place)
        for part in parts:
            part.is_whole = len(parts) == 1
            self._share(part)

    def _read_here(self, file: _File, found: Found) -> None:
        """Raises BombError."""
        part = self._part(file, found.kind)
        into = self._passing(part)
        try:
            read(found, part, into, self._spool)
        finally:
            self._take(into)

    def _share_log(self, file: _File, found: Found) -> None:
        """Raises BombError."""
        part = self._part(file, found.kind)
        try:
            part.content = whole(found.stream).getvalue()
        except BombError:
            raise
        except DAMAGE as error:
            self._take(Gathered(part.number, damage=str(error)[:200]))
            return
        self._share(part)

    def _part(self, file: _File, kind: Kind, place: Place | None = None) -> Part:
        number = len(self._places)
        self._places.append((0, 0))
        file.parts.append(number)
        part = Part(number, kind, self._host or _stem(file.name))
        if place is not None:
            part.path, part.begin, part.end = str(place.path), place.begin, place.end
            if kind is Kind.TEXT:
                self.texts.add_part(number, place.path)
        return part

    def _share(self, part: Part) -> None:
        if not self._readers.spools:
            self._take(part)
            return
        for done in self._readers.done():
            self._take(done)
        self._readers.give(part)

    def _passing(self, part: Part) -> _Passing:
        return _Passing(part.number, sorter=self.items, envelope_sorter=self.envelopes)

    def _take(self, done: Gathered | Part) -> None:
        """What was read, here or elsewhere; a part that was read nowhere is read here."""
        if isinstance(done, Part):
            done = read_part(done, self._passing(done), self._spool)
        self.items.extend(done.items)
        self.envelopes.extend(done.envelopes)
        self.hosts |= done.hosts
        for host, votes in done.votes.items():
            self.votes.setdefault(host, Counter()).update(votes)
        done.items, done.envelopes = [], []
        self._gathered[done.part] = done

    def _settle(self, file: _File) -> None:
        """Once all parts of a file are read: what it is, and where its parts belong."""
        parts = [self._gathered[number] for number in file.parts if number in self._gathered]
        self.refusals += [Refusal(file.name, "damaged", one.damage) for one in parts if one.damage]
        if not parts:
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


def _thrown(files: Generator[Found, None, None], error: BombError) -> Found | None:
    """What the walker yields next when an error is raised where it stands."""
    try:
        return files.throw(error)
    except StopIteration:
        return None


def _stem(name: str) -> str:
    """A file's own name without its ending, as a host name."""
    last = PurePosixPath(name.rpartition("!")[2].replace("\\", "/")).name
    return last.partition(".")[0].lower() or "unknown"
