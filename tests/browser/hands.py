"""A reader's hands, which use keys alone, the mouse alone or fingers alone, and count what they do.
At each step a reader has to see where they are."""

import base64
import io
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageChops

SEND = "dialog[open] .primary, dialog[open] .danger"
WAYS: dict[str, dict[str, bool]] = {
    "keyboard": {},
    "mouse": {},
    "touch": {"has_touch": True, "is_mobile": True},
}
"""And the options of a browser for each."""
RING_PIXELS = 40
"""That differ at least between an element with the focus and without."""

FOCUSED = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect(), room = 6;
  if (one === document.body) return null;
  const [x, y] = [Math.max(0, box.x - room), Math.max(0, box.y - room)];
  const width = Math.min(innerWidth, box.right + room) - x;
  const height = Math.min(innerHeight, box.bottom + room) - y;
  return { x: x + scrollX, y: y + scrollY, width, height, scale: 1 };
}"""
QUIETLY = """(is_away) => {
  const kinds = ["blur", "focus", "focusin", "focusout", "change"];
  const stop = (event) => event.stopImmediatePropagation();
  kinds.forEach((kind) => addEventListener(kind, stop, true));
  if (is_away) (window.wasFocused = document.activeElement).blur();
  else window.wasFocused.focus({ preventScroll: true });
  kinds.forEach((kind) => removeEventListener(kind, stop, true));
}"""
"""Takes the focus away, or gives it back, and nothing of the page hears of it."""
IS_SEEN = """(one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true })"""


@dataclass
class Hands:
    """Does one thing at a time and counts."""

    page: Any
    way: str
    steps: int = 0

    def key(self, *keys: str) -> None:
        assert self.way == "keyboard"
        if self.steps:
            self.sees_focus()
        for one in keys:
            self.page.keyboard.press(one)
            self.steps += 1

    def click(self, selector: str) -> None:
        """Clicks an element, which must be visible before the pointer hovers over it."""
        assert self.way != "keyboard"
        target = self.page.locator(f"{selector} >> visible=true").first
        assert target.evaluate(IS_SEEN), selector
        if self.way == "touch":
            target.tap()
        else:
            target.click()
        self.steps += 1

    def does(self, keys: str, selector: str) -> None:
        """The same step: some keys, or a click."""
        if self.way == "keyboard":
            self.key(*keys.split())
        else:
            self.click(selector)

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    def sees(self, selector: str, **options: Any) -> None:
        self.page.wait_for_selector(selector, **options)

    def sees_focus(self) -> None:
        """It is somewhere, and the place looks otherwise than without it."""
        place = self.page.evaluate(FOCUSED)
        assert place, f"the focus is lost after step {self.steps} at {self.page.url}"
        held = self.picture(place)
        self.page.evaluate(QUIETLY, True)
        bare = self.picture(place)
        self.page.evaluate(QUIETLY, False)
        differ = ImageChops.difference(held, bare).convert("L").point(lambda one: one > 16 and 255)
        name = self.page.evaluate("document.activeElement.outerHTML.slice(0, 120)")
        assert differ.histogram()[255] >= RING_PIXELS, f"nothing shows the focus of {name}"

    def picture(self, place: dict[str, float]) -> Image.Image:
        """Takes a screenshot with the browser's debugger: Playwright's own method adds a style to
        the page, which the page's policy forbids."""
        session = self.page.context.new_cdp_session(self.page)
        shot = session.send("Page.captureScreenshot", {"format": "png", "clip": place})
        session.detach()
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def holds_focus(self) -> None:
        """It is somewhere that a reader sees, not lost."""
        if self.way == "keyboard":
            self.sees_focus()
        else:
            assert self.page.evaluate("document.activeElement !== document.body")
