"""Parameters that every list reads from its address (query, page, partial rendering), and addresses
of other views of the list."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request

from vedette.web.json.parameters import whole_number


@dataclass(frozen=True, slots=True)
class View:
    """A page of a list."""

    path: str
    pairs: tuple[tuple[str, str], ...]
    """All parameters of the address."""
    query: str
    page: int
    """Page number, from 1."""
    rows: int
    is_part: bool
    """Whether the request is for the list only, to replace it in an open page."""

    @property
    def start(self) -> int:
        return (self.page - 1) * self.rows

    def url(self, **changes: object) -> str:
        """Returns the address of this view with changed parameters; None removes a parameter.
        Resets the page number unless it is given."""
        given = {"p": None, **changes}
        kept = [(name, value) for name, value in self.pairs if name not in given]
        added = [(name, str(value)) for name, value in given.items() if value is not None]
        text = urlencode([*kept, *added])
        return f"{self.path}?{text}" if text else self.path

    def part(self, path: str, **added: object) -> str:
        """Returns the address of a part of this view, with its parameters."""
        pairs = [*self.pairs, *((name, str(value)) for name, value in added.items())]
        return f"{path}?{urlencode(pairs)}"

    def pages(self, total: int) -> int:
        return max(1, -(-total // self.rows))


def view_of(request: Request, *, rows_default: int, rows_max: int) -> View:
    """Reads the view from a request. Raises BadRequestError for invalid numbers."""
    params = request.query_params
    restores = request.headers.get("hx-history-restore-request") == "true"
    pairs = tuple((name, value) for name, value in params.multi_items() if value)
    return View(
        path=request.url.path,
        pairs=pairs,
        query=params.get("q", ""),
        page=max(1, whole_number(params, "p", 1)),
        rows=min(max(1, whole_number(params, "n", rows_default)), rows_max),
        is_part=request.headers.get("hx-request") == "true" and not restores,
    )
