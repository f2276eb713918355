"""Real senders, unmodified, into `_bulk` over HTTPS (docs/telemetry-formats.md#protocols)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.flow import laurel
from tests.flow.conftest import ONE_SERVER
from tests.support.rsyslog import NEEDED as RSYSLOG_NEEDED
from tests.support.rsyslog import rsyslog
from tests.support.served import Server, wait_for
from tests.support.sysmon import story

pytestmark = ONE_SERVER


def total(client: httpx.Client, query: str) -> int:
    answer = client.get("/api/v1/process", params={"q": query, "rows": 0})
    assert answer.status_code == 200, answer.text
    found: int = answer.json()["total_results"]
    return found


def actions(records: list[dict[str, Any]], verb: str = "create") -> list[dict[str, Any]]:
    return [{"_op_type": verb, "_index": "winlogbeat", "_source": record} for record in records]


@pytest.fixture
def elastic(server: Server) -> Iterator[Any]:
    from elasticsearch import Elasticsearch

    with Elasticsearch(
        server.url, ca_certs=str(server.certificate), bearer_auth=server.ingest_token
    ) as client:
        yield client


@pytest.mark.parametrize("verb", ["create", "index"])
def test_the_elasticsearch_client_delivers_in_bulk(server: Server, elastic: Any, verb: str) -> None:
    from elasticsearch import helpers

    tale = story(f"elastic-{verb}.corp.example")
    stored, errors = helpers.bulk(elastic, actions(tale.records, verb))
    assert (stored, errors) == (len(tale.records), [])
    with server.analyst() as client:
        assert total(client, f"hostname:{tale.host.name} process_name:powershell.exe") == 1


def test_the_elasticsearch_client_is_notified_of_each_bad_record(elastic: Any) -> None:
    from elasticsearch import helpers

    tale = story("elastic-bad.corp.example")
    records = [tale.records[0], {"nothing": "known"}, *tale.records[1:]]
    outcomes = list(helpers.streaming_bulk(elastic, actions(records), raise_on_error=False))
    assert [ok for ok, _ in outcomes] == [True, False, *[True] * (len(records) - 2)]
    assert outcomes[1][1]["create"]["status"] == 400
    assert outcomes[1][1]["create"]["error"]["reason"]


def test_the_elasticsearch_client_sees_a_repeated_batch_as_delivered(elastic: Any) -> None:
    from elasticsearch import helpers

    tale = story("elastic-twice.corp.example")
    for _ in range(2):
        assert helpers.bulk(elastic, actions(tale.records))[0] == len(tale.records)


def test_the_elasticsearch_client_shakes_hands_with_each_credential(server: Server) -> None:
    from elasticsearch import Elasticsearch

    for credential in (
        {"bearer_auth": server.ingest_token},
        {"basic_auth": ("winlogbeat", server.ingest_token)},
        {"api_key": ("", server.ingest_token)},
    ):
        with Elasticsearch(server.url, ca_certs=str(server.certificate), **credential) as client:
            assert client.info()["tagline"] == "You Know, for Search"


def test_the_elasticsearch_client_is_refused_without_a_credential(server: Server) -> None:
    from elasticsearch import AuthenticationException, Elasticsearch

    with (
        Elasticsearch(server.url, ca_certs=str(server.certificate)) as client,
        pytest.raises(AuthenticationException),
    ):
        client.info()


@RSYSLOG_NEEDED
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_rsyslog_delivers_audit_events(server: Server, tmp_path: Path) -> None:
    node = "rsyslog-host.corp.example"
    records = [
        laurel.execution(node, 100 + n, 4000 + n, "/usr/bin/curl", ["curl", f"u{n}"], n / 10)
        for n in range(25)
    ]
    source = tmp_path / "audit.json"
    source.write_text(laurel.lines(records))
    with rsyslog(server, tmp_path, source) as errors, server.analyst() as client:
        asked = f"hostname:{node} process_name:curl"
        assert wait_for(lambda: total(client, asked), len(records)) == len(records)
    assert not errors.exists() or errors.read_text() == ""
