"""What every list reads from its address: the query, the page, whether only a part is wanted; and
the addresses of other views of the same list."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request

from vedette.api.schemas.parameters import whole_number


@dataclass(frozen=True, slots=True)
class View:
    """One page of a list."""

    path: str
    pairs: tuple[tuple[str, str], ...]
    """All parameters of the address."""
    query: str
    page: int
    """From 1 on."""
    rows: int
    is_part: bool
    """Whether only the list is wanted, to be put into a page that is there."""

    @property
    def start(self) -> int:
        return (self.page - 1) * self.rows

    def url(self, **changes: object) -> str:
        """This view with other parameters; None removes one. A new page number is kept only where
        it is given."""
        given = {"p": None, **changes}
        kept = [(name, value) for name, value in self.pairs if name not in given]
        added = [(name, str(value)) for name, value in given.items() if value is not None]
        text = urlencode([*kept, *added])
        return f"{self.path}?{text}" if text else self.path

    def part(self, path: str, **added: object) -> str:
        """The address of a part of this view, with its parameters."""
        pairs = [*self.pairs, *((name, str(value)) for name, value in added.items())]
        return f"{path}?{urlencode(pairs)}"

    def pages(self, total: int) -> int:
        return max(1, -(-total // self.rows))


def view_of(request: Request, *, rows_default: int, rows_max: int) -> View:
    """Raises BadRequestError for numbers that are none."""
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
