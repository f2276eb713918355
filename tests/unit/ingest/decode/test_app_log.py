"""JSON logs of applications: audit events of Kubernetes, events of OpenCanary."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.record import Record, RecordError

AUDIT: dict[str, Any] = {
    "kind": "Event",
    "apiVersion": "audit.k8s.io/v1",
    "auditID": "7e0cbccf-8d8a-4f5f-aefb-60b8af2d2ad5",
    "stage": "ResponseComplete",
    "requestURI": "/api/v1/namespaces/default/pods",
    "verb": "create",
    "user": {"username": "jane", "groups": ["dev", "system:authenticated"]},
    "objectRef": {"resource": "pods", "namespace": "default", "apiGroup": "apps"},
    "responseStatus": {"code": 201},
    "requestObject": {
        "spec": {
            "volumes": [{"name": "root", "hostPath": {"path": "/", "type": ""}}],
            "containers": [{"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}],
        }
    },
    "requestReceivedTimestamp": "2026-11-30T12:00:00.000000Z",
}
CANARY: dict[str, Any] = {
    "dst_host": "10.0.0.5",
    "dst_port": 22,
    "local_time": "2026-11-30 13:00:00.000000",
    "logdata": {"USERNAME": "root", "PASSWORD": "x"},
    "logtype": 4002,
    "node_id": "canary-1",
    "src_host": "10.0.0.9",
    "src_port": 40000,
    "utc_time": "2026-11-30 12:00:00.000000",
}
NOON_US = 1_796_040_000_000_000


def record_of(obj: dict[str, Any], host: str = "") -> Record:
    (record,) = decode(json.dumps(obj).encode(), host)
    return record


def test_an_audit_event_of_kubernetes_has_dotted_members() -> None:
    record = record_of(AUDIT | {"hostname": "node-1"})
    assert (record.vedette_record, record.channel) == ("log", "kubernetes_audit")
    assert (record.host, record.time_us) == ("node-1", NOON_US)
    expected = {
        "verb": "create",
        "objectRef.resource": "pods",
        "responseStatus.code": "201",
        "user.groups": "dev system:authenticated",
        "apiGroup": "apps",
        "hostPath": "/ ",
        "capabilities": "SYS_ADMIN",
    }
    assert {name: record.data[name] for name in expected} == expected
    assert "hostname" not in record.data


def test_an_event_of_opencanary_is_of_its_node() -> None:
    record = record_of(CANARY)
    assert (record.channel, record.host, record.time_us) == ("opencanary", "canary-1", NOON_US)
    assert record.data["logtype"] == "4002"
    assert record.data["logdata.USERNAME"] == "root"


def test_an_event_in_the_text_of_a_shipper_is_recognised() -> None:
    sent = {"message": json.dumps(AUDIT), "host": {"name": "node-2"}}
    assert record_of(sent).host == "node-2"


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        (AUDIT, "no_host"),
        (CANARY | {"utc_time": "x", "local_time": 0}, "no_time"),
        (AUDIT | {"apiVersion": "apps/v1"}, "unknown_format"),
        ({"logtype": 5}, "unknown_format"),
    ],
)
def test_what_is_missing_is_said(obj: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordError) as refused:
        decode(json.dumps(obj).encode())
    assert refused.value.reason == reason
