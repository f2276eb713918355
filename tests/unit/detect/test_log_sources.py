"""Log sources of rules: records of each are decoded and fire a rule."""

import pytest

from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.windows import event_of_record
from vedette.ingest import channels
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
