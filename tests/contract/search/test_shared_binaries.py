"""The shared checks about binaries hold for stored ones, in binary search and for the processes
that run them, where the shared folder is there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract.store.rows import partial, store
from vedette.model.binary_fields import JOINED_FIELDS
from vedette.model.event import BinarySeen
from vedette.model.scope import EVERYTHING
from vedette.search.binaries import binary_search
from vedette.search.processes.process_search import search_processes
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.web.processes.search_parameters_json import search_request

SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).parents[4] / "shared"))
VECTORS = SHARED / "data" / "queries" / "vectors.jsonl"
NOW_US = 1_700_000_000_000_000

pytestmark = pytest.mark.skipif(not VECTORS.is_file(), reason="the shared folder is absent")


def checks() -> list[dict[str, Any]]:
    names = {name for name, _, _ in JOINED_FIELDS}
    found = map(json.loads, VECTORS.read_text(encoding="utf-8").splitlines())
    return [one for one in found if one["doc"] and names.issuperset(one["doc"])]


def store_binary(engine: ClickHouseEngine, number: int, document: dict[str, str]) -> str:
    """The document as a binary, and a process that runs it."""
    md5 = f"{number:032x}"
    values = {name: value for name, value in document.items() if name != "observed_filename"}
    seen = BinarySeen(NOW_US, md5, "", "", document.get("observed_filename", ""), values)
    row = BinaryRow(1, "ws-1", "G", "windows", seen, NOW_US, 1)
    write_commit(engine, Commit(binaries=[row]))
    store(engine, partial(number, process_md5=md5, last_update=NOW_US))
    return md5


def test_every_shared_check_holds_for_what_is_stored(engine: ClickHouseEngine) -> None:
    found = checks()
    stored = [store_binary(engine, number, one["doc"]) for number, one in enumerate(found, 1)]
    assert len(stored) >= 7
    for one, md5 in zip(found, stored, strict=True):
        asked = search_request(
            [("q", one["query"]), ("rows", "100")], binary_search.BINARY_SORT_DEFAULT
        )
        binaries = binary_search.search(engine, EVERYTHING, asked, Settings(), NOW_US)
        assert (md5 in {row["md5"] for row in binaries.rows}) is one["match"], one
        if one["query"].endswith(" .sys"):
            continue  # a word without a field asks no binary
        asked = search_request([("q", one["query"]), ("rows", "100")])
        processes = search_processes(engine, EVERYTHING, asked, Settings(), NOW_US)
        assert (md5 in {row["process_md5"] for row in processes.rows}) is one["match"], one
