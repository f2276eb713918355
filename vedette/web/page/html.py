"""Markup that templates may output besides plain text: telemetry, icons, htmx attributes, times.

Only this module creates markup in Python, always by `Markup.format`, which escapes inserted values.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import xxhash
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from vedette.limits import Limit
from vedette.model.principal import Principal, Role
from vedette.model.rights.authorization import EVERYWHERE, Deed, Managed, groups_where, may
from vedette.query.mark import Spans
from vedette.web.http.access import holds
from vedette.web.http.rights.right import Right
from vedette.web.json.pulse_versions import followed
from vedette.web.page.catalogue import PLACEHOLDER
from vedette.web.page.severity import level_of
from vedette.web.page.static_files import static_url
from vedette.web.page.untrusted import mixes_scripts, parts, shortened

SHOWN_VALUE_CHARS_MAX: Limit[int] = 4_096
"""Characters of a value that a page shows; the rest is behind a button."""


_BOX: Final = Markup('<span class="box">{}</span>')
_VALUE: Final = Markup('<bdi dir="ltr"{}>{}{}</bdi>')
_TITLE: Final = Markup(' title="{}"')
_MIXED: Final = Markup(
    '<span class="badge warn" title="Contains look-alike letters from several scripts">'
    "mixed scripts</span>"
)
MORE: Final = "{1} more characters"
_REST: Final = Markup(
    '{}<details class="rest"><summary>{}</summary><bdi dir="ltr">{}</bdi></details>'
)
_GAP: Final = Markup('<span class="gap">…</span>')
_MARK: Final = Markup("<mark>{}</mark>")
_ATTRIBUTE: Final = Markup(' {}="{}"')
_ANALYSTS: Final = "Requires the Analyst role in a sensor group"
_GLOBAL: Final = "Requires a global administrator"
_OWNER: Final = "Requires the owner or a global administrator"
_EVERYWHERE: Final = {
    Role.ANALYST: "Requires the Analyst role in every sensor group",
    Role.ADMINISTRATOR: "Requires the Administrator role in every sensor group",
}
_OF_ITS_GROUP: Final = {
    Role.ANALYST: "Requires the Analyst role in its sensor group",
    Role.ADMINISTRATOR: "Requires the Administrator role in its sensor group",
}
_SOMEWHERE: Final = {
    Role.ANALYST: _ANALYSTS,
    Role.ADMINISTRATOR: "Requires the Administrator role in a sensor group",
}
WHO: Final = (
    _GLOBAL,
    _OWNER,
    *_EVERYWHERE.values(),
    *_OF_ITS_GROUP.values(),
    *_SOMEWHERE.values(),
)
"""Tooltips of disabled buttons, which state who may press them."""
_DISABLED: Final = Markup('aria-disabled="true" title="{}"')
_FOLLOW: Final = Markup('id="f-{}" data-follow="{}" data-version="{}"{}')
_MOVES: Final = Markup(" data-moves")
_SILENT: Final = Markup('aria-hidden="true"')
_SAID: Final = Markup('role="img" aria-label="{}"')
_ICON: Final = Markup('<svg class="icon i-{}" {}><use href="{}#{}"></use></svg>')
_SEVERITY: Final = Markup('<span class="severity sev-{}">{}<span class="num">{}</span> {}</span>')
_TIME_SHORT: Final = Markup('<time datetime="{}" data-time="{}" data-form="seconds">{}</time>')
_TIME: Final = Markup('<time datetime="{}" data-time="{}">{}</time>')

_UNITS: Final = (
    (86_400_000, "d"),
    (3_600_000, "h"),
    (60_000, "min"),
    (1_000, "s"),
    (1, "ms"),
)
"""Time units in milliseconds."""


def untrusted(value: object, *, short: bool = False) -> Markup:
    """Returns untrusted text as text nodes in an isolated run. `short` omits the middle of a long
    text and puts the text into the title. Text beyond `SHOWN_VALUE_CHARS_MAX` is cut off."""
    text = "" if value is None else str(value)
    most = SHOWN_VALUE_CHARS_MAX
    head, tail = shortened(text) if short else (text[:most], "")
    shown = _pieces(head) + (_GAP + _pieces(tail) if len(head) < len(text) else Markup())
    title = _TITLE.format(plain(text[:most])) if tail else Markup()
    return _VALUE.format(title, shown, _MIXED if mixes_scripts(text[:most]) else "")


def message(words: Callable[..., str], text: str, *values: object) -> str:
    """Returns a message in the language of `words` with its values inserted. If a value is markup,
    the result is markup too, and all other text in it is escaped."""
    if not any(isinstance(value, Markup) for value in values):
        return words(text, *values)
    pieces = PLACEHOLDER.split(words(text))  # alternates text and the number of a value
    return Markup().join(
        escape(values[int(piece) - 1] if at % 2 else piece) for at, piece in enumerate(pieces)
    )


def whole_text(words: Callable[..., str], value: str) -> Markup:
    """Returns untrusted text for an element that may contain blocks. Text beyond
    `SHOWN_VALUE_CHARS_MAX` is behind a button, labeled in the language of `words`. It is a plain
    string, because boxes for hidden characters could become too many elements."""
    most = SHOWN_VALUE_CHARS_MAX
    if len(value) <= most:
        return untrusted(value)
    label = words(MORE, f"{len(value) - most:,}".replace(",", "\u2009"))
    return _REST.format(untrusted(value), label, plain(value[most:]))


def untrusted_lines(value: str) -> Markup:
    """Returns an untrusted multi-line text, such as a rule: each line is isolated, and other hidden
    characters are shown as codes."""
    return Markup("\n").join(
        _VALUE.format("", _pieces(line), _MIXED if mixes_scripts(line) else "")
        for line in value.replace("\r\n", "\n").split("\n")
    )


def plain(value: object) -> str:
    """Returns untrusted text as a plain string with codes for hidden characters, for titles and
    labels."""
    return "".join(piece for _, piece in parts("" if value is None else str(value)))


def marked(text: str, spans: Spans) -> Markup:
    """Returns untrusted text with the matches of a query highlighted."""
    return _VALUE.format("", marked_pieces(text, spans), _MIXED if mixes_scripts(text) else "")


def marked_pieces(text: str, spans: Spans) -> Markup:
    """Like `marked`, without the isolating element."""
    shown, at = Markup(), 0
    for start, end in spans:
        shown += _pieces(text[at:start]) + _MARK.format(_pieces(text[start:end]))
        at = end
    return shown + _pieces(text[at:])


def cell(text: str, spans: Spans | None = None) -> Markup:
    """Returns untrusted text for an element that isolates its content itself. Printable ASCII
    becomes plain text, which saves thousands of elements per page."""
    if text.isascii() and text.isprintable():
        return marked_pieces(text, spans) if spans else escape(text)
    return marked(text, spans) if spans else untrusted(text)


def icon(name: str, label: str = "") -> Markup:
    """Returns an icon of `static/icons.svg`. Its meaning must be in adjacent text or in its
    `label`."""
    said = _SAID.format(label) if label else _SILENT
    return _ICON.format(name, said, static_url("icons.svg"), name)


def severity(words: Callable[[str], str], score: float) -> Markup:
    """Returns shape, number and word of a score from 0 to 100, in the language of `words`."""
    level = level_of(score)
    return _SEVERITY.format(level, icon(f"sev-{level}"), f"{score:.0f}", words(level))


@pass_context
def hx(context: Context, **attributes: object) -> Markup:
    """Returns the htmx attributes of an element: `hx(get=url, target="#list")`. Adds the page's
    nonce, because the browser drops htmx attributes without it. Values must be trusted."""
    named: dict[str, Any] = {name.replace("_", "-"): text for name, text in attributes.items()}
    pairs = [(f"hx-{name}", text) for name, text in named.items() if text is not None]
    pairs.append(("hx-nonce", context["nonce"]))
    return Markup().join(_ATTRIBUTE.format(name, text) for name, text in pairs)


@pass_context
def allows(context: Context, deed: str, managed: Managed = EVERYWHERE) -> bool:
    """Returns whether the reader may perform a deed on an object, by the same rules as the API."""
    user = context["user"]
    return user is not None and may(user, Deed[deed], managed)


@pass_context
def needs(context: Context, deed: str, managed: Managed = EVERYWHERE) -> Markup:
    """Returns attributes that disable a button and state who may press it, if the reader may
    not."""
    if allows(context, deed, managed):
        return Markup()
    return _DISABLED.format(context["_"](who_may(Deed[deed], managed)))


@pass_context
def needs_somewhere(context: Context, deed: str) -> Markup:
    """Like `needs`, for a button whose objects the reader selects: disabled if the reader may
    perform the deed in no sensor group."""
    user: Principal | None = context["user"]
    wanted = Deed[deed]
    if user is not None and groups_where(user, wanted) != frozenset():
        return Markup()
    role = wanted.value.role
    return _DISABLED.format(context["_"](_GLOBAL if role is None else _SOMEWHERE[role]))


@pass_context
def needs_analyst(context: Context) -> Markup:
    """Like `needs`, for actions that change nothing and require an analyst of any sensor group."""
    user = context["user"]
    is_analyst = user is not None and holds(user, Right.ACT)
    return Markup() if is_analyst else _DISABLED.format(context["_"](_ANALYSTS))


def who_may(deed: Deed, managed: Managed) -> str:
    """Returns who may perform a deed on an object, as a translatable message."""
    role = deed.value.role
    if managed.owner is not None:
        return _OWNER
    if role is None:
        return _GLOBAL
    return _EVERYWHERE[role] if managed.is_everywhere else _OF_ITS_GROUP[role]


def follow(kind: str, key: object, *parts: object, place: str = "") -> Markup:
    """Returns the attributes, including the id, of an element that shows an object's state. The
    browser reloads the element when the state changes. `parts` are the arguments of `followed`;
    `place` distinguishes several elements for the same object."""
    state, name = followed(kind, *parts), f"{kind}:{quote(str(key), safe='')}"
    digest = xxhash.xxh64_hexdigest(f"{name} {place}".encode())
    return _FOLLOW.format(digest, name, state.version, "" if state.is_settled else _MOVES)


@pass_context
def whole(context: Context, count: int) -> int | None:
    """Returns a count or time over all hosts; None for readers who do not see all hosts, because it
    would reveal activity of hidden hosts."""
    user = context["user"]
    return count if user is not None and user.visible_groups is None else None


def when_short(time_us: int | None) -> Markup:
    """Formats a time in epoch microseconds to the second."""
    if not time_us:
        return Markup("–")
    text = datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    shown = f"{text.replace('T', ' ')}Z"
    return _TIME_SHORT.format(f"{text}Z", time_us // 1_000, shown)


def when(time_us: int | None) -> Markup:
    """Formats a time in epoch microseconds. The browser converts it to the reader's time zone."""
    if not time_us:
        return Markup("–")
    text = datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    return _TIME.format(f"{text}Z", time_us // 1_000, f"{text.replace('T', ' ')}Z")


def duration(time_us: int, units: int = 1) -> str:
    """Formats a duration in microseconds with its `units` largest units: `3 h`, `3 h 20 min`."""
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
