"""Templates of webhooks: values fill places and nothing else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import BadRequestError
from vedette.notify.json_template import BUILT_IN, fill_in, template_of
from vedette.notify.notice import Notice
from vedette.notify.webhook import template_values

HOSTILE = Notice(
    id="1",
    has_alert=True,
    title='"},{"x": <!channel> *b* {hostname} \n',
    hostname="pc",
    cmdline="a & b | c",
    process_id="p",
    severity=95,
    techniques=["T1059", "T1047"],
)
PARAMS = {"routing_key": "key", "project": "SEC", "issue_type": "Bug"}


def filled(name: str, notice: Notice = HOSTILE) -> dict[str, object]:
    values = template_values(notice, PARAMS, "https://edr.example/")
    found = json.loads(fill_in(template_of(name, None), values))
    assert isinstance(found, dict)
    return found


def test_a_place_is_filled_and_a_value_is_not_read_again() -> None:
    assert json.loads(fill_in({"a": "{x}-{y}-{z}"}, {"x": "{y}", "y": '"'})) == {"a": '{y}-"-'}


def test_a_part_without_a_value_is_left_out() -> None:
    template = {"a": [{"$if": "x", "b": "{x}"}, {"$if": "y", "b": "{y}"}], "c": {"$if": "x"}}
    assert json.loads(fill_in(template, {"y": "1"})) == {"a": [{"b": "1"}]}


def test_a_whole_place_keeps_its_kind() -> None:
    values = {"n": "12", "l": ["a", "b"], "m": {"k": "v"}}
    template = ["{n|number}", "{l}", "{m}", "x {l}", "{n}"]
    assert json.loads(fill_in(template, values)) == [12, ["a", "b"], {"k": "v"}, "x a, b", "12"]


def test_slack_gets_no_mention_and_no_link() -> None:
    text = json.dumps(filled("slack"))
    assert "<!channel>" not in text
    assert "&lt;!channel&gt;" in text
    assert "https://edr.example/ui/alerts?d=alert:1" in text


def test_slacks_limits_hold_for_the_longest_values() -> None:
    long = Notice(id="1", title="&" * 2_000, description="<" * 2_000, hostname="&" * 2_000)
    for block in filled("slack", long)["blocks"]:  # type: ignore[attr-defined]
        assert len(block.get("text", {}).get("text", "")) <= 3_000
        assert all(len(one["text"]) <= 2_000 for one in block.get("fields", []))


def test_teams_pagerduty_and_jira_get_what_they_need() -> None:
    card = filled("teams")["attachments"][0]["content"]  # type: ignore[index]
    assert "\\*b\\*" in card["body"][0]["text"]
    duty = filled("pagerduty")
    assert (duty["routing_key"], duty["dedup_key"]) == ("key", "1")
    assert duty["payload"]["severity"] == "critical"  # type: ignore[index]
    fields = filled("jira")["fields"]
    assert fields["project"] == {"key": "SEC"}  # type: ignore[index]
    assert "\n" not in fields["summary"]  # type: ignore[index]
    own = filled("vedette")
    assert (own["severity"], own["techniques"]) == (95, ["T1059", "T1047"])
    assert own["process"]["cmdline"] == "a & b | c"  # type: ignore[index]
    assert "file" not in own


@pytest.mark.parametrize("name", BUILT_IN)
@given(st.text(max_size=60))
def test_no_value_changes_the_shape_of_a_document(name: str, text: str) -> None:
    def shape(value: object) -> object:
        match value:
            case dict():
                return {key: shape(one) for key, one in value.items()}
            case list():
                return [shape(one) for one in value]
            case _:
                return type(value).__name__

    safe = text.encode("utf-8", "replace").decode()
    plain = Notice(id="1", title="x", description="x", hostname="x", cmdline="x")
    other = Notice(id="1", title=safe or "x", description=safe or "x", hostname="x", cmdline="x")
    assert shape(filled(name, other)) == shape(filled(name, plain))


def test_an_operators_template_comes_first_and_a_bad_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "slack.json").write_text('{"own": "{title}"}')
    (tmp_path / "bad.json").write_text("{")
    assert template_of("slack", tmp_path) == {"own": "{title}"}
    for name, message in (
        ("bad", "bad.json"),
        ("none", "unknown template"),
        ("../x", "not a template name"),
    ):
        with pytest.raises(BadRequestError, match=message):
            template_of(name, tmp_path)
