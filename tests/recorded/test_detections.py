"""Public rules over the recorded sets, judged as ingest judges them: what fires where is what was
committed, as ids and counts, and every labelled file of the regression set is found."""

import json
import re
import tarfile
from functools import cache
from pathlib import Path

import pytest

from scripts.detections import differences, hits_of, rules_of
from tests.recorded.sets import FOLDER, MANIFEST, NEEDED, archive, parameters
from vedette.detect.rule import Rule

RULES = FOLDER.parent / "sigma" / "rules.tar.gz"
EXPECTED = json.loads((Path(__file__).parent / "detections.json").read_text())
REGRESSION = "s01_sigma_regression"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

pytestmark = [NEEDED, pytest.mark.skipif(not RULES.exists(), reason="the rules are not here")]


@cache
def rules() -> list[Rule]:
    return rules_of(RULES)


@pytest.mark.parametrize("name", parameters())
def test_the_rules_that_fire_on_a_set_are_the_expected_ones(name: str) -> None:
    path = archive(name)
    found = dict(hits_of(rules(), path))
    key = path.name.partition(".")[0]
    assert differences({key: EXPECTED[key]}, {key: found}) == []


def test_every_set_has_an_expectation() -> None:
    assert {archive(name).name.partition(".")[0] for name in MANIFEST} == set(EXPECTED)


def test_every_file_of_the_regression_set_is_found_by_its_own_rule() -> None:
    with tarfile.open(archive(REGRESSION)) as sets:
        names = [name for name in sets.getnames() if name.endswith(".evtx")]
    assert names
    assert [
        name for name in names if not EXPECTED[REGRESSION].keys() & set(_ID.findall(name))
    ] == []
