"""An upgrade of one server after the other, under load: the next version brings both schemas
forward, and the servers of this one go on with them."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import vedette
from tests.fault.detected import Starter
from tests.fault.senders import Sender
from tests.fault.test_servers import check_all, load, watch_shells
from tests.support.served import STOP_S, wait_for
from tests.support.server_cluster import Member, server_cluster

PACKAGE = Path(vedette.__file__).parent
ALONGSIDE_S = 3.0
"""For which both versions run."""

MIGRATION = '''"""What a later version adds."""

import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("server", sa.Column("next_note", sa.Text(), server_default="", nullable=False))
    op.create_table("next_table", sa.Column("id", sa.Integer(), primary_key=True))
'''
STEP = """
    Step(
        {version},
        "what a later version adds",
        lambda capabilities: tuple(
            f"ALTER TABLE `{{table}}`{{capabilities.on_cluster}} "
            "ADD COLUMN IF NOT EXISTS next_note String"
            for table in dict.fromkeys((capabilities.storage("segment"), "segment"))
        ),
    ),"""


def next_version(folder: Path) -> Path:
    """A copy of the program that has one more migration and one more step of the telemetry's
    schema; the folder that it is imported from."""
    package = folder / "vedette"
    shutil.copytree(PACKAGE, package)
    versions = package / "state" / "migrations" / "versions"
    before = max(path.name[:4] for path in versions.glob("[0-9]*.py"))
    number = f"{int(before) + 1:04d}"
    (versions / f"{number}_next.py").write_text(MIGRATION.format(number=number, before=before))
    tables, upgrade = package / "store/schema/tables.py", package / "store/schema/upgrade.py"
    found = re.search(r"^SCHEMA_VERSION = (\d+)$", tables.read_text(), re.M)
    assert found
    version = int(found[1]) + 1
    tables.write_text(tables.read_text().replace(found[0], f"SCHEMA_VERSION = {version}"))
    text = upgrade.read_text()
    begins = text.index("STEPS: Final")
    ends = text.index("\n)\n", begins)
    upgrade.write_text(text[:ends] + STEP.format(version=version) + text[ends:])
    return folder


class NextVersion:
    """A server of the copy; as much of a `Forked` as a `Member` needs."""

    def __init__(self, member: Member, folder: Path) -> None:
        words = [sys.executable, "-m", "vedette", "serve", "--data", str(member.data)]
        own = {name: text for name, text in os.environ.items() if not name.startswith("VEDETTE_")}
        with (member.data / "server.log").open("ab") as output:
            self._process = subprocess.Popen(
                [*words, *member.flags],
                cwd=folder,
                env=own | {"VEDETTE_STARTER_RULES": "false", "PYTHONPATH": str(folder)},
                stdout=output,
                stderr=output,
            )
        self.pid = self._process.pid
        self.terminate, self.kill = self._process.terminate, self._process.kill
        self.poll, self.wait = self._process.poll, self._process.wait


def test_servers_of_two_versions_work_side_by_side(tmp_path: Path) -> None:
    later = next_version(tmp_path / "next")
    plain = [Sender(f"upgraded-{n}.example", numbered=n % 2 == 0) for n in range(4)]
    starters = [Starter("noticed.example", numbered=True)]
    with server_cluster(tmp_path, 2) as cluster:
        cluster.start()
        watch_shells(cluster)
        token = cluster.ingest_token()
        assert wait_for(cluster.is_shared_out, True, 30)
        with load([*plain, *starters], cluster, token):
            for member in reversed(cluster.members):
                time.sleep(ALONGSIDE_S)
                member.stop()
                member.process = NextVersion(member, later)  # type: ignore[assignment]
                member.wait()
                assert wait_for(cluster.is_shared_out, True, 30)
        columns = cluster.front.ask(
            "SELECT count() FROM system.columns WHERE table = 'segment' AND name = 'next_note'"
        )
        assert int(columns[0][0]) == 1
        check_all(cluster, plain, starters, token)
        cluster.members[0].stop()
        cluster.members[0].launch()
        assert cluster.members[0].process is not None
        assert cluster.members[0].process.wait(STOP_S) != 0
        assert "is of a newer version of Vedette" in cluster.members[0].log
