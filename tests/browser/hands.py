"""A reader's hands, which use keys alone or the mouse alone, and count what they do."""

from dataclasses import dataclass
from typing import Any

SEND = "dialog[open] .primary, dialog[open] .danger"


@dataclass
class Hands:
    """Does one thing at a time and counts."""

    page: Any
    by_mouse: bool
    steps: int = 0

    def key(self, *keys: str) -> None:
        assert not self.by_mouse
        for one in keys:
            self.page.keyboard.press(one)
            self.steps += 1

    def click(self, selector: str) -> None:
        assert self.by_mouse
        self.page.locator(f"{selector} >> visible=true").first.click()
        self.steps += 1

    def does(self, keys: str, selector: str) -> None:
        """The same step: some keys, or a click."""
        if self.by_mouse:
            self.click(selector)
        else:
            self.key(*keys.split())

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    def sees(self, selector: str, **options: Any) -> None:
        self.page.wait_for_selector(selector, **options)

    def holds_focus(self) -> None:
        """It is somewhere that a reader sees, not lost."""
        assert self.page.evaluate("document.activeElement !== document.body")
