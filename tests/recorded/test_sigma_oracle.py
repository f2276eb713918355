"""Public Sigma rules on recorded events: the product and a second evaluator agree."""

import io
import tarfile

import pytest
from evtx import PyEvtxParser

from tests.recorded.test_sigma_rules import FILES, RULES, logs, rule_set
from tests.support.sigma_oracle import Oracle
from vedette.detect.views.windows import event_of_record
from vedette.ingest.decode import decode

pytestmark = [
    pytest.mark.skipif(
        not (RULES.exists() and FILES.exists()), reason="the recorded sets are not here"
    ),
    pytest.mark.xdist_group("sigma-rules"),
]

DIFFERENCES: dict[str, str] = {}
"""Ids of rules that may differ, with the reason."""

EVENTS_OF_A_FILE = 200
"""An event is compared with every rule of its log source, one by one."""


def test_both_evaluators_agree_on_public_rules_and_recorded_events() -> None:
    oracle = Oracle(_texts())
    known = {str(rule.id) for rule in oracle.rules}
    rules = rule_set()
    known &= {rule.id for rule in rules.rules}
    differences: dict[str, tuple[str, int]] = {}
    fired = 0
    for name, content in logs():
        for number, raw in enumerate(PyEvtxParser(io.BytesIO(content)).records_json()):
            if number >= EVENTS_OF_A_FILE:
                break
            for record in decode(raw["data"].encode()):
                if record.vedette_record != "windows":
                    continue
                found = {one.id for one in rules.firing(event_of_record(record))} & known
                fired += len(found)
                for rule_id in found ^ (oracle.firing(record) & known):
                    differences.setdefault(rule_id, (name, number))
    assert len(known) > 2_000
    assert fired > 100
    assert differences.keys() - DIFFERENCES.keys() == set(), differences


def _texts() -> list[str]:
    with tarfile.open(RULES) as archive:
        return [
            content.read().decode()
            for member in archive
            if member.name.endswith(".yml") and (content := archive.extractfile(member))
        ]
