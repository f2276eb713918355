"""Log sources of rules: records of each are decoded and fire a rule."""

import json

import pytest

from tests.unit.ingest.decode.test_app_log import AUDIT, CANARY
from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.windows import channels_of, event_of_record
from vedette.ingest import channels
from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.record import Record

WINDOWS = [
    ("service: winrm", channels.WINRM, 6),
    ("service: terminalservices-rdpclient", channels.RDP_CLIENT, 1024),
    ("service: terminalservices-remoteconnectionmanager", channels.REMOTE_DESKTOP, 1149),
    ("service: dhcp", channels.DHCP_SERVER, 1033),
    ("service: bitlocker", channels.BITLOCKER, 768),
    ("service: smbserver-audit", channels.SMB_SERVER_AUDIT, 3000),
    ("service: smbclient-audit", channels.SMB_CLIENT_AUDIT, 31998),
    ("service: application-experience", channels.APP_TELEMETRY, 500),
    ("service: sense", channels.SENSE, 1),
    ("category: ps_classic_script", channels.POWERSHELL_CLASSIC, 800),
    ("category: file_delete_detected", channels.SYSMON, 26),
]


def rules_of(logsource: str, detection: str) -> RuleSet:
    text = f"title: A test\nlogsource:\n{logsource}detection:\n{detection}"
    loaded = load_rules(text, "r.yml")
    assert loaded.problems == ()
    return RuleSet(loaded.rules)


@pytest.mark.parametrize(("source", "channel", "event_id"), WINDOWS)
def test_records_of_a_windows_log_fire_rules_about_it(
    source: str, channel: str, event_id: int
) -> None:
    rules = rules_of(f"  product: windows\n  {source}\n", "  a:\n    Data: x\n  condition: a\n")
    record = Record("windows", "h", 5, channel, event_id, data={"Data": "x"})
    assert rules.firing(event_of_record(record))
    other = Record("windows", "h", 5, channels.SYSTEM, event_id, data={"Data": "x"})
    assert not rules.firing(event_of_record(other))


def test_calls_that_rpc_firewall_reports_fire_rules_about_it() -> None:
    rules = rules_of(
        "  product: rpc_firewall\n  category: application\n",
        "  a:\n    EventLog: RPCFW\n    EventID: 3\n"
        "    InterfaceUuid: 1ff70682-0a51-30e8-076d-740be8cee98b\n    OpNum: [0, 1]\n"
        "  condition: a\n",
    )
    values = (
        "call",
        "7",
        "a.exe",
        "tcp",
        "135",
        "::1",
        "1FF70682-0A51-30E8-076D-740BE8CEE98B",
        "1",
    )
    data = {f"param{number}": value for number, value in enumerate(values, 1)}
    record = Record("windows", "h", 5, channels.RPC_FIREWALL, 3, data=data)
    assert rules.firing(event_of_record(record))


LINES = [
    (
        "category: webserver",
        "cs-method: GET\n    cs-uri-query|contains: '/vpns/'\n    sc-status: 200",
        '10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "GET /vpn/../vpns/x HTTP/1.1" 200 5 "-" "-"',
        "web_access",
    ),
    (
        "service: nginx",
        "message|contains: core dumped",
        "2026/11/30 12:00:00 [alert] 1#1: worker exited on signal 6 (core dumped)",
        "nginx_error",
    ),
    (
        "service: apache",
        "message|contains: Segmentation",
        "[Mon Nov 30 12:00:00.000000 2026] [core:notice] [pid 1] exit signal Segmentation Fault",
        "apache_error",
    ),
    *(
        (
            f"product: linux\n  service: {service}",
            "message|contains: denied",
            f"2026-11-30T12:00:00Z web1 {program}[7]: denied",
            channel,
        )
        for service, program, channel in (
            ("sshd", "sshd", "sshd"),
            ("auth", "sshd", "sshd"),
            ("auth", "pkexec", "auth"),
            ("sudo", "sudo", "sudo"),
            ("cron", "crontab", "cron"),
            ("clamav", "clamd", "clamav"),
            ("vsftpd", "vsftpd", "vsftpd"),
            ("guacamole", "guacd", "guacamole"),
            ("syslog", "named", "syslog"),
        )
    ),
]


@pytest.mark.parametrize(("source", "test", "line", "channel"), LINES)
def test_lines_of_a_text_log_fire_rules_about_it(
    source: str, test: str, line: str, channel: str
) -> None:
    rules = rules_of(f"  {source}\n", f"  a:\n    {test}\n  condition: a\n")
    (piece,) = split_body(line.encode(), "web1")
    (record,) = decode(piece)
    assert record.channel == channel
    assert rules.firing(event_of_record(record))
    (rule,) = rules.rules
    reached = channels_of(rule.sources)
    assert reached is not None
    assert channel in reached
    other = Record("windows", "h", 5, channels.SYSTEM, 1, data=record.data)
    assert not rules.firing(event_of_record(other))


def test_keywords_are_found_in_the_line_of_a_daemon() -> None:
    text = (
        "title: A test\nlogsource:\n  product: linux\n  service: auth\ndetection:\n"
        "  keywords:\n    '|all':\n      - pkexec\n      - 'contains suspicious content'\n"
        "  condition: keywords\n"
    )
    rules = RuleSet(load_rules(text, "r.yml").rules)
    line = "<13>1 2026-11-30T12:00:00Z web1 pkexec 77 - - It contains suspicious content"
    (record,) = decode(split_body(line.encode())[0])
    assert rules.firing(event_of_record(record))


@pytest.mark.parametrize(
    ("source", "test", "sent"),
    [
        (
            "product: kubernetes\n  category: application\n  service: audit",
            "verb: create\n    objectRef.resource: pods\n    hostPath: '*'",
            AUDIT | {"hostname": "node-1"},
        ),
        (
            "product: kubernetes\n  service: audit",
            "responseStatus.code: [201, 403]",
            AUDIT | {"hostname": "node-1"},
        ),
        ("product: opencanary\n  category: application", "logtype: 4002", CANARY),
    ],
)
def test_events_of_an_application_fire_rules_about_it(
    source: str, test: str, sent: dict[str, object]
) -> None:
    rules = rules_of(f"  {source}\n", f"  a:\n    {test}\n  condition: a\n")
    (record,) = decode(json.dumps(sent).encode())
    assert rules.firing(event_of_record(record))
    (rule,) = rules.rules
    reached = channels_of(rule.sources)
    assert reached is not None
    assert record.channel in reached
