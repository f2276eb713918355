"""Texts that events must contain for rules to fire, by column of the store. They narrow reads of
stored telemetry before events are rebuilt."""

from collections.abc import Callable, Iterable
from typing import Final

from vedette.detect.anchors import Anchor, all_anchors, anchors_of
from vedette.detect.rule import Rule
from vedette.detect.views.windows import MADE_FIELDS
from vedette.limits import Limit
from vedette.store.read.detection.stored_past import RECORD_VALUES, Literals

RULE_PAST_LITERALS_MAX: Limit[int] = 200
"""Texts searched in one column at once; the engine accepts 255."""


_OF_PROCESS: Final = {
    **{"Image": ("path",), "SourceImage": ("path",), "CommandLine": ("cmdline",)},
    **{"ParentImage": ("parent_path",), "ParentCommandLine": ("parent_cmdline",)},
    **{"User": ("username",), "ParentUser": ("parent_username",)},
    "CurrentDirectory": ("current_directory",),
}
_OF_EVENTS: Final = {
    **{"TargetFilename": "filemod_path", "ImageLoaded": "modload_path"},
    **{"Details": "regmod_value", "PipeName": "pipe_name", "TargetImage": "crossproc_path"},
    **dict.fromkeys(("QueryName", "query"), "dnsquery_name"),
    **dict.fromkeys(("QueryResults", "answer"), "dnsquery_answers"),
    "ScriptBlockText": "scriptblock_text",
    "DestinationHostname": "netconn_domain",
}
_KEY: Final = "TargetObject"
_HIVES: Final = ("hk", "\\registry")
"""Texts in literals that the store spells differently."""

_NONE: Final[Literals] = {}


def segment_literals(rules: Iterable[Rule], columns: Iterable[str]) -> Literals:
    """Returns literals by column, such that every event of a segment that fires any rule contains
    one of them in its column; {} if there is no such set."""
    known = frozenset(columns)

    def place(anchor: Anchor) -> tuple[str, ...]:
        field, test = anchor
        if field == _KEY and not any(hive in test.value for hive in _HIVES):
            found: tuple[str, ...] = ("regmod_path",)
        else:
            found = _OF_PROCESS.get(field) or ((_OF_EVENTS[field],) if field in _OF_EVENTS else ())
        return tuple(one for one in found if one in known)

    return _literals(rules, place)


def record_literals(rules: Iterable[Rule]) -> Literals:
    """Like `segment_literals`, for stored records, over all their values."""

    def place(anchor: Anchor) -> tuple[str, ...]:
        return () if anchor[0] in MADE_FIELDS or not anchor[0] else (RECORD_VALUES,)

    return _literals(rules, place)


def _literals(rules: Iterable[Rule], place: Callable[[Anchor], tuple[str, ...]]) -> Literals:
    found: dict[str, set[str]] = {}
    for rule in rules:
        # High costs for anchors without a column: such a set would require reading all events.
        dear = {one: 1.0 for one in all_anchors(rule.condition) if not _is_found(one, place)}
        anchors = anchors_of(rule.condition, dear)
        if not anchors or not anchors.isdisjoint(dear):
            return _NONE
        for anchor in anchors:
            for column in place(anchor):
                found.setdefault(column, set()).add(anchor[1].value)
    if any(len(texts) > RULE_PAST_LITERALS_MAX for texts in found.values()):
        return _NONE
    return {column: sorted(texts) for column, texts in found.items()}


def _is_found(anchor: Anchor, place: Callable[[Anchor], tuple[str, ...]]) -> bool:
    """Whether the store can search for the anchor: it compares only ASCII case-insensitively."""
    return anchor[1].value.isascii() and bool(place(anchor))
