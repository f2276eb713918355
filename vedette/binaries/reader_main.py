"""The process that reads files: `python -m vedette.binaries.reader_main`, started by `FileReader`.

It only processes the bytes that it receives: it opens and writes no file for them. The kernel
limits its memory. A file that takes too long ends the process, even inside a library.
"""

import resource
import signal
import sys
from collections.abc import Iterator
from typing import IO

import lief
import msgspec

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.read_file import read_file
from vedette.binaries.reader_messages import (
    ReadRequest,
    Scanned,
    Setup,
    read_message,
    write_message,
)
from vedette.binaries.trust_store import TrustStore
from vedette.binaries.yara_rules import YaraRules
from vedette.limits import FILE_READ_S, FILE_READER_MEMORY_BYTES, YARA_FILE_S


def main() -> None:
    """Reads files until the server closes the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (FILE_READER_MEMORY_BYTES, FILE_READER_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the terminal: the server ends this process
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    lief.logging.disable()
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    setup = msgspec.msgpack.decode(read_message(source), type=Setup)
    trust = TrustStore(setup.roots, setup.distrusted)
    rules = YaraRules(setup.rules)
    write_message(answers, FileFacts())  # ready
    for request, content in _requests(source):
        signal.alarm(FILE_READ_S)
        # Sent before the rules run: a rule that ends this process costs no facts.
        write_message(answers, read_file(content, request.is_whole, trust))
        if setup.rules and request.is_whole:
            signal.alarm(YARA_FILE_S)
            result = rules.scan(
                content,
                lambda name: write_message(answers, Scanned(asking=name)),
                is_apart=request.is_apart,
            )
            write_message(answers, Scanned(result=result))
        signal.alarm(0)


def _requests(source: IO[bytes]) -> Iterator[tuple[ReadRequest, bytes]]:
    while message := read_message(source):
        request = msgspec.msgpack.decode(message, type=ReadRequest)
        content = source.read(request.size)
        if len(content) < request.size:
            return
        yield request, content


if __name__ == "__main__":
    main()
