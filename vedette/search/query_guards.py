"""Queries that a server refuses by its settings (docs/query-language.md#values-by-type): leading
wildcards, and joins
with very many binaries. By default it refuses neither."""

from typing import Protocol

from vedette.model.field import Catalogue
from vedette.query import Checked, Tree, check
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import estimate_binaries


class GuardSettings(Protocol):
    """The settings of the guards."""

    @property
    def block_leading_wildcards(self) -> bool: ...

    @property
    def block_large_joins(self) -> bool: ...

    @property
    def join_binaries_max(self) -> int: ...


def guarded_check(
    engine: Engine, tree: Tree, catalogue: Catalogue, settings: GuardSettings, now_us: int
) -> Checked:
    """The checked tree. Raises QueryError for a query without a meaning, and for a refused one."""
    return check(
        tree,
        catalogue,
        now_us=now_us,
        leading_wildcards=not settings.block_leading_wildcards,
        joins=not settings.block_large_joins
        or estimate_binaries(engine) <= settings.join_binaries_max,
    )
