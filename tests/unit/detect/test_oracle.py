"""The product and a second evaluator agree on every rule of the starter pack and record of it."""

import json

import pytest

from tests.support.sigma_oracle import Oracle
from tests.unit.detect.rules import rule_text
from tests.unit.detect.starter_cases import WINDOWS
from tests.unit.detect.test_verify import CASES as SELECTIONS
from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import load_rules
from vedette.detect.starter_pack import starter_texts
from vedette.detect.views.windows import event_of_record
from vedette.ingest.channels import SYSMON
from vedette.ingest.decode import decode
from vedette.ingest.record import Record

RECORDS_MIN = 100


def test_both_evaluators_agree_on_the_starter_pack() -> None:
    texts = [text for _, text in starter_texts()]
    oracle = Oracle(texts)
    known = {str(rule.id) for rule in oracle.rules}
    judged = RuleSet([rule for text in texts for rule in load_rules(text, "r").rules])
    records = [
        record
        for pair in WINDOWS.values()
        for sent in pair
        for record in decode(json.dumps(sent).encode())
        if record.vedette_record == "windows"
    ]
    assert len(known) >= 40
    assert len(records) >= RECORDS_MIN
    fired = 0
    for record in records:
        found = {rule.id for rule in judged.firing(event_of_record(record))} & known
        assert found == oracle.firing(record), record
        fired += len(found)
    assert fired >= len(known)


@pytest.mark.parametrize(("test", "data", "fires"), SELECTIONS)
def test_the_second_evaluator_reads_selections_as_sigma_means_them(
    test: str, data: dict[str, object], fires: bool
) -> None:
    text = rule_text(
        f"  a:\n    {test}\n  condition: a\n", id="5c1f0a52-4a3e-4a56-9a33-000000000041"
    )
    record = Record("windows", "h", 5, SYSMON, 1, data=data)
    assert bool(Oracle([text]).firing(record)) is fires
