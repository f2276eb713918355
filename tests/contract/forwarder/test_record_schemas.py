"""The forms of records: OCSF that its schema accepts, and Parquet whose files fit together."""

import io
import json
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

from tests.contract.alerting.detections import detection
from tests.contract.forwarder.conftest import Here
from tests.contract.forwarder.test_record_types import EVENTS, hit, only
from tests.contract.store.rows import child, file, process_id
from tests.support.object_store import RealBucket
from vedette.forwarder.parquet_file import COLUMN_TYPES
from vedette.forwarder.record_files import Forwarded, record_files
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Crossproc, Dnsquery, Filemod, Netconn, ProcessEvent, Regmod
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import FileFormat, RecordSchema
from vedette.web.forwarding.ocsf_records_json import OCSF_EVENTS

ODD_EVENTS: tuple[ProcessEvent, ...] = (
    *(Filemod(process_id(1), 2_000, operation, "c:\\x") for operation in (2, 4, 8, 99)),
    *(Regmod(process_id(1), 2_000, operation, "registry\\x", "") for operation in (1, 4, 8, 99)),
    Crossproc(process_id(1), 2_000, 2, process_id(9), "", is_target=1),
    Crossproc(process_id(1), 2_000, 99, process_id(9), "/bin/x"),
    Dnsquery(process_id(1), 2_000, "", 9_003, ""),
    Netconn(process_id(1), 2_000, 0, 0, bytes(16), 0, bytes(16), 0, ""),
)
"""Edge cases that hosts report: unknown operations, empty strings, no addresses."""


@cache
def _schemas() -> OcsfJsonSchemaEmbedded:
    return OcsfJsonSchemaEmbedded(get_ocsf_schema("1.5.0"))


@cache
def _validator(class_uid: int, profiles: tuple[str, ...]) -> Draft202012Validator:
    name = _schemas().lookup_class_name_from_uid(class_uid)
    if class_uid >= 200_000:
        name = f"win/{name}"
    return Draft202012Validator(_schemas().get_class_schema(name, list(profiles)))


def faults(record: dict[str, Any]) -> list[str]:
    """Why the schema does not accept a record."""
    profiles = tuple(record["metadata"].get("profiles", ()))
    return [
        f"{record['class_uid']} {one.json_path}: {one.message[:200]}"
        for one in _validator(record["class_uid"], profiles).iter_errors(record)
    ]


def test_every_record_has_an_ocsf_form(here: Here) -> None:
    assert {kind.name for kind in EVENT_KINDS} == OCSF_EVENTS
    one = here.add(types=("alert", "watchlist.hit", "endpoint.event"), record_schema="ocsf")
    here.commit(1, *EVENTS, hostname="ws-1", os_type="windows", path="c:\\p.exe")
    here.detect([hit(1), detection(2, seq=2)])
    here.run(lambda: all(s.records for s in forwarders.streams(here.database, one.id)))
    records = here.records()
    classes = sorted(record["class_uid"] for record in records)
    assert classes == [
        1001,
        1001,
        1005,
        1007,
        1007,
        1007,
        1009,
        2004,
        2004,
        2004,
        4001,
        4003,
        201002,
    ]
    for record in records:
        assert record["type_uid"] == record["class_uid"] * 100 + record["activity_id"]
        assert record["category_uid"] == record["class_uid"] // 1000 % 100
        assert record["metadata"]["version"] == "1.5.0"
        assert isinstance(record["time"], int)
    findings = [record for record in records if record["class_uid"] == 2004]
    assert {record["finding_info"]["title"] for record in findings} == {"Encoded PowerShell"}
    launched = [record for record in records if record["type_uid"] == 100701]
    assert launched[0]["actor"]["process"]["file"]["name"] == "p.exe"


@pytest.mark.parametrize("os_type", ["windows", "linux", "osx", "", "amiga"])
def test_the_schema_of_ocsf_accepts_every_record(here: Here, os_type: str) -> None:
    one = here.add(types=("alert", "watchlist.hit", "endpoint.event"), record_schema="ocsf")
    texts = {"cmdline": "p -x", "username": "CORP\\anna", "process_md5": "a" * 32}
    here.commit(1, *EVENTS, hostname="ws-1", os_type=os_type, path="c:\\p.exe", **texts)
    here.commit(2, *ODD_EVENTS)
    here.detect([hit(1), hit(2, matched={"ioc": "x"}), detection(3, seq=2, techniques=())])
    here.run(lambda: all(s.records for s in forwarders.streams(here.database, one.id)))
    records = here.records()
    assert len(records) == len(EVENTS) + len(ODD_EVENTS) + 5
    found = [fault for record in records for fault in faults(record)]
    assert not found, "\n".join(found)


def test_parquet_has_a_column_for_each_member(here: Here, bucket: RealBucket) -> None:
    one = here.add(destination=bucket.destination(), file_format="parquet")
    ids = here.write(25)
    here.run(lambda: here.stream(one).records == 25)
    ((key, content),) = bucket.objects().items()
    assert key.endswith(".parquet")
    table = pq.read_table(io.BytesIO(content))
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == ids
    assert {row["severity"] for row in rows} == {8}
    assert json.loads(rows[0]["workflow"])["status"] == "OPEN"
    assert rows[0]["alert_notes_present"] is False


@pytest.mark.parametrize("schema", ["native", "ocsf"])
def test_every_column_of_parquet_has_the_type_of_its_name(here: Here, schema: RecordSchema) -> None:
    one = here.add(types=("alert", "watchlist.hit", "endpoint.event"), record_schema=schema)
    here.commit(1, *EVENTS, hostname="ws-1", os_type="windows", process_pid=7)
    here.detect([hit(1), detection(2, seq=2)])
    here.run(lambda: all(s.records for s in forwarders.streams(here.database, one.id)))
    kinds = {int: pa.int64(), bool: pa.bool_()}
    for record in here.records():
        for name, value in record.items():
            assert COLUMN_TYPES.get(name) == kinds.get(type(value)), (name, value)


def test_files_of_parquet_are_read_together(here: Here) -> None:
    one = only(here, file_format="parquet")
    for events in ([file("a")], [child(7)], [file("b"), child(8)]):
        here.commit(1, *events)
        here.run(lambda: here.stream(one).position == here.seq)
    paths = sorted(here.root.rglob("*.parquet"))
    assert len(paths) == 3
    schema = pa.unify_schemas([pq.read_schema(path) for path in paths])
    table = ds.dataset(paths, schema=schema).to_table()
    assert sorted(filter(None, table["filemod_path"].to_pylist())) == ["a", "b"]
    assert table["process_pid"].type == pa.int64()


@pytest.mark.parametrize("file_format", ["jsonl", "parquet"])
def test_texts_that_utf_8_has_no_bytes_for_hold_up_nothing(file_format: FileFormat) -> None:
    body = {"id": "1", "text": "a\ud800b", "more": {"big": 2**70, "list": ["\udfff"]}}
    (made,) = record_files([Forwarded(1, 1, body)], lambda _: "", file_format)
    assert made.records == 1
    assert made.content.body
