"""A rule written as a query: the query finds each segment in which the rule hits, and where it is
said to be exact, no other. Rules are those of the starter pack and some of the test's own; segments
are made of what the rules ask for, whole, cut and mixed, paths with the separators of their system.
"""

import os
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.unit.detect.rules import rule_text
from vedette.detect.nodes import And, FieldTest, Like, Node, Not, Or, Text
from vedette.detect.rule import Rule
from vedette.detect.rule_query import RuleQuery, query_of_rule
from vedette.detect.sigma.load import load_rules
from vedette.detect.starter_pack import starter_texts
from vedette.detect.verify import compile_condition
from vedette.detect.views.stored import METADATA, events_of_segment, kinds_of
from vedette.model.columns import EVENT_KINDS
from vedette.model.tokens import cmdline_tokens
from vedette.query import check, compile_match, parse
from vedette.query.match import Prepared, binaries_by_hash

DRAWS = int(os.environ.get("VEDETTE_DRAWS", "40"))
SEED = int(os.environ.get("VEDETTE_SEED", "31"))
NOW_US = 1_700_000_000_000_000
PROCESS = "00000001-8498-695b-0100-000000000400"

OWN = {
    "process_creation": (
        "  selection:\n    Image|endswith: '\\certutil.exe'\n    CommandLine|contains: urlcache\n"
        "  condition: selection",
        "  selection:\n    Image: 'C:\\Windows\\System32\\cmd.exe'\n"
        "    User|contains: SYSTEM\n  filter:\n    ParentImage|startswith: 'C:\\Program Files\\'\n"
        "    ParentCommandLine|contains: svc\n  condition: selection and not filter",
        "  selection:\n    - Image|contains: '\\Temp\\'\n    - CurrentDirectory|contains: Temp\n"
        "    - CommandLine|contains|all: [' -enc ', 'c:\\users']\n  condition: selection",
        "  selection:\n    OriginalFileName: 'PowerShell.EXE'\n    IntegrityLevel: [High, System]\n"
        "    ParentProcessId: 4\n  condition: selection",
        "  selection:\n    CommandLine|re: 'a+b'\n    Image|endswith: .scr\n  condition: selection",
        "  selection:\n    User: 'NT AUTHORITY\\SYSTEM'\n  other:\n    User|startswith: 'WEB'\n"
        "  condition: selection or other",
        "  selection:\n    Hashes|contains: 'MD5=d41d8cd98f00b204e9800998ecf8427e'\n"
        "  condition: selection",
        "  selection:\n    Company|contains: Sysinternals\n  condition: selection",
    ),
    "file_event": ("  selection:\n    TargetFilename|endswith: '.lnk'\n  condition: selection",),
    "image_load": (
        "  selection:\n    ImageLoaded|endswith: '\\dbghelp.dll'\n    Signed: 'false'\n"
        "  condition: selection",
    ),
    "registry_set": (
        "  selection:\n    TargetObject|contains: '\\CurrentVersion\\Run'\n"
        "    Details|contains: '.exe'\n  condition: selection",
        "  selection:\n    TargetObject|startswith: 'HKLM\\SOFTWARE\\Policies'\n"
        "  filter:\n    Image|endswith: '\\svchost.exe'\n  condition: selection and not filter",
    ),
    "network_connection": (
        "  selection:\n    Initiated: 'true'\n    DestinationIp|cidr: 10.0.0.0/8\n"
        "    DestinationPort: 445\n  condition: selection",
        "  selection:\n    Image|endswith: '\\rundll32.exe'\n  condition: selection",
        "  selection:\n    DestinationHostname|endswith: '.onion.example'\n  condition: selection",
    ),
    "dns_query": (
        "  selection:\n    QueryName|endswith: '.pastebin.com'\n  condition: selection",
        "  selection:\n    QueryName|contains: 'mega.'\n  filter:\n    Image|contains: firefox\n"
        "  condition: selection and not filter",
    ),
    "ps_script": (
        "  selection:\n    ScriptBlockText|contains: amsiutils\n  condition: selection",
        "  selection:\n    ScriptBlockText|contains: '.DownloadString('\n  condition: selection",
    ),
    "pipe_created": ("  selection:\n    PipeName|contains: '\\msagent_'\n  condition: selection",),
    "process_access": (
        "  selection:\n    TargetImage|endswith: '\\lsass.exe'\n    GrantedAccess: '0x1410'\n"
        "  condition: selection",
    ),
}


@cache
def rules() -> Mapping[str, Rule]:
    found: dict[str, Rule] = {}
    for name, text in starter_texts():
        (found[name],) = load_rules(text, name).rules
    for category, detections in OWN.items():
        for number, detection in enumerate(detections):
            loaded = load_rules(rule_text(detection + "\n", category), "own.yml")
            assert loaded.problems == ()
            found[f"{category}-{number}"] = loaded.rules[0]
    return found


NAMES = (
    *(name for name, _ in starter_texts()),
    *(f"{one}-{number}" for one in OWN for number in range(len(OWN[one]))),
)


def asked_values(node: Node) -> Iterator[tuple[str, str]]:
    match node:
        case And(nodes=nodes) | Or(nodes=nodes):
            for one in nodes:
                yield from asked_values(one)
        case Not(node=inner):
            yield from asked_values(inner)
        case FieldTest(field=field, test=Text(value=value)):
            yield field, value
        case FieldTest(field=field, test=Like(pieces=pieces)):
            yield field, "x".join("".join(one or "y" for one in piece) for piece in pieces)


FIELDS = {
    **{"path": "Image", "cmdline": "CommandLine", "username": "User"},
    **{"current_directory": "CurrentDirectory", "integrity_level": "IntegrityLevel"},
    **{"parent_path": "ParentImage", "parent_cmdline": "ParentCommandLine"},
    **{"parent_username": "ParentUser", "original_filename": "OriginalFileName"},
    **{"filemod_path": "TargetFilename", "modload_path": "ImageLoaded"},
    **{"regmod_path": "TargetObject", "regmod_value": "Details"},
    "netconn_domain": "DestinationHostname",
    **{"dnsquery_name": "QueryName", "dnsquery_answers": "QueryResults", "pipe_name": "PipeName"},
    **{"scriptblock_text": "ScriptBlockText", "crossproc_path": "TargetImage"},
}
PATHS = frozenset({"path", "parent_path", "current_directory", "filemod_path", "modload_path"})
FILLED = ("", "svchost.exe", " -x ", "temp", "A", "\\", ".", "/")


class Dice(random.Random):
    """Values of columns for one rule."""

    def __init__(self, seed: str, rule: Rule) -> None:
        super().__init__(seed)
        self.is_windows = any(one.startswith("windows/") for one in rule.sources)
        self.asked: dict[str, list[str]] = {}
        for field, value in asked_values(rule.condition):
            self.asked.setdefault(field, []).append(value)

    def text(self, column: str) -> str:
        known = self.asked.get(FIELDS.get(column, column), [])
        parts = [self.choice(FILLED)]
        for _ in range(self.choice((0, 1, 1, 2)) if known else 0):
            value = self.choice(known)
            parts += [value if self.random() < 0.8 else value[1:], self.choice(FILLED)]
        if known and self.random() < 0.4:
            parts = [self.choice(known)]
        made = "".join(parts)
        made = made.upper() if self.random() < 0.2 else made
        if column == "regmod_path":
            return self.key(made)
        if column == "crossproc_path" or column in PATHS:
            mark = "\\" if self.is_windows else "/"
            made = re.sub(r"[\\/]+", lambda _: mark, made)
            made = re.sub(r"(?i)\.exe\\.*", ".exe", made)  # nothing lies below a file
            return made if made[:1] == "/" or made[1:2] == ":" else f"C:\\x{made}"
        return made.strip(".") if column.endswith(("domain", "name")) else made

    def key(self, made: str) -> str:
        upper = made.upper()
        for hive, kernel in (("HKLM", "machine"), ("HKU", "user")):
            if upper.startswith(hive + "\\"):
                return f"\\registry\\{kernel}" + made[len(hive) :]
        made = re.sub(r"[\\/]+", r"\\\\", made)
        return f"\\registry\\{self.choice(('machine', 'user'))}\\x{made}"

    def number(self, column: str) -> int:
        known = self.asked.get("DestinationPort", []) if column.endswith("_port") else []
        if column == "parent_pid":
            known = self.asked.get("ParentProcessId", [])
        if column == "crossproc_access":
            return self.choice((0x1410, 0x1FFFFF, 0x1000, 0))
        if column in ("crossproc_is_target", "netconn_outbound", "filemod_operation"):
            return self.choice((0, 1, 1))
        if column in ("regmod_operation", "pipe_operation", "crossproc_kind"):
            return self.choice((1, 2, 2))
        return int(self.choice([*known, "0", "443"]))


def segment(dice: Dice, rule: Rule) -> dict[str, Any]:
    system = dice.choice([one.partition("/")[0] for one in rule.sources] + ["windows"])
    row: dict[str, Any] = {name: dice.text(name) for name in METADATA}
    row |= {"process_id": PROCESS, "os_type": {"macos": "osx"}.get(system, system)}
    row |= {"start": 1, "creation_observed": dice.choice((1, 1, 0)), "sensor_id": 1}
    row |= {"process_pid": 7, "parent_pid": dice.number("parent_pid"), "logon_id": "0x3e7"}
    row |= {"process_md5": dice.choice(("d41d8cd98f00b204e9800998ecf8427e", "")), "parent_id": ""}
    row |= {"process_sha256": "", "process_sha1": ""}
    kinds = kinds_of(rule.sources)
    for kind in EVENT_KINDS:
        count = dice.randrange(3) if kind.name in kinds else 0
        for column in kind.columns:
            row[column.name] = [value(dice, column) for _ in range(count)]
        if kind.counted:
            row[f"{kind.name}_count"] = count
    for name in ("cmdline", "parent_cmdline"):
        row[f"{name}_tokens"] = cmdline_tokens(row[name])
    return row


def value(dice: Dice, column: Any) -> Any:
    if column.name.endswith("_ip"):
        return bytes(10) + b"\xff\xff" + bytes([dice.choice((10, 192)), 0, 0, 1])
    if column.name == "modload_digsig_result":
        return dice.choice(("Signed", "Unsigned", ""))
    if column.name.endswith(("md5", "sha1", "sha256")):
        return ""
    return dice.text(column.name) if column.type == "text" else dice.number(column.name)


def judged(rule: Rule, query: RuleQuery, row: dict[str, Any]) -> tuple[bool, bool]:
    """Whether the rule hits in the segment, and whether the query finds it."""
    file = {"md5": row["process_md5"], "sha256": "", "company_name": row["username"]}
    holds = compile_condition(rule.condition)
    events = events_of_segment(
        row, kinds_of(rule.sources), lambda md5: file if md5 else {}, with_start=True
    )
    hits = any(set(one.sources) & set(rule.sources) and holds(one) for one in events)
    tree = check(parse(query.text), now_us=NOW_US)
    return hits, compile_match(tree)(Prepared(row, binaries_by_hash([file])))


@pytest.mark.parametrize("name", NAMES)
def test_a_query_finds_what_its_rule_hits_and_nothing_else_where_it_is_exact(name: str) -> None:
    rule = rules()[name]
    query = query_of_rule(rule)
    if not query.text:
        assert not query.exact
        return
    dice = Dice(f"{SEED} {name}", rule)
    for _ in range(DRAWS):
        row = segment(dice, rule)
        hits, found = judged(rule, query, row)
        assert found or not hits, (query.text, row)
        assert hits or not found or not query.exact, (query.text, row)


def test_most_rules_have_a_query_and_each_says_what_it_leaves_out() -> None:
    queries = {name: query_of_rule(rule) for name, rule in rules().items()}
    assert sum(bool(one.text) for one in queries.values()) > len(queries) * 2 / 3
    for name, one in queries.items():
        assert not one.exact or not (one.weaker or one.left_out), name
