"""What templates may write besides plain text: telemetry, symbols, htmx attributes, times.

This module alone makes markup in Python, always by `Markup.format`, which escapes what it fills in.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from vedette import limits
from vedette.api.http.access import may
from vedette.api.http.route_rights import Right
from vedette.console.severity import level_of
from vedette.console.static_files import static_url
from vedette.console.untrusted import mixes_scripts, parts, shortened
from vedette.query.mark import Spans

_BOX: Final = Markup('<span class="box">{}</span>')
_VALUE: Final = Markup('<bdi dir="ltr"{}>{}{}</bdi>')
_TITLE: Final = Markup(' title="{}"')
_MIXED: Final = Markup(
    '<span class="badge warn" title="Letters of several scripts that look alike">mixed</span>'
)
MORE: Final = "{1} characters more"
_REST: Final = Markup(
    '{}<details class="rest"><summary>{}</summary><bdi dir="ltr">{}</bdi></details>'
)
_GAP: Final = Markup('<span class="gap">…</span>')
_MARK: Final = Markup("<mark>{}</mark>")
_ATTRIBUTE: Final = Markup(' {}="{}"')
WHO: Final = {
    Right.ACT: "Analysts of a sensor group may do this",
    Right.ADMINISTER_GROUP: "Administrators of a sensor group may do this",
    Right.ADMINISTER: "Global administrators may do this",
}
_DISABLED: Final = Markup('aria-disabled="true" title="{}"')
_SILENT: Final = Markup('aria-hidden="true"')
_SAID: Final = Markup('role="img" aria-label="{}"')
_ICON: Final = Markup('<svg class="icon i-{}" {}><use href="{}#{}"></use></svg>')
_SEVERITY: Final = Markup('<span class="severity sev-{}">{}<span class="num">{}</span> {}</span>')
_TIME_SHORT: Final = Markup('<time datetime="{}" data-time="{}" data-form="seconds">{}</time>')
_TIME: Final = Markup('<time datetime="{}" data-time="{}">{}</time>')

_UNITS: Final = (
    *((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")),
    *((1_000, "s"), (1, "ms")),
)
"""Of time, in milliseconds."""


def untrusted(value: object, *, short: bool = False) -> Markup:
    """Text from outside as text nodes in an isolated run. `short` leaves out the middle of a long
    one, which its title has; of what is longer than `SHOWN_VALUE_CHARS_MAX` the rest is left
    out."""
    text = "" if value is None else str(value)
    most = limits.SHOWN_VALUE_CHARS_MAX
    head, tail = shortened(text) if short else (text[:most], "")
    shown = _pieces(head) + (_GAP + _pieces(tail) if len(head) < len(text) else Markup())
    title = _TITLE.format(plain(text[:most])) if tail else Markup()
    return _VALUE.format(title, shown, _MIXED if mixes_scripts(text[:most]) else "")


def whole_text(words: Callable[..., str], value: str) -> Markup:
    """Such a text, in an element that may have blocks, with what is left out of it behind a button
    in the language of `words`: as one string, since codes would be as many elements."""
    most = limits.SHOWN_VALUE_CHARS_MAX
    if len(value) <= most:
        return untrusted(value)
    label = words(MORE, f"{len(value) - most:,}".replace(",", "\u2009"))
    return _REST.format(untrusted(value), label, plain(value[most:]))


def untrusted_lines(value: str) -> Markup:
    """A text from outside that is meant to have lines, such as a rule: each is isolated, and what
    else is hidden in it is named."""
    return Markup("\n").join(
        _VALUE.format("", _pieces(line), _MIXED if mixes_scripts(line) else "")
        for line in value.replace("\r\n", "\n").split("\n")
    )


def plain(value: object) -> str:
    """Text from outside as one string with the codes of what is hidden, for titles and labels."""
    return "".join(piece for _, piece in parts("" if value is None else str(value)))


def marked(text: str, spans: Spans) -> Markup:
    """Text from outside with the places that a query found."""
    return _VALUE.format("", marked_pieces(text, spans), _MIXED if mixes_scripts(text) else "")


def marked_pieces(text: str, spans: Spans) -> Markup:
    """What `marked` isolates."""
    shown, at = Markup(), 0
    for start, end in spans:
        shown += _pieces(text[at:start]) + _MARK.format(_pieces(text[start:end]))
        at = end
    return shown + _pieces(text[at:])


def cell(text: str, spans: Spans | None = None) -> Markup:
    """Text from outside as the content of an element that is an isolated run itself: plain where
    it is printable ASCII, which saves a page thousands of elements."""
    if text.isascii() and text.isprintable():
        return marked_pieces(text, spans) if spans else escape(text)
    return marked(text, spans) if spans else untrusted(text)


def icon(name: str, label: str = "") -> Markup:
    """A symbol of `static/icons.svg`; what it means must stand beside it, or be its `label`."""
    said = _SAID.format(label) if label else _SILENT
    return _ICON.format(name, said, static_url("icons.svg"), name)


def severity(words: Callable[[str], str], score: float) -> Markup:
    """Shape, number and word of a score of 0 to 100, in the language of `words`."""
    level = level_of(score)
    return _SEVERITY.format(level, icon(f"sev-{level}"), f"{score:.0f}", words(level))


@pass_context
def hx(context: Context, **attributes: object) -> Markup:
    """The htmx attributes of an element: `hx(get=url, target="#list")`. Each element's carry the
    page's nonce, without which the browser's part drops them. Values are the project's own."""
    named: dict[str, Any] = {name.replace("_", "-"): text for name, text in attributes.items()}
    pairs = [(f"hx-{name}", text) for name, text in named.items() if text is not None]
    pairs.append(("hx-nonce", context["nonce"]))
    return Markup().join(_ATTRIBUTE.format(name, text) for name, text in pairs)


@pass_context
def needs(context: Context, right: str) -> Markup:
    """The attributes of a button that a reader without a right sees and cannot press: who may."""
    user, wanted = context["user"], Right[right]
    if user is not None and may(user, wanted):
        return Markup()
    return _DISABLED.format(context["_"](WHO[wanted]))


@pass_context
def whole(context: Context, count: int) -> int | None:
    """A count or time over all hosts; None for readers who do not see them all, since it would show
    them what hidden hosts do."""
    user = context["user"]
    return count if user is not None and user.visible_groups is None else None


def when_short(time_us: int | None) -> Markup:
    """A time to the second."""
    if not time_us:
        return Markup("–")
    text = datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    shown = f"{text.replace('T', ' ')}Z"
    return _TIME_SHORT.format(f"{text}Z", time_us // 1_000, shown)


def when(time_us: int | None) -> Markup:
    """A time in epoch microseconds; the browser shows it in the zone that its reader chose."""
    if not time_us:
        return Markup("–")
    text = datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    return _TIME.format(f"{text}Z", time_us // 1_000, f"{text.replace('T', ' ')}Z")


def duration(time_us: int, units: int = 1) -> str:
    """A span of time in its `units` largest units: `3 h`, `3 h 20 min`."""
    left = max(0, time_us) // 1_000
    words: list[tuple[int, str]] = []
    for size, name in _UNITS:
        count, left = divmod(left, size)
        if count or words:
            words.append((count, name))
    shown = [f"{count} {name}" for count, name in words[:units] if count]
    return " ".join(shown) or "0 s"


def _pieces(text: str) -> Markup:
    return Markup().join(_BOX.format(piece) if is_box else piece for is_box, piece in parts(text))
