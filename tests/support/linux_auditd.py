"""auditd, laurel and rsyslog as an operator runs them, in a folder of their own.

auditd is started by hand with its own configuration, never as the machine's service; its rules
watch one user. Installing Debian's `auditd` starts nothing where there is no service manager,
and the tests skip where a daemon already owns the audit system.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.linux_sensor import TIMEOUT_S, UID, audit_state, program
from tests.support.served import wait_for
from vedette.sensor.kernel.audit import AuditControl

_KEY = "operator"
_RULES = (
    "-S execve,execveat -F success=1",
    "-S connect -F a2=0x10",
    "-S openat,open,creat -F success=1 -F a2&0x43",
    "-S unlink,unlinkat,rename,renameat,renameat2 -F success=1",
)


def auditd_settings(folder: Path, node: str) -> Path:
    """A folder from which auditd can be started, with laurel as its plugin."""
    folder.mkdir()
    _add_laurel(folder)
    log = folder / "audit.log"
    (folder / "auditd.conf").write_text(
        f"local_events = yes\nwrite_logs = yes\nlog_file = {log}\nlog_group = root\n"
        f"log_format = RAW\nflush = NONE\nname_format = USER\nname = {node}\n"
        f"plugin_dir = {folder / 'plugins.d'}\nspace_left = 1\nadmin_space_left = 0\n"
        "space_left_action = IGNORE\nadmin_space_left_action = IGNORE\n"
        "disk_full_action = IGNORE\ndisk_error_action = IGNORE\nmax_log_file = 100\n"
    )
    return folder


@contextmanager
def auditd(folder: Path, node: str) -> Iterator[Path]:
    """A running auditd with laurel as its plugin; yields laurel's log. Afterwards the audit
    system is as it was."""
    auditd_settings(folder, node)
    control = AuditControl()
    before = control.status()
    with (folder / "auditd.out").open("wb") as output:
        process = subprocess.Popen(
            [program("auditd"), "-n", "-c", str(folder), "-s", "enable"],
            stdout=output,
            stderr=output,
        )
    try:
        owner = wait_for(lambda: control.status()["pid"], process.pid, TIMEOUT_S)
        assert owner == process.pid, (folder / "auditd.out").read_text()
        _auditctl("-b", "8192")
        for rule in _RULES:
            words = rule.split()
            _auditctl("-a", "always,exit", "-F", "arch=b64", *words, "-F", f"uid={UID}", "-k", _KEY)
        yield folder / "laurel" / "audit.json"
    finally:
        _auditctl("-D", "-k", _KEY)
        process.terminate()
        process.wait(TIMEOUT_S)
        control.set(0x1, enabled=before["enabled"])
        control.set(0x10, backlog_limit=before["backlog_limit"])
        wait_for(lambda: audit_state()[0]["pid"], 0, TIMEOUT_S)
        control.close()


def _add_laurel(folder: Path) -> None:
    config = folder / "laurel.toml"
    config.write_text(
        f'directory = "{folder / "laurel"}"\nuser = "root"\n[auditlog]\nfile = "audit.json"\n'
        "size = 100000000\ngenerations = 1\n[translate]\nuserdb = true\nuniversal = true\n"
    )
    plugins = folder / "plugins.d"
    plugins.mkdir()
    plugin = plugins / "laurel.conf"
    plugin.write_text(
        f"active = yes\ndirection = out\ntype = always\nformat = string\n"
        f"path = {program('laurel')}\nargs = --config {config}\n"
    )
    plugin.chmod(0o640)


def _auditctl(*words: str) -> None:
    subprocess.run([program("auditctl"), *words], check=True, capture_output=True)
