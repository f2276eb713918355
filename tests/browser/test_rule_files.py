"""Files and folders of Sigma rules are dropped or chosen, shown first, then added."""

from pathlib import Path

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_policy_pages import RULE
from tests.support.served import Server

pytestmark = SHARED
NUMBER = "5f3c2a10-0000-4000-8000-00000000{:04}"
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.yml"
DROP = """([name, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([text], name));
  document.querySelector("main").dispatchEvent(
    new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
}"""


def rule_of(number: int) -> str:
    return RULE.replace("5f3c2a10-0000-4000-8000-00000000abcd", NUMBER.format(number))


def test_a_folder_is_tried_then_added(visiting: Visiting, server: Server, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "one.yml").write_text(rule_of(9101))
    (tmp_path / "two.yaml").write_text(f"{rule_of(9102)}---\ntitle: broken\nlevel: high\n")
    (tmp_path / "notes.txt").write_text("no rule")
    with visiting() as visit:
        page = visit.open("/ui/sigma")
        page.keyboard.press("n")
        page.set_input_files("#import input[webkitdirectory]", tmp_path)
        page.wait_for_selector("#import [data-tried] li")
        assert page.inner_text("[data-chosen-files]") == "2 files"
        shown = page.inner_text("#import [data-tried]")
        assert "2 new" in shown
        assert f"{tmp_path.name}/two.yaml#2:11 broken" in shown
        assert shown.index("rejected") < shown.index(f"{tmp_path.name}/inner/one.yml#1:1")
        with server.analyst() as client:
            assert client.get(f"/api/v1/sigma/{NUMBER.format(9101)}").status_code == 404
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f"a[href='/ui/sigma/{NUMBER.format(9102)}']")


def test_a_file_with_a_hostile_name_is_dropped_anywhere_and_its_name_is_text(
    visiting: Visiting,
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sigma")
        page.evaluate(DROP, [HOSTILE, rule_of(9103)])
        page.wait_for_selector("#import[open] [data-tried] li")
        assert "<img src=x onerror=alert(1)>" in page.inner_text("#import [data-tried] li")
        assert page.locator("#import img").count() == 0
        page.fill("#import textarea", rule_of(9104))
        assert page.inner_text("[data-chosen-files]") == ""
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#import [data-tried] :text('document#1')")


def test_what_is_no_rule_or_too_much_is_not_sent(visiting: Visiting, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no rule")
    (tmp_path / "large.yml").write_text("a" * (6 * 1024 * 1024 + 1))
    with visiting() as visit:
        page = visit.open("/ui/sigma")
        page.keyboard.press("n")
        page.set_input_files("#import input[accept]", tmp_path / "notes.txt")
        page.wait_for_selector("#import [role=alert] :text('No *.yml')")
        page.set_input_files("#import input[accept]", tmp_path / "large.yml")
        page.wait_for_selector("#import [role=alert] :text('At most')")
