"""The board and the alert rules of `deploy/` ask for what a server has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.sysmon import Story

DEPLOY = Path(__file__).parents[2] / "deploy"
OF_PROMETHEUS = {"up"}
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def expressions_of_board() -> Iterator[str]:
    board = json.loads((DEPLOY / "grafana/vedette.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield target["expr"]


def rules() -> list[dict[str, Any]]:
    read = yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())
    return [rule for group in read["groups"] for rule in group["rules"]]


def metrics_of(expression: str) -> set[str]:
    """Names of metrics: what stands alone or before labels or a range, and is no function."""
    without_labels = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\"[^\"]*\"", " ", expression)
    without_groups = re.sub(r"\bby\s*\([^)]*\)", " ", without_labels)
    found = re.finditer(_NAME, without_groups)
    return {
        one[0]
        for one in found
        if not without_groups[one.end() :].lstrip().startswith("(") and one[0] not in {"by", "e"}
    }


@pytest.fixture(scope="module")
def live(analyst: httpx.Client, sent_story: Story) -> dict[str, set[str]]:
    """Names of samples of a live server, with the labels they may have."""
    text = analyst.get("/metrics").text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        names = {family.name, *(sample.name for sample in family.samples)}
        if family.type == "counter":
            names.add(f"{family.name}_total")  # one with labels that was never counted has none
        if family.type == "histogram":
            names |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
        for name in names:
            found.setdefault(name, set()).update(*(sample.labels for sample in family.samples))
    return found


@pytest.mark.parametrize("expression", [*expressions_of_board(), *(one["expr"] for one in rules())])
def test_every_metric_that_is_asked_for_exists(live: dict[str, set[str]], expression: str) -> None:
    asked = metrics_of(expression) - OF_PROMETHEUS
    assert asked or "up" in expression
    assert asked <= live.keys(), asked - live.keys()


def test_every_rule_says_what_to_do() -> None:
    for rule in rules():
        assert rule["annotations"]["summary"], rule
        assert len(rule["annotations"]["action"]) > 20, rule
        assert rule["labels"]["severity"] in {"warning", "critical"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_a_name_that_does_not_exist_would_be_found(live: dict[str, set[str]]) -> None:
    assert metrics_of('sum by (x) (rate(vedette_no_such_total{a="b"}[5m])) > 0') - live.keys()
