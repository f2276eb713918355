"""The documentation is complete: the reference equals the code, and the examples of the written
pages work."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from scripts.reference import commands, errors, fields, limits, metrics, routes, source
from scripts.reference.__main__ import FOLDER
from scripts.reference.pages import PAGES, Page, page_text
from tests.support.route_access import ACCESS
from vedette.model.alert_fields import ALERT
from vedette.model.binary_fields import BINARY
from vedette.model.field import FieldType
from vedette.model.field_docs import ALERTS, BINARIES, FIELDS, LOGS, REPORTS, TYPES
from vedette.model.fields import JOIN_SUFFIXES, PROCESS
from vedette.model.log_fields import LOG
from vedette.model.threat.report_fields import REPORT
from vedette.settings import catalogue
from vedette.store.engine.grants import grants

ROOT = Path(__file__).parents[2]
WRITTEN = (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md")
OUR_PAGES = [
    *sorted(FOLDER.glob("*.md")),
    *sorted((ROOT / "docs").glob("operations*.md")),
    *sorted((ROOT / "docs").glob("query-*.md")),
    *sorted((ROOT / "docs").glob("senders*.md")),
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "README",
            "import",
            "glossary",
            "ingress-filters",
            "bans",
            "installers",
        )
    ),
]


def reference(name: str) -> str:
    return (FOLDER / name).read_text()


# --- the reference -----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_a_committed_page_is_what_the_code_says(page: Page) -> None:
    assert reference(page.file) == page_text(page), "run `make docs`"


def test_no_page_of_the_reference_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {page.file for page in PAGES}


def test_every_setting_is_described() -> None:
    text = reference("settings.md")
    for setting in catalogue().values():
        assert setting.about.text
        assert f"## {setting.name}\n" in text
        assert setting.variable in text


def test_every_field_has_a_meaning() -> None:
    assert {field.name for field in fields.native()} == set(FIELDS)
    assert {field.name for field in BINARY.fields} == set(BINARIES)
    assert {field.name for field in ALERT.fields} == set(ALERTS)
    assert {field.name for field in REPORT.fields} == set(REPORTS)
    assert {field.name for field in LOG.fields} == set(LOGS)
    assert set(TYPES) == set(get_args(FieldType))


def test_every_name_that_a_query_may_use_is_listed() -> None:
    text = reference("fields.md")
    for name, field in PROCESS.by_name.items():
        ending = next((end for end in JOIN_SUFFIXES if name.endswith(end)), "")
        base = name.removesuffix(ending) if field.kind == "join" else name
        assert f"`{base}`" in text
        assert not ending or f"`{ending}`" in text


def test_every_command_and_option_has_a_help_text() -> None:
    text = reference("commands.md")
    for name, command in commands.commands():
        assert command.help, name
        assert f"## {name}\n" in text
        for param in command.params:
            assert param.help, f"{name} {param.name}"
            assert all(f"`{option}" in text for option in param.opts if option.startswith("-"))


def test_every_route_has_a_summary() -> None:
    text = reference("routes.md")
    called = set()
    for call in routes.calls():
        called.add((call.method, call.path))
        assert call.route.summary, call.path
        assert f" {call.path}" in text
    assert called == set(ACCESS)


def test_every_reason_has_a_meaning() -> None:
    assert set(errors.request_statuses()) == set(errors.REQUEST)
    assert source.record_reasons() == set(errors.RECORD)
    assert source.file_reasons() == set(errors.FILE)


def test_every_metric_is_listed() -> None:
    text = reference("metrics.md")
    listed = {metric._name for metric in metrics.metrics()}
    assert source.metric_names() == listed
    assert all(f"`{name}" in text for name in listed)


def test_every_limit_has_a_reason() -> None:
    assert [name for name, _, text in limits.documented() if not text] == []


def test_every_right_on_a_cluster_is_written_down() -> None:
    text = (ROOT / "docs" / "operations-cluster.md").read_text()
    assert "\n".join(grants("vedette", "vedette")) in text


# --- the written pages -------------------------------------------------------------------------


@pytest.mark.parametrize("path", OUR_PAGES, ids=lambda path: path.name)
def test_a_page_fits_in_its_width(path: Path) -> None:
    assert [line for line in path.read_text().splitlines() if len(line) > 120] == []


WIDTH = 120
WORDS_MAX = 1_500
PARAGRAPH_LINES_MAX = 5
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def words(text: str) -> int:
    return len(re.findall(r"\S*\w\S*", text))


def paragraphs(text: str) -> Iterator[str]:
    """Yields paragraphs and list items, without headings, tables, code, and citations of tests."""
    plain = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.M | re.S)
    plain = re.sub(r"^(?:#|\||<| *`tests/).*$", "", plain, flags=re.M)
    yield from re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", plain)


def long_paragraphs(text: str) -> list[str]:
    return [
        paragraph
        for paragraph in paragraphs(text)
        if len(textwrap.wrap(" ".join(paragraph.split()), WIDTH)) > PARAGRAPH_LINES_MAX
    ]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_a_guide_is_short(path: Path) -> None:
    assert words(path.read_text()) <= WORDS_MAX


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_a_paragraph_is_short(path: Path) -> None:
    assert long_paragraphs(path.read_text()) == []


def headings(path: Path) -> set[str]:
    """Returns the valid fragments (`#...`) of a page."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", [*WRITTEN, *FOLDER.glob("*.md")], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for name, place in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", path.read_text()):
        target = path.parent / name
        assert target.exists(), name
        assert not place or place in headings(target), f"{name}#{place}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_settings_and_metrics_that_pages_name_exist() -> None:
    known = set(catalogue()) | set(FIELDS)
    for path in OUR_PAGES:
        text = path.read_text()
        for name in re.findall(r"`((?:retention|partition_roll|commit|queue|body)_[a-z_]+)`", text):
            assert name in known, f"{path.name}: {name}"
        for name in re.findall(r"`(vedette_[a-z_]+)`", text):
            plain = re.sub(r"_total$", "", name)
            assert plain in source.metric_names(), f"{path.name}: {name}"


def test_commands_that_pages_name_exist() -> None:
    known = {name for name, _ in commands.commands()}
    for path in OUR_PAGES:
        for line in re.findall(
            r"(?:`|^)(?:\.venv/bin/)?(vedette [a-z]+(?: [a-z]+)?)", path.read_text(), re.M
        ):
            assert any(
                line == name or name.startswith(line) or line.startswith(name) for name in known
            )
