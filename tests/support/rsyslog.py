"""rsyslogd as a real sender: the lines of a file into the server's `_bulk`."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.served import Server, wait_for

_PROGRAM = shutil.which("rsyslogd", path="/usr/sbin:/sbin:/usr/bin:/bin")
_MODULE = next(Path("/usr/lib").glob("*/rsyslog/omelasticsearch.so"), None)
_START_S = 60
_END_S = 20

NEEDED = pytest.mark.skipif(
    _PROGRAM is None or _MODULE is None, reason="rsyslog with omelasticsearch is missing"
)


@contextmanager
def rsyslog(server: Server, folder: Path, source: Path) -> Iterator[Path]:
    """rsyslogd in the foreground, reading `source` line by line; yields the file of its errors."""
    assert _PROGRAM is not None
    folder.mkdir(exist_ok=True)
    wait_for(source.exists, True, _START_S)
    errors, config = folder / "errors.log", folder / "rsyslog.conf"
    address = urlsplit(server.url)
    config.write_text(f"""
global(workDirectory="{folder}")
module(load="imfile" mode="polling" pollingInterval="1")
module(load="omelasticsearch")
template(name="line" type="list") {{ property(name="rawmsg") }}
input(type="imfile" File="{source}" Tag="audit" ruleset="send" maxLinesAtOnce="1000")
ruleset(name="send") {{
  action(type="omelasticsearch" server="{address.hostname}" serverport="{address.port}"
         usehttps="on" tls.cacert="{server.certificate}" uid="rsyslog" pwd="{server.ingest_token}"
         template="line" searchIndex="audit" searchType="" bulkmode="on" errorfile="{errors}"
         action.resumeRetryCount="-1" action.resumeInterval="1")
}}
""")
    with (folder / "rsyslog.log").open("wb") as log:
        process = subprocess.Popen(
            [_PROGRAM, "-n", "-f", str(config), "-i", str(folder / "rsyslog.pid")],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            yield errors
        finally:
            process.terminate()
            process.wait(_END_S)
