"""Public queries, converted rules and the shared checks, where the shared folder is there."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from vedette.errors import QueryError
from vedette.model.address import pack_address
from vedette.model.binary_fields import BINARY, BINARY_LISTS, JOINED_FIELDS
from vedette.model.fields import PROCESS
from vedette.model.tokens import cmdline_tokens
from vedette.query import (
    Tree,
    check,
    compile_match,
    compile_segments,
    match_segment,
    parse,
    parse_stored,
    print_query,
)
from vedette.query.compile.document import BINARY as BINARY_DOCUMENT
from vedette.query.match import Prepared, binaries_by_hash

SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).parents[4] / "shared"))
QUERIES = SHARED / "data" / "queries"
NOW_US = 1_700_000_000_000_000
MD5 = "ab" * 16

pytestmark = pytest.mark.skipif(not QUERIES.is_dir(), reason="the shared folder is absent")

OTHER_SEARCHES = (
    "alert_severity",
    "alert_type",
    "assigned_to",
    "created_time",
    "endpoint",
    "process_path",
    "status",
    "title",
    "watchlist_id",
    "watchlist_name",
    "report_score",
    "feed_name",
    "feed_id",
    "tags",
    "description",
    "host_count",
)
"""Fields of binary, alert and report search, which process search does not know."""

NOT_FIELDS = ("digsig_result_filemod", "url", "sha1")
"""Names that no search knows, in public queries (docs/query-language.md#quotes-and-backslashes)."""

REGULAR_EXPRESSIONS = 6
"""Converted rules that hold a regular expression, which is no query."""


def lines(name: str) -> list[str]:
    return (QUERIES / name).read_text(encoding="utf-8").splitlines()


def queries(name: str) -> list[str]:
    """The queries of a file of public queries or of converted rules."""
    return [line.split("\t", 2)[-1] for line in lines(name)]


def test_public_queries_parse_and_keep_their_meaning_in_print() -> None:
    unknown = {f"unknown field {name!r}" for name in (*OTHER_SEARCHES, *NOT_FIELDS)}
    for text in queries("public.txt"):
        tree = parsed(text)
        if isinstance(tree, QueryError):
            assert tree.message.split(";")[0] in unknown, text
        else:
            assert parse(print_query(tree)) == tree, text


def parsed(text: str) -> Tree | QueryError:
    try:
        return parse(text)
    except QueryError as error:
        return error


def test_stored_queries_parse() -> None:
    refused = []
    for text in lines("urlencoded.txt"):
        try:
            parse_stored(text)
        except QueryError as error:
            refused.append(error.message.split("'")[1])
    assert set(refused) <= set(OTHER_SEARCHES)


@pytest.mark.parametrize("name", ["sigma.txt", "sigma_fixed.txt"])
def test_converted_rules_parse_except_regular_expressions(name: str) -> None:
    trees = {text: parsed(text) for text in queries(name)}
    failed = [text for text, tree in trees.items() if isinstance(tree, QueryError)]
    assert len(failed) == REGULAR_EXPRESSIONS
    assert all(re.search(r"\(\?|\{\d|\\s", text) for text in failed)
    for text, tree in trees.items():
        if not isinstance(tree, QueryError):
            assert parse(print_query(tree)) == tree, text


def test_converted_rules_compile_quickly_and_match() -> None:
    """The largest rules: a thousand leaves and more. Alone they take a tenth of what is allowed."""
    rules = [text for text in queries("sigma_fixed.txt") if "product_name" not in text]
    for text in sorted(rules, key=len)[-5:]:
        best_s = min(_seconds(text) for _ in range(3))
        assert best_s < 3, (best_s, text[:80])


def _seconds(text: str) -> float:
    began = time.perf_counter()
    checked = check(parse(text), now_us=NOW_US)
    compile_segments(checked)
    compile_match(checked)(Prepared({}))
    return time.perf_counter() - began


ARRAYS = {
    "filemod": "filemod_path",
    "modload": "modload_path",
    "regmod": "regmod_path",
    "domain": "netconn_domain",
    "ipaddr": "netconn_remote_ip",
    "ipv6addr": "netconn_remote_ip",
}


def segment(document: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in document.items():
        column = ARRAYS.get(name)
        if column == "netconn_remote_ip":
            found[column] = [pack_address(value)]
        elif column is not None:
            found[column] = [value]
        elif name.endswith("_count"):
            found[name] = int(value)
        else:
            found[name] = value
    if "cmdline" in found:
        found["cmdline_tokens"] = cmdline_tokens(found["cmdline"])
    return found


def is_ours(check_: dict[str, Any]) -> bool:
    """Whether the check is about a field that a segment answers."""
    fields = (PROCESS.find(name) for name in check_["doc"])
    return all(field is not None and field.kind == "column" for field in fields) and (
        "alliance_" not in check_["query"] and "status:" not in check_["query"]
    )


def test_every_shared_check_of_process_search_holds() -> None:
    held = 0
    for line in lines("vectors.jsonl"):
        checked = json.loads(line)
        if not is_ours(checked):
            continue
        tree = check(parse(checked["query"]), now_us=NOW_US)
        assert match_segment(tree, segment(checked["doc"])) is checked["match"], line
        held += 1
    assert held >= 82


def of_binaries() -> list[dict[str, Any]]:
    """The checks about binaries."""
    found = [json.loads(line) for line in lines("vectors.jsonl")]
    names = {name for name, _, _ in JOINED_FIELDS}
    return [one for one in found if one["doc"] and names.issuperset(one["doc"])]


def binary(document: dict[str, str]) -> dict[str, Any]:
    lists = {name: [value] for name, value in document.items() if name in BINARY_LISTS}
    return {"hash": MD5, "md5": MD5, **document, **lists}


def test_every_shared_check_of_binary_search_holds() -> None:
    for one in of_binaries():
        tree = check(parse(one["query"], BINARY), BINARY, now_us=NOW_US)
        document = Prepared(binary(one["doc"]), document=BINARY_DOCUMENT)
        assert compile_match(tree)(document) is one["match"], one


def test_every_shared_check_of_binaries_holds_for_the_processes_that_run_them() -> None:
    held = 0
    for one in of_binaries():
        if one["query"].endswith(" .sys"):
            continue  # a word without a field asks no binary
        tree = check(parse(one["query"]), now_us=NOW_US)
        runs = Prepared({"process_md5": MD5}, binaries_by_hash([binary(one["doc"])]))
        assert compile_match(tree)(runs) is one["match"], one
        assert not compile_match(tree)(Prepared({"process_md5": MD5}))
        held += 1
    assert held >= 6
