"""Public Sigma rules on the labelled log files of their regression set: each fires on its own."""

import io
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from evtx import PyEvtxParser

from tests.recorded.sets import FOLDER
from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import Loaded, load_rules
from vedette.detect.views.windows import event_of_record
from vedette.ingest.decode import decode

RULES = FOLDER.parent / "sigma" / "rules.tar.gz"
FILES = FOLDER / "s01_sigma_regression.tar.gz"
LOADED_MIN = 3_079
"""Rules that concern what telemetry of hosts can show; more can be loaded."""

pytestmark = [
    pytest.mark.skipif(
        not (RULES.exists() and FILES.exists()), reason="the recorded sets are not here"
    ),
    pytest.mark.xdist_group("sigma-rules"),  # loading them takes half of the time of each test
]


PAGE = Path(__file__).parents[2] / "docs" / "detection-sources.md"
NOT_LOADED = "## Public rules that are not loaded"


@cache
def loaded() -> list[Loaded]:
    found = []
    with tarfile.open(RULES) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".yml") else None
            if content is not None:
                found.append(load_rules(content.read().decode(), member.name))
    return found


@cache
def rule_set() -> RuleSet:
    return RuleSet([rule for one in loaded() for rule in one.rules])


def logs() -> Iterator[tuple[str, bytes]]:
    with tarfile.open(FILES) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".evtx") else None
            if content is not None:
                yield member.name, content.read()


def test_all_rules_about_hosts_are_loaded() -> None:
    assert len(rule_set().rules) >= LOADED_MIN


def test_what_is_not_loaded_is_counted_in_the_docs_and_never_for_want_of_a_field() -> None:
    reasons = Counter(problem.reason for one in loaded() for problem in one.problems)
    assert set(reasons) == {"unsupported_logsource", "unresolved_placeholder"}
    text = PAGE.read_text().partition(NOT_LOADED)[2].partition("\n## ")[0]
    counted = [int(number) for number in re.findall(r"\| (\d+) \|$", text, re.MULTILINE)]
    assert sum(counted) == reasons.total()
    rules, files = len(rule_set().rules), len(loaded())
    said = f"Of the {files:,} public rules in the test set, {rules:,} are loaded"
    assert said in text
    assert rules + reasons.total() == files


def test_every_rule_fires_on_its_own_file_and_the_prefilter_hides_no_hit() -> None:
    rules, missed, files = rule_set(), [], 0
    for name, content in logs():
        files += 1
        fired = set()
        for raw in PyEvtxParser(io.BytesIO(content)).records_json():
            for record in decode(raw["data"].encode()):
                event = event_of_record(record)
                hits = {hit.rule.id for hit in rules.judge(event)}
                assert hits == {hit.rule.id for hit in rules.judge_all(event)}
                fired |= hits
        if not fired & set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", name)):
            missed.append(name)
    assert files
    assert missed == []
