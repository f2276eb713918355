"""Rules that would have missed hits if ingress filters had been in force.

A filter blinds a rule if it drops the process of a hit, or the very event that the rule fired on.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from vedette.ingest.normalise.values import registry_path
from vedette.limits import BLINDED_SAMPLES_MAX, DRY_RUN_EVENTS_MAX
from vedette.model.event import ProcessEvent
from vedette.model.scope import EVERYTHING
from vedette.respond.filter_trial import Blinded, FilterEffect, OnProgress, no_progress
from vedette.state.db.database import Database
from vedette.state.policy import rules
from vedette.store.engine.client import Engine
from vedette.store.read.detection.rule_hits import ProcessHit, newest_process_hits
from vedette.store.read.process import events

_TEXTS = ("path", "name", "text", "domain")
"""Members of events that contain their main text, in every spelling of records."""


def blinded_rules(
    database: Database,
    engine: Engine,
    effects: Sequence[FilterEffect],
    since_us: int,
    on_progress: OnProgress = no_progress,
) -> list[Blinded]:
    """Returns the enabled rules with hits since `since_us` that the filters would have suppressed.
    Examines the newest `BLINDED_SAMPLES_MAX` hits."""
    on = {one.id: one.title for one in rules.evaluated(database)[1]}
    missed: Counter[str] = Counter()
    hits = newest_process_hits(engine, since_us, BLINDED_SAMPLES_MAX)
    for at, hit in enumerate(hits):
        on_progress("rules", at, len(hits))
        meant = [one for one in effects if hit.process_id in one.processes]
        if hit.rule_id in on and meant and _is_missed(engine, hit, meant):
            missed[hit.rule_id] += hit.count
    return [Blinded("rule", name, on[name], hits) for name, hits in sorted(missed.items())]


def _is_missed(engine: Engine, hit: ProcessHit, effects: Iterable[FilterEffect]) -> bool:
    left = None
    for effect in effects:
        if effect.drops_all:
            return True
        if left is None:
            left = _fired_on(engine, hit)
            if not left:  # a process start, or nothing stored: no event is dropped
                return False
        left = effect.kept(hit.process_id, left)
    return left is not None and not left


def _fired_on(engine: Engine, hit: ProcessHit) -> list[ProcessEvent]:
    """Returns the stored events that the rule may have fired on: those whose texts occur in the
    hit, else those at the hit's time."""
    stored = events(
        engine,
        hit.process_id,
        EVERYTHING,
        segment_id=hit.segment_id or None,
        count=DRY_RUN_EVENTS_MAX,
    ).by_kind
    found = [event for kind in stored.values() for event in kind]
    said = {text.lower() for value in hit.values for text in (value, registry_path(value))}
    about = [one for one in found if _says(one) & said]
    return about or [one for one in found if one.time_us == hit.time_us]


def _says(event: ProcessEvent) -> set[str]:
    return {str(getattr(event, name, "")).lower() for name in _TEXTS} - {""}
