"""Parses statements, and translates them for an engine without a Keeper."""

import re
from dataclasses import dataclass
from typing import Final

_INSERT: Final = re.compile(rb"\s*INSERT\s+INTO\s", re.IGNORECASE)
_DATA: Final = re.compile(
    rb"(?P<into>\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?:`[^`]*`|[\w.])+\s*(?:\([^)]*\))?)\s*"
    rb"(?:SETTINGS\s[^\n]*?\s)?FORMAT\s+(?P<format>\w+)[ \t]*\r?\n?",
    re.IGNORECASE,
)
_SELECTS: Final = re.compile(
    rb"(?P<into>\s*INSERT\s+INTO\s(?:`[^`]*`|[\w.])+\s*\([^)]*\)\s*SELECT\s.*?\sFROM\s+)"
    rb"input\((?P<structure>'(?:[^'\\]|\\.)*')\)(?P<rest>[^\n]*)\s"
    rb"FORMAT\s+(?P<format>\w+)[ \t]*\r?\n?",
    re.IGNORECASE,
)
_READS: Final = re.compile(r"\s*(SELECT|WITH|SHOW|DESC|EXPLAIN|EXISTS|CHECK|KILL|\()", re.I)
_TRAILING_FORMAT: Final = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_ON_CLUSTER: Final = re.compile(r"\sON CLUSTER '?\w+'?")
_DEFINES: Final = re.compile(r"\s*(CREATE|ALTER|DROP|ATTACH|DETACH|RENAME|OPTIMIZE|TRUNCATE|GRANT)")
_ABOUT_USERS: Final = re.compile(r"\s*(CREATE USER|ALTER USER|GRANT|REVOKE)\b")
_REPLICATED: Final = re.compile(r"ENGINE = Replicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?")

DEDUPLICATED_BLOCKS: Final = 1000
"""Number of recent blocks that are deduplicated; about the default of a replicated table."""


@dataclass(frozen=True)
class Insert:
    """An INSERT with rows in a format."""

    into: str
    format: str
    rows: bytes
    structure: str = ""
    """Quoted structure of `input` for an INSERT SELECT; "" for a plain INSERT."""
    rest: str = ""

    def sql(self, path: str) -> str:
        """The same insert, of rows that lie in a file."""
        if not self.structure:
            return f"{self.into} FROM INFILE '{path}' FORMAT {self.format}"
        return f"{self.into}file('{path}', '{self.format}', {self.structure}){self.rest}"


def insert_of(statement: bytes) -> Insert | None:
    """The insert that the statement is; None for others, and for INSERT SELECT and VALUES."""
    if not _INSERT.match(statement[:64]):
        return None
    found = _DATA.match(statement)
    if found is None:
        return _insert_select(statement)
    into, kind = found["into"].decode(), found["format"].decode()
    return None if kind.upper() == "VALUES" else Insert(into, kind, statement[found.end() :])


def _insert_select(statement: bytes) -> Insert | None:
    found = _SELECTS.match(statement)
    if found is None:
        return None
    texts = {name: text.decode() for name, text in found.groupdict().items()}
    return Insert(
        texts["into"], texts["format"], statement[found.end() :], texts["structure"], texts["rest"]
    )


def reads(sql: str) -> bool:
    """Whether it answers with rows."""
    return _READS.match(sql) is not None


def format_of(sql: str) -> str:
    """The format that it names at its end; "" for none."""
    found = _TRAILING_FORMAT.search(sql)
    return found[1] if found else ""


def for_one_engine(sql: str) -> str:
    """The statement without what needs a Keeper; those about users are parsed and not run, since
    the engine has nowhere to keep users."""
    if _ABOUT_USERS.match(sql):
        return f"EXPLAIN AST {sql}"
    if not _DEFINES.match(sql):
        return sql
    sql = _ON_CLUSTER.sub("", sql, count=1)
    changed = _REPLICATED.sub(r"ENGINE = \1(", sql, count=1)
    if changed == sql:
        return sql
    window = f"non_replicated_deduplication_window = {DEDUPLICATED_BLOCKS}"
    return f"{changed}, {window}" if "\nSETTINGS " in changed else f"{changed}\nSETTINGS {window}"
