"""What a narrow window leaves out at first can be asked for."""

from tests.browser.conftest import SHARED, Visiting

pytestmark = SHARED


def test_facets_can_be_opened_on_a_phone(visiting: Visiting) -> None:
    with visiting(width=390, height=844) as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        button = page.locator("[data-action=toggle-facets]")
        assert not page.is_visible("#facets")
        assert button.get_attribute("aria-pressed") == "false"
        button.click()
        assert page.is_visible("#facets .facet >> nth=0")
        assert button.get_attribute("aria-pressed") == "true"
        page.locator("#facets [data-narrow=include]").first.click()
        page.wait_for_url("**q=**")
        visit.settle()
        assert page.locator("tr[data-row]").count() > 0
        assert button.get_attribute("aria-pressed") == "false"
