"""Which pages there are, in the order of their index."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scripts.reference import commands, errors, fields, limits, metrics, objects, routes, settings

NOTE: Final = "<!-- Made from the code by `make docs`. A change here is lost. -->"


@dataclass(frozen=True, slots=True)
class Page:
    """A file under `docs/reference/`, its title, what it answers, and what makes its body."""

    file: str
    title: str
    answers: str
    body: Callable[[], str]


def _index() -> str:
    lines = [f"- [{page.title}]({page.file}): {page.answers}" for page in PAGES[1:]]
    return "Everything public, as the code has it.\n\n" + "\n".join(lines)


PAGES: Final = (
    Page("README.md", "Reference", "what is public?", _index),
    Page("settings.md", "Settings", "what can be set, how, and to what?", settings.body),
    Page("fields.md", "Search fields", "what can a query ask for?", fields.body),
    Page("commands.md", "Commands", "what can be typed?", commands.body),
    Page("routes.md", "Routes", "what can be called, and by whom?", routes.body),
    Page("objects.md", "Objects", "what do clients send and get?", objects.body),
    Page("errors.md", "Errors and rejections", "what does a refusal mean?", errors.body),
    Page("metrics.md", "Metrics", "what does the server count?", metrics.body),
    Page("limits.md", "Limits", "how much is too much, and why?", limits.body),
)


def page_text(page: Page) -> str:
    return f"{NOTE}\n\n# {page.title}\n\n{page.body()}\n"
