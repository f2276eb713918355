"""A filter begins with what has the focus: a process, or one of its events."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.conftest import SHARED, Visiting, until
from tests.browser.hands import Hands
from tests.support.served import Server
from tests.support.sysmon import Host

pytestmark = SHARED

NAME = "noisy.example"
PROGRAM = "C:\\noise\\noisy.exe"
FILE = "C:\\noise\\cache(1)+.tmp"
FILE_FITS = r"^C\:\\noise\\cache\(1\)\+\.tmp$"
FORM = "#filter[open] [data-check] dl"


@pytest.fixture(scope="module")
def reported(server: Server) -> dict[str, Any]:
    """A process with an event of each kind, some with characters that mean more in expressions."""
    host = Host(NAME)
    noisy = host.process(900, PROGRAM, "noisy.exe --loop")
    child = host.process(901, "C:\\noise\\child.exe", "child.exe -n [1] *", 5)
    records = [
        host.created(noisy, host.process(880, "C:\\Windows\\explorer.exe")),
        host.of(noisy, 11, 1, TargetFilename=FILE, CreationUtcTime=""),
        host.of(
            noisy,
            3,
            3,
            DestinationIp="192.0.2.7",
            DestinationPort="8443",
            Protocol="tcp",
            Initiated="true",
            SourceIp="192.0.2.1",
            SourcePort="50000",
        ),
        host.created(child, noisy),
    ]
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=records).status_code == 200
    with server.analyst() as client:
        query = {"q": f"hostname:{NAME} process_name:noisy.exe", "rows": 1}
        return dict(client.get("/api/v1/process", params=query).json()["results"][0])


def form(page: Any) -> dict[str, str]:
    """Returns the initial values of the form of a new filter, by field name."""
    page.wait_for_selector(FORM)
    script = """() => [...document.querySelectorAll("#filter form > label > [name]")]
      .map((one) => [one.name, one.value]).filter(([, value]) => value)"""
    found = dict(page.evaluate(script))
    return {name: text for name, text in found.items() if name != "descendant_filtering_level"}


def choose(page: Any, kind: str) -> None:
    """The first event of a kind has the focus in an analysis."""
    page.wait_for_selector("[data-loaded]")
    page.keyboard.press("3")
    for _ in range(9):
        page.keyboard.press("j")
        if page.locator("#events [aria-selected=true] .letter").get_attribute("title") == kind:
            return
    raise AssertionError(kind)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("filemod", {"path_filters": PROGRAM, "filemod_filters": FILE_FITS}),
        ("netconn", {"path_filters": PROGRAM, "netconn_filters": r"^192\.0\.2\.7\:8443$"}),
        (
            "childproc",
            {
                "path_filters": "C:\\noise\\child.exe",
                "cmdline_filters": r"^child\.exe\ \-n\ \[1\]\ \*$",
            },
        ),
    ],
)
def test_an_event_of_an_analysis_fills_the_form_that_drops_its_like(
    visiting: Visiting, server: Server, reported: dict[str, Any], kind: str, fields: dict[str, str]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{reported['id']}")
        choose(page, kind)
        hands = Hands(page, "keyboard")
        hands.key("F")
        page.wait_for_url("**/ui/filters?**")
        name = "child.exe" if kind == "childproc" else "noisy.exe"
        assert form(page) == fields | {"name": f"Filter for {name}"}
        page.click("[data-sample] summary")
        said = page.locator("[data-sampled] p")
        said.wait_for()
        page.focus("#filter [name=name]")
        what = "all its events are dropped" if kind == "childproc" else "The event is dropped"
        assert what in said.inner_text()
        hands.key("Control+Enter")
        page.wait_for_selector("#undo :text('Saved')")
        assert hands.steps == 2
    with server.analyst() as client:
        kept = client.get("/api/v1/ingress_approvedlist").json()
        (made,) = (one for one in kept if one["name"] == f"Filter for {name}")
        assert made["filter_all_events"] is (kind == "childproc")
        assert {one: "\n".join(made[one]) for one in fields} == fields
        assert client.delete(f"/api/v1/ingress_approvedlist/{made['id']}").is_success


def test_a_row_of_a_search_and_an_event_beside_it_fill_it_too(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    path = f"/ui/process?t=all&q=hostname:{NAME} process_name:noisy.exe"
    with visiting() as visit:
        page = visit.open(path)
        page.focus("tr[data-row]")
        page.keyboard.press("F")
        assert form(page) == {"name": "Filter for noisy.exe", "path_filters": PROGRAM}
        page = visit.open(path)
        page.focus("tr[data-row]")
        page.keyboard.press("Enter")
        event = page.locator("#flyout .events li:has-text('cache') [data-key=F]")
        event.wait_for()
        event.focus()
        page.keyboard.press("F")
        assert form(page)["filemod_filters"] == FILE_FITS


def test_what_a_program_is_called_does_not_widen_a_filter(visiting: Visiting) -> None:
    """Names from hosts that would be wildcards or expressions mean themselves."""
    with visiting() as visit:
        for program, wanted in (
            ("/tmp/*", r"^\/tmp\/\*$"),
            ("regex:.", r"^regex\:\.$"),
            ("/a\nb", r"^\/a\nb$"),
        ):
            page = visit.open(f"/ui/filters?program={quote(program)}")
            assert form(page)["path_filters"] == wanted


def test_facets_have_a_key_of_their_own(visiting: Visiting, reported: dict[str, Any]) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{reported['hostname']}")
        page.wait_for_selector("#facets")
        page.keyboard.press("V")
        until(page, "document.getElementById('facets').hidden")
