"""Converts a rule to a query of the query language, as far as possible.

The query finds every process whose stored events match the rule, and possibly more: a query tests
segments, a rule tests single events, and some rule tests have no equivalent. If `exact`, the query
finds no other process. The result lists the tests that the query weakens and the tests that it
omits. A negated test that could only be weakened is omitted, because its negation would find fewer
processes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from vedette import limits
from vedette.detect.nodes import And, Exists, FieldTest, IsNull, Keyword, Node, Not, Or, Text
from vedette.detect.rule import Rule
from vedette.detect.rule_query_values import asked, named_hash
from vedette.detect.views.stored import kind_of_category
from vedette.errors import QueryError
from vedette.limits import Limit
from vedette.model.fields import PROCESS
from vedette.query.check.checker import check
from vedette.query.nodes import Everything, Leaf, Range, Tree, all_of, any_of, negated
from vedette.query.nodes import Text as Word
from vedette.query.parse.render import print_query

RULE_QUERY_BYTES_MAX: Limit[int] = 16_384
"""Maximum bytes of the generated query. A longer query does not fit into the URL of a search."""


Asking = FieldTest | Keyword


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """Query equivalent of a rule. `text` is "" if no part of the rule can be expressed."""

    text: str
    exact: bool
    weaker: tuple[Asking, ...] = ()
    """Tests that the query weakens to words or pieces of words."""
    left_out: tuple[Asking, ...] = ()
    """Tests that the query omits, together with their alternatives."""
    reason: str = ""
    """Why there is no query: `log_source` or `too_large`."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Query tree for a part of a condition. True wherever that part is."""

    tree: Tree
    exact: bool = True
    events: int = 0
    """Number of event tests. In a query, two tests may be true for different events."""
    needs_event: bool = False
    """Whether the tree is true only for segments with an event."""
    weaker: tuple[Asking, ...] = ()
    left_out: tuple[Asking, ...] = ()


class _TooDeepError(Exception):
    """Raised if the condition is nested deeper than a query may be."""


_METADATA: Final = {
    **{"Image": "path", "CommandLine": "cmdline", "User": "username"},
    **{"CurrentDirectory": "current_directory", "IntegrityLevel": "integrity_level"},
    **{"LogonId": "logon_id", "ProcessId": "process_pid", "ParentImage": "parent_path"},
    **{"ParentCommandLine": "parent_cmdline", "ParentUser": "parent_username"},
    "ParentProcessId": "parent_pid",
}
_OF_START: Final = {
    **{"OriginalFileName": "original_filename", "md5": "process_md5", "sha1": "process_sha1"},
    **{"sha256": "process_sha256", "Description": "file_desc", "Product": "product_name"},
    **{"Company": "company_name", "FileVersion": "file_version", "imphash": "imphash"},
}
_WEAK: Final = frozenset({"original_filename", "imphash"})
"""Fields that also match the program's file as reported by any sensor."""

_EVENTS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "filemod": {"TargetFilename": "filemod", "sha1": "filemod_sha1"},
        "modload": {
            **{"ImageLoaded": "modload", "Signature": "modload_publisher"},
            "sha1": "modload_sha1",
        },
        "regmod": {"TargetObject": "regmod", "Details": "regmod_value"},
        "netconn": {"DestinationPort": "ipport", "DestinationHostname": "domain"},
        "crossproc": {
            **{"TargetImage": "crossproc_name", "StartModule": "crossproc_start_module"},
            "StartFunction": "crossproc_start_function",
        },
        "dnsquery": {
            **{"QueryName": "dns", "query": "dns"},
            **{"QueryResults": "dns_answer", "answer": "dns_answer"},
        },
        "pipe": {"PipeName": "pipe"},
        "scriptblock": {"ScriptBlockText": "scriptblock"},
    }
)
"""Maps an event kind to {field in rules: field in queries}."""

_ALSO_OTHERS: Final = frozenset({"filemod_sha1", "modload_sha1", "domain"})
"""Query fields that also match events other than those of the rule."""

_ANY: Final = {
    **{"filemod": "filemod", "modload": "modload", "regmod": "regmod", "dnsquery": "dns"},
    **{"pipe": "pipe", "scriptblock": "scriptblock"},
}
_WHOLE_KINDS: Final = frozenset(
    {"process_creation", "network_connection", "dns_query", "ps_script"}
)
"""Categories that contain all stored events of their kind."""

_CROSS_TYPES: Final = {"process_access": "ProcessOpen", "create_remote_thread": "RemoteThread"}
_SYSTEMS: Final = {"windows": "windows", "linux": "linux", "macos": "osx"}
_STATUSES: Final = {"valid": "Signed", "expired": "Expired", "revoked": "Explicit Distrust"}


def query_of_rule(rule: Rule) -> RuleQuery:
    """Returns the query that finds the processes that the rule would match."""
    products, categories = _named(rule.sources)
    kinds = {kind_of_category(one) for one in categories}
    if len(kinds) != 1 or None in kinds:
        return RuleQuery("", exact=False, reason="log_source")
    (kind,) = kinds
    assert kind is not None
    try:
        part = _Writer(kind).part(rule.condition, is_negated=False, is_outbound=False, depth=0)
        tree, exact = _whole(part, kind, products, categories)
        check(tree, now_us=0)
    except (QueryError, _TooDeepError, ValueError):
        return RuleQuery("", exact=False, reason="too_large")
    if isinstance(part.tree, Everything) and not part.exact:
        return RuleQuery("", exact=False, left_out=part.left_out)
    text = print_query(tree)
    if len(text.encode()) > RULE_QUERY_BYTES_MAX:
        return RuleQuery("", exact=False, reason="too_large")
    weaker, left_out = tuple(dict.fromkeys(part.weaker)), tuple(dict.fromkeys(part.left_out))
    return RuleQuery(text, exact, weaker, left_out)


def _named(sources: Sequence[str]) -> tuple[set[str], set[str]]:
    """Splits log sources into products and categories. A service is not a category."""
    parts = [source.partition("/") for source in sources]
    return {one for one, _, _ in parts}, {one for _, _, one in parts}


def _whole(part: _Part, kind: str, products: set[str], categories: set[str]) -> tuple[Tree, bool]:
    """Adds the conditions of the log source: operating system, and presence of an event of its
    kind."""
    asked_of: list[Tree] = []
    exact = part.exact and categories <= _WHOLE_KINDS
    if len(products) < len(_SYSTEMS):
        asked_of.append(any_of([_leaf("os_type", _SYSTEMS[one]) for one in sorted(products)]))
    if kind == "":
        asked_of.append(_leaf("creation_observed", "true"))
    elif kind == "crossproc":
        asked_of.append(
            any_of([_leaf("crossproc_type", _CROSS_TYPES[one]) for one in sorted(categories)])
        )
        exact = part.exact and not part.events
    elif not part.needs_event:
        field = _ANY.get(kind)
        asked_of.append(_leaf(field, "*") if field else Leaf("netconn_count", Range("1", "*")))
    return all_of([*asked_of, part.tree]), exact


def _leaf(field: str, text: str) -> Leaf:
    return Leaf(field, Word(text))


class _Writer:
    """Converts the condition of a rule about one kind of event. Kind "" is the start of a
    process."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._of_event: Mapping[str, str] = _EVENTS.get(kind, {})

    def part(self, node: Node, *, is_negated: bool, is_outbound: bool, depth: int) -> _Part:
        if depth > limits.QUERY_DEPTH_MAX:
            raise _TooDeepError
        match node:
            case Not(node=inner):
                return self.part(
                    inner, is_negated=not is_negated, is_outbound=is_outbound, depth=depth + 1
                )
            case And(nodes=nodes) | Or(nodes=nodes):
                is_all = isinstance(node, And) is not is_negated
                outbound = is_outbound or (is_all and not is_negated and _BEGUN_HERE in nodes)
                parts = [
                    self.part(one, is_negated=is_negated, is_outbound=outbound, depth=depth + 1)
                    for one in nodes
                ]
                return _all(parts) if is_all else _any(parts)
        return self._test(node, is_negated, is_outbound)

    def _test(self, node: Asking, is_negated: bool, is_outbound: bool) -> _Part:
        found = self._asked(node, is_outbound) if isinstance(node, FieldTest) else None
        if found is None or not _is_understood(found.tree):
            return _Part(Everything(), exact=False, left_out=(node,))
        if not is_negated:
            return found if found.exact else _weak(found, node)
        if not found.exact or found.events:
            return _Part(Everything(), exact=False, left_out=(node,))
        return _Part(negated(found.tree))

    def _asked(self, node: FieldTest, is_outbound: bool) -> _Part | None:
        special = _SPECIAL.get((self._kind, node.field))
        if special is not None:
            return special(node, is_outbound)
        of_event = self._of_event.get(node.field)
        if of_event is not None:
            return _valued(of_event, node, events=1)
        if self._kind == "" and node.field in _OF_START:
            return _valued(_OF_START[node.field], node, events=0)
        column = _METADATA.get(node.field)
        return _valued(column, node, events=0) if column is not None else None


_BEGUN_HERE: Final = FieldTest("Initiated", Text("equals", "true"))


def _weak(part: _Part, node: Asking) -> _Part:
    return _Part(
        part.tree, exact=False, events=part.events, needs_event=part.needs_event, weaker=(node,)
    )


def _is_understood(tree: Tree) -> bool:
    """Whether the query language accepts the tree. Texts may be too long, or addresses of the other
    family."""
    try:
        check(tree, now_us=0)
    except QueryError:
        return False
    return True


def _valued(name: str, node: FieldTest, *, events: int) -> _Part | None:
    """Converts a test of a field. `name` is the query field."""
    field = PROCESS.find(name)
    assert field is not None
    match node.test:
        case IsNull() | Exists(wanted=False) if not events and field.kind == "column":
            if field.type == "integer" or field.join is not None:
                return None
            return _Part(negated(_leaf(name, "*")))
        case Exists(wanted=True) if field.type != "integer":
            return _Part(_leaf(name, "*"), exact=False, events=events, needs_event=bool(events))
    found = asked(field.type, node.test)
    if found is None:
        return None
    exact = found.exact and name not in _WEAK and name not in _ALSO_OTHERS and field.kind != "join"
    return _Part(Leaf(name, found.value), exact, events, needs_event=bool(events))


def _hashes(node: FieldTest, _is_outbound: bool) -> _Part | None:
    """Converts a test of `Hashes`, the list of a program's hashes, if it names a hash."""
    match node.test:
        case Text(where="contains" | "equals", value=value) if found := named_hash(value):
            kind, digits = found
            name = "imphash" if kind == "imphash" else f"process_{kind}"
            is_exact = kind != "imphash" and node.test.where == "contains"
            return _Part(_leaf(name, digits), exact=is_exact)
    return None


def _signed(node: FieldTest, _is_outbound: bool) -> _Part | None:
    match node.test:
        case Text(where="equals", value="false"):
            return _Part(_leaf("modload_signature", "Unsigned"), events=1, needs_event=True)
        case Text(where="equals", value="true"):
            return _Part(_leaf("modload_signature", "*"), False, events=1, needs_event=True)
    return None


def _status(node: FieldTest, _is_outbound: bool) -> _Part | None:
    match node.test:
        case Text(where="equals", value=value) if value.lower() in _STATUSES:
            leaf = _leaf("modload_signature", _STATUSES[value.lower()])
            return _Part(leaf, events=1, needs_event=True)
    return None


def _destination(node: FieldTest, is_outbound: bool) -> _Part | None:
    """Converts a test of the destination, which is the remote side of an outbound connection."""
    if not is_outbound:
        return None
    for name in ("ipaddr", "ipv6addr"):
        found = _valued(name, node, events=1)
        if found is not None and _is_understood(found.tree):
            return found
    return None


def _access(node: FieldTest, _is_outbound: bool) -> _Part | None:
    match node.test:
        case Text(where="equals", value=value):
            try:
                number = int(value, 16)
            except ValueError:
                return None
            if value.lower() == hex(number):
                leaf = _leaf("crossproc_access", str(number))
                return _Part(leaf, events=1, needs_event=True)
    return None


def _source_image(node: FieldTest, _is_outbound: bool) -> _Part | None:
    return _valued("path", node, events=0)


_SPECIAL: Final[Mapping[tuple[str, str], Callable[[FieldTest, bool], _Part | None]]] = (
    MappingProxyType(
        {
            ("", "Hashes"): _hashes,
            ("modload", "Signed"): _signed,
            ("modload", "SignatureStatus"): _status,
            ("netconn", "DestinationIp"): _destination,
            ("crossproc", "GrantedAccess"): _access,
            ("crossproc", "SourceImage"): _source_image,
        }
    )
)


def _all(parts: Sequence[_Part]) -> _Part:
    return _Part(
        all_of([one.tree for one in parts]),
        exact=all(one.exact for one in parts) and sum(bool(one.events) for one in parts) <= 1,
        events=sum(one.events for one in parts),
        needs_event=any(one.needs_event for one in parts),
        weaker=tuple(node for one in parts for node in one.weaker),
        left_out=tuple(node for one in parts for node in one.left_out),
    )


def _any(parts: Sequence[_Part]) -> _Part:
    """Returns the alternatives. If any of them cannot be expressed, all are omitted."""
    tree = any_of([one.tree for one in parts])
    left_out = tuple(node for one in parts for node in one.left_out)
    if isinstance(tree, Everything) and not all(one.exact for one in parts):
        return _Part(tree, exact=False, left_out=left_out)
    return _Part(
        tree,
        exact=all(one.exact for one in parts),
        events=sum(one.events for one in parts),
        needs_event=all(one.needs_event for one in parts),
        weaker=tuple(node for one in parts for node in one.weaker),
        left_out=left_out,
    )
