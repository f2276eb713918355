"""Queries that a server can refuse by its settings (docs/query-language.md#wildcards): leading
wildcards, and joins with very many binaries. By default it refuses neither."""

from typing import Protocol

from vedette.model.field import Catalogue
from vedette.query import Checked, Tree, check
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import estimate_binaries


class GuardSettings(Protocol):
    """The settings that the guards read."""

    @property
    def block_leading_wildcards(self) -> bool: ...

    @property
    def block_large_joins(self) -> bool: ...

    @property
    def join_binaries_max(self) -> int: ...


def guarded_check(
    engine: Engine, tree: Tree, catalogue: Catalogue, settings: GuardSettings, now_us: int
) -> Checked:
    """Returns the checked tree. Raises QueryError for a query that does not check and for a refused
    query."""
    return check(
        tree,
        catalogue,
        now_us=now_us,
        leading_wildcards=not settings.block_leading_wildcards,
        joins=not settings.block_large_joins
        or estimate_binaries(engine) <= settings.join_binaries_max,
    )
