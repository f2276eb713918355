"""The console in the language of its reader, and that no text of a page misses the catalogue."""

from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting, until
from vedette.web.page.catalogue import PSEUDO, catalogue

pytestmark = SHARED

SCREENS = (
    "/ui/",
    "/ui/alerts?q=&then=host&last=user",
    "/ui/process?t=all",
    "/ui/binary",
    "/ui/binary/{md5}",
    "/ui/sensors",
    "/ui/sensors/{sensor}",
    "/ui/bans",
    "/ui/bans/{ban}",
    "/ui/filters",
    "/ui/filters/{filter}",
    "/ui/watchlists",
    "/ui/watchlists/new?q=cmd.exe",
    "/ui/sigma",
    "/ui/sigma/{rule}",
    "/ui/sigma/coverage",
    "/ui/feeds",
    "/ui/reports",
    "/ui/data",
    "/ui/data?tab=checks",
    "/ui/data?tab=messages",
    "/ui/data?tab=intake",
    "/ui/data?tab=detection",
    "/ui/access",
    "/ui/access?tab=teams",
    "/ui/access?tab=tokens",
    "/ui/audit",
    "/ui/settings",
    "/ui/me",
    "/ui/groups",
    "/ui/groups/1",
    "/ui/jobs",
    "/ui/nowhere",
)
UNMARKED = r"""() => {
  const values = "bdi, code, pre, time, kbd, mark, .mono, [data-value], .host, .value, .brand";
  const parts = "[translate=no], tr.group b, textarea, script, template, .print-head";
  const own = `${values}, ${parts}, [data-zone-label], option[value]:not([value=''])`;
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode, words = node.nodeValue.trim();
    const isOwn = node.parentElement.closest(own);
    if (/\p{L}{3}/u.test(words) && !isOwn && !isMarked(words) && !isWithin(node))
      found.push(`${words.slice(0, 60)} in ${node.parentElement.outerHTML.slice(0, 90)}`);
  }
  for (const name of ["aria-label", "placeholder"])
    for (const one of document.body.querySelectorAll(`[${name}]`))
      if (/\p{L}{3}/u.test(one.getAttribute(name)) && !isMarked(one.getAttribute(name))
        && !one.matches("tr, .pick input")) found.push(`${name}=${one.getAttribute(name)}`);
  function isMarked(text) { return /[\[\]]/.test(text); } // a value may stand between
  // Between two values of one message.
  function isWithin(node) {
    const nodes = [...node.parentElement.childNodes];
    const before = nodes.slice(0, nodes.indexOf(node)).map((one) => one.textContent).join("");
    return before.lastIndexOf("[") > before.lastIndexOf("]");
  }
  return [...new Set(found)];
}"""

NAMED = """() => [...document.querySelectorAll('[class*="["], [id*="["]')]
  .map((one) => one.outerHTML.slice(0, 90))"""
"""Classes and ids, which styles and scripts go by, that were taken for words."""


def chosen(server_url: str, language: str) -> dict[str, Any]:
    return {"name": "language", "value": language, "url": f"{server_url}/ui", "secure": True}


def test_no_text_of_a_page_misses_the_catalogue(visiting: Visiting, known: dict[str, str]) -> None:
    """In a language whose every message stands in brackets."""
    with visiting() as visit:
        visit.page.context.add_cookies([chosen(visit.url, PSEUDO)])
        visit.expected = ["404"]
        found = {}
        for path in SCREENS:
            page = visit.open(path.format(**known))
            visit.settle()
            found[path] = page.evaluate(UNMARKED) + page.evaluate(NAMED)
        page = visit.open("/ui/process/{process}".format(**known))
        visit.settle()
        found["an analysis"] = page.evaluate(NAMED)
        bare = "\n".join(f"{path}: {text}" for path, texts in found.items() for text in texts)
        assert not bare, bare


def test_a_browser_that_asks_for_german_gets_it(visiting: Visiting) -> None:
    with visiting(locale="de-AT") as visit:
        page = visit.open("/ui/alerts")
        assert page.evaluate("document.documentElement.lang") == "de"
        assert page.title() == "Alarme · Vedette"
        assert page.get_attribute("nav a[href='/ui/alerts']", "data-key-label") == "Alarme"
        page.keyboard.press("?")
        page.wait_for_selector("#help[open]")
        assert "Das Formular senden" in page.inner_text("#help-list")


def test_nobody_who_is_signed_out_has_to_read_english(visiting: Visiting) -> None:
    with visiting(cookie=None, locale="de-DE") as visit:
        visit.page.goto(f"{visit.url}/ui/sign-in")
        assert visit.page.inner_text("h1") == "Anmelden"
        assert visit.page.inner_text("button.primary") == "Anmelden"


@pytest.fixture
def forgotten(visiting: Visiting) -> Any:
    """The preference is taken back."""
    yield
    with visiting() as visit:
        page = visit.open("/ui/me")
        page.evaluate(
            """async () => { const { call } = await import(document.querySelector(
              "script[type=module]").src.replace("app.js", "api.js"));
              await call("PUT", "/api/v1/me/preferences", {}); }"""
        )


def choose_language(page: Any) -> None:
    was = page.evaluate("document.documentElement.lang")
    page.click("[data-action=user-menu]")
    page.keyboard.press("l")
    until(
        page,
        "(was) => document.documentElement.lang !== was && document.documentElement.dataset.ready",
        was,
    )


def test_a_language_that_was_chosen_follows_its_reader(visiting: Visiting, forgotten: None) -> None:
    """To other pages, over what the browser asks for, and to another browser."""
    with visiting() as visit:
        page = visit.open("/ui/bans")
        assert page.inner_text("h1") == "Banned hashes"
        choose_language(page)
        assert page.inner_text("h1") == catalogue("de")["Banned hashes"]
        assert visit.open("/ui/sensors").inner_text("h1") == catalogue("de")["Sensors"]
    with visiting() as visit:
        page = visit.open("/ui/bans")
        until(page, "() => document.documentElement.lang === 'de'")
        page.wait_for_selector("html[data-ready]")
        choose_language(page)
        assert page.inner_text("h1") == "Banned hashes"


def test_a_language_that_is_none_is_english(visiting: Visiting) -> None:
    with visiting() as visit:
        for value in ("xx", "..%2Fde", "de%22%3E%3Cscript%3E"):
            visit.page.context.add_cookies([chosen(visit.url, value)])
            assert visit.open("/ui/bans").evaluate("document.documentElement.lang") == "en"
