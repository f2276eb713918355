"""The process: `python -m tests.support.clickhouse_front DIRECTORY PORT [--shards N] ...`"""

import argparse
import os
import signal
import threading
from pathlib import Path

from tests.support.clickhouse_front import PASSWORD, USER
from tests.support.clickhouse_front.engine import FrontEngine
from tests.support.clickhouse_front.handler import FrontServer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--shards", type=int, default=1, choices=range(1, 5))
    parser.add_argument("--all-rights", action="store_true")
    parser.add_argument("--absent-replica", action="store_true")
    words = parser.parse_args()
    directory = words.directory.resolve()
    engine = FrontEngine(
        directory,
        shards=words.shards,
        all_rights=words.all_rights,
        absent_replica=words.absent_replica,
    )
    server = FrontServer(words.port, engine, USER, PASSWORD)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(0.05)
    server.server_close()
    engine.close()
    os._exit(0)  # threads of the engine do not survive the ordinary end


if __name__ == "__main__":
    main()
