"""Plain lists: one indicator per line, or CSV with an indicator column. Each line becomes its own
report, so that a single line can be ignored.

Comments begin with `#`, `;` or `//`. A CSV header may name the column of the indicator
(`indicator`, `ioc`, `value`, `ip`, `domain`, `md5`, `sha256`, `ja3`, ...), its `score`,
`confidence` and `description`. Without a header, the first cell that is an indicator counts.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from vedette.feeds.formats.indicator_values import UnreadableError, normal_value, recognised
from vedette.limits import REPORT_TEXT_CHARS_MAX, Limit
from vedette.model.threat.feed import CONFIDENCE_UNKNOWN, BrokenPart, Ioc, IocType, Item, Report

LIST_LINE_BYTES_MAX: Limit[int] = 64 * 1024
"""Bytes of a line in a list; longer lines are skipped."""

LIST_HEAD_LINES: Limit[int] = 200
"""Lines at the beginning of a text, one of which must contain an indicator for the text to be a
list."""


_COMMENTS: Final = ("#", ";", "//")
_VALUE_NAMES: Final = (
    "indicator",
    "ioc",
    "ioc_value",
    "value",
    "observable",
    "ip",
    "ip_address",
    "dst_ip",
    "domain",
    "hostname",
    "host",
    "md5",
    "md5_hash",
    "sha256",
    "sha256_hash",
    "ja3",
    "ja3_md5",
    "ja3s",
)
_FINGERPRINTS: Final = {"ja3": "ja3", "ja3_md5": "ja3", "ja3s": "ja3s"}
_NOTES: Final = ("description", "title", "comment", "threat", "malware", "listingreason", "tags")
_SCORE_UNKNOWN: Final = 50
_DELIMITERS: Final = (",", ";", "\t", "|")


class _Columns(Struct):
    """Column positions from the header line."""

    values: dict[int, str]
    notes: int = -1
    score: int = -1
    confidence: int = -1


def items(chunks: Iterable[bytes]) -> Iterator[Item]:
    """Yields the reports of a list."""
    columns: _Columns | None = None
    is_first = True
    for number, line in _lines(chunks):
        place = f"line {number:,}"
        if line is None:
            yield BrokenPart(place=place, problem="is too long, or is no text")
            continue
        text = line.strip()
        if not text:
            continue
        named = _columns(_cells(text.lstrip("#; /"))) if is_first or columns is None else None
        if named is not None and (is_first or text.startswith("#")):
            columns, is_first = named, False
            continue
        if text.startswith(_COMMENTS):
            continue
        is_first = False
        try:
            yield from _reports(_cells(text), columns)
        except UnreadableError as problem:
            yield BrokenPart(place=place, problem=str(problem))


def looks_like_list(head: bytes) -> bool:
    """Whether the first bytes are lines of text, one of which contains an indicator."""
    try:
        text = head.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return False
    if "\0" in text or text.lstrip().startswith(("{", "[", "<")):
        return False
    for line in text.splitlines()[:LIST_HEAD_LINES]:
        for cell in _cells(line.strip()):
            try:
                recognised(cell)
            except UnreadableError:
                continue
            return True
    return False


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, str | None]]:
    """Yields numbered lines; None for a line that is not text, or too long."""
    rest, number, is_long = b"", 0, False
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield number, None if is_long else _decoded(line)
            is_long = False
        if len(rest) > LIST_LINE_BYTES_MAX:
            rest, is_long = b"", True
    if rest or is_long:
        yield number + 1, None if is_long else _decoded(rest)


def _decoded(line: bytes) -> str | None:
    if len(line) > LIST_LINE_BYTES_MAX or b"\0" in line:
        return None
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _cells(line: str) -> list[str]:
    counts = {one: line.count(one) for one in _DELIMITERS}
    delimiter = max(counts, key=lambda one: counts[one])
    if not counts[delimiter]:
        return [line.split("#", maxsplit=1)[0].strip()] if not line.startswith("#") else [line]
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return [line]
    return [cell.strip() for cell in row]


def _columns(cells: list[str]) -> _Columns | None:
    """Returns the columns that a line names; None if it names none."""
    names = [cell.lower().replace(" ", "_") for cell in cells]
    values = {at: name for at, name in enumerate(names) if name in _VALUE_NAMES}
    if not values:
        return None
    notes = next((names.index(name) for name in _NOTES if name in names), -1)
    score = names.index("score") if "score" in names else -1
    confidence = names.index("confidence") if "confidence" in names else -1
    return _Columns(values, notes, score, confidence)


def _reports(cells: list[str], columns: _Columns | None) -> Iterator[Report]:
    if columns is None:
        yield _report(*_first_indicator(cells), cells, None)
        return
    for at, name in columns.values.items():
        if at < len(cells) and cells[at]:
            fingerprint = _FINGERPRINTS.get(name)
            kind, value = (
                normal_value(fingerprint, cells[at]) if fingerprint else recognised(cells[at])
            )
            yield _report(kind, value, cells, columns)


def _first_indicator(cells: list[str]) -> tuple[IocType, str]:
    problem = UnreadableError("has no hash, address, or name")
    for number, cell in enumerate(cells):
        try:
            return recognised(cell)
        except UnreadableError as error:
            problem = error if number == 0 else problem
    raise problem


def _report(kind: IocType, value: str, cells: list[str], columns: _Columns | None) -> Report:
    note = _cell(cells, columns.notes) if columns else ""
    score = _number(cells, columns.score, -100, 100) if columns else None
    sure = _number(cells, columns.confidence, 0, 100) if columns else None
    confidence = CONFIDENCE_UNKNOWN if sure is None else sure / 100
    return Report(
        id=f"{kind}-{value.replace(':', '_').replace('/', '_')}",
        title=value,
        description=note[:REPORT_TEXT_CHARS_MAX],
        score=_SCORE_UNKNOWN if score is None else round(score),
        iocs=(Ioc(kind, value, confidence=confidence),),
    )


def _cell(cells: list[str], at: int) -> str:
    return cells[at] if 0 <= at < len(cells) else ""


def _number(cells: list[str], at: int, least: float, most: float) -> float | None:
    try:
        number = float(_cell(cells, at))
    except ValueError:
        return None
    return number if least <= number <= most else None
