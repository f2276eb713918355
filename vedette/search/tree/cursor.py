"""The continuation point of a tree: the last descendant of the previous answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cursor:
    """A descendant: its generation, its start in epoch microseconds, its id."""

    depth: int
    began_us: int
    process_id: str
