"""`kill -9` at random moments while rules fire: each alert that is due exists exactly once."""

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.fault.crash import launched
from tests.fault.rounds import rounds, seeded
from tests.fault.senders import Sender, drain, lasting_token, sending
from tests.support.served import Server, listening, wait_for

ROUNDS = 3
LONG = 100
BATCH_S = 0.12 * rounds(ROUNDS, LONG)
"""Between two batches of a sender: more alerts of one rule in an hour would be a storm."""

FOLLOWED_S = 2.5
"""Two looks at what was committed."""

_READ = "vedette_rule_hits_total "

RULES = """title: A shell of the test starts
id: 11111111-1111-4111-8111-111111111111
logsource: {product: windows, category: process_creation}
detection:
  a:
    Image|endswith: \\shell.exe
    ParentImage|endswith: \\writer.exe
  condition: a
---
title: A group of the test is listed
id: 22222222-2222-4222-8222-222222222222
name: group_listed
logsource: {product: windows, service: security}
detection:
  a:
    EventID: 4799
  condition: a
---
title: Many groups of the test are listed
id: 33333333-3333-4333-8333-333333333333
correlation:
  type: event_count
  rules: [group_listed]
  group-by: [TargetUserName]
  timespan: 1d
  generate: true
  condition:
    gte: 2
"""

_ALERTS = """
import json, sys
from pathlib import Path
from vedette.store.engine.open import open_engine
engine = open_engine(Path(sys.argv[1]))
rows = engine.query(
    "SELECT source_id, event['CommandLine'], event['TargetUserName'], count() "
    "FROM alert FINAL WHERE source_kind = 'rule' GROUP BY ALL"
).rows
print(json.dumps([list(row) for row in rows]))
engine.close()
"""


class Starter(Sender):
    """Each batch starts one shell, and lists the groups of one account twice."""

    def deliver(self, client: object) -> None:
        time.sleep(BATCH_S)
        super().deliver(client)  # type: ignore[arg-type]

    def _body(self) -> bytes:
        shell = self.host.process(
            5_000 + self.batch, "C:\\shell.exe", self.command(self.batch), self.batch
        )
        records = [self.host.created(shell, self.process)]
        for _ in range(2):
            listed = self.host.record(
                4799, shell.started_s, TargetUserName=self.account(self.batch)
            )
            listed["winlog"] |= {
                "channel": "Security",
                "provider_name": "Microsoft-Windows-Security-Auditing",
            }
            records.append(listed)
        return b"".join(b'{"create":{}}\n' + json.dumps(one).encode() + b"\n" for one in records)

    def command(self, batch: int) -> str:
        return f"shell {self.name} {batch}"

    def account(self, batch: int) -> str:
        return f"{self.name}-{batch}"


def alerts(data: Path) -> Counter[tuple[str, str, str]]:
    """The alerts of rules in the store of a stopped server: rule, command, account."""
    command = [sys.executable, "-c", _ALERTS, str(data / "telemetry")]
    reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Counter({(rule[:8], line, who): n for rule, line, who, n in json.loads(reported)})


def add_rules(server: Server) -> None:
    with server.analyst() as client:
        answer = client.post("/api/v1/sigma", json={"text": RULES})
        assert [one["change"] for one in answer.json()["results"]] == ["added"] * 3, answer.text


def read_hits(server: Server) -> float:
    """Hits that became alerts since the server began."""
    with server.analyst() as client:
        lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(_READ))


def test_every_alert_that_is_due_exists_once(tmp_path: Path) -> None:
    dice = seeded()
    senders = [Starter(f"detected-{n}.example", numbered=True) for n in range(3)]
    token = ""
    for _ in range(rounds(ROUNDS, LONG)):
        with launched(tmp_path) as process:
            server = listening(tmp_path, process)
            if not token:
                token = lasting_token(server)
                add_rules(server)
            with sending(list(senders), replace(server, ingest_token=token)):
                time.sleep(dice.uniform(0.0, 3.0))
                process.kill()
        with launched(tmp_path):
            time.sleep(dice.uniform(0.5, 4.0))
    with launched(tmp_path) as process:
        server = listening(tmp_path, process)
        drain(list(senders), replace(server, ingest_token=token))

        def is_done() -> bool:
            before = read_hits(server)
            time.sleep(FOLLOWED_S)
            return read_hits(server) == before

        assert wait_for(is_done, True, 60)
        process.terminate()
        process.wait(60)
    due: Counter[tuple[str, str, str]] = Counter()
    for sender in senders:
        assert sender.refused == []
        for batch in range(sender.batch):
            due["11111111", sender.command(batch), ""] += 1
            due["22222222", "", sender.account(batch)] += 2
            due["33333333", "", sender.account(batch)] += 1
    found = alerts(tmp_path)
    assert (due - found, found - due) == (Counter(), Counter())
    assert len(due) > 3 * ROUNDS
