"""Writes and deletes the results of YARA rules on files: tags like those of a feed named `yara`."""

from collections.abc import Sequence
from typing import Final

from vedette.model.findings.tag import YARA_FEED, Tag
from vedette.store.engine.client import Engine
from vedette.store.schema.detection_tables import BINARY_TAG
from vedette.store.schema.tables import storage
from vedette.store.write.tags import write_tags

_WAIT: Final = 2
"""Waits for all replicas."""


def write_yara_tags(
    engine: Engine, hashes: Sequence[str], matches: Sequence[tuple[str, str, int]], now_us: int
) -> None:
    """Writes tags. `matches` are (name of the rule text, name of the rule in it, score of the
    rule)."""
    write_tags(
        engine,
        [
            Tag(
                document=digest,
                family="alliance",
                name=YARA_FEED,
                time_us=now_us,
                score=score,
                report=rule,
                ioc=text,
            )
            for digest in hashes
            for text, rule, score in matches
        ],
    )


def delete_yara_tags(engine: Engine, texts: Sequence[str]) -> None:
    """Deletes the tags of rule texts that were changed or removed. Idempotent."""
    condition = f"family = 'alliance' AND name = '{YARA_FEED}' AND ioc IN {{texts:Array(String)}}"
    params = {"texts": list(texts)}
    if not engine.query(f"SELECT 1 FROM binary_tag WHERE {condition} LIMIT 1", params).rows:
        return
    capabilities = engine.capabilities
    engine.command(
        f"ALTER TABLE `{storage(BINARY_TAG, capabilities)}`{capabilities.on_cluster} "
        f"DELETE WHERE {condition} SETTINGS mutations_sync = {_WAIT:d}",
        params,
    )
