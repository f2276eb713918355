"""A process that parses files of Sigma rules: `python -m vedette.alerting.rule_parser`.

Parsing YAML with pySigma can take unbounded time and memory, even for bounded texts. So a
disposable process does it: its memory and CPU time are limited, and its parent (`rule_loader.py`)
waits for a response up to a deadline.
"""

import resource
import sys

import msgspec

from vedette.alerting.rule_messages import RuleFile, read_message, write_message
from vedette.detect.correlation import Correlation
from vedette.detect.rule import Rule
from vedette.detect.rule_codec import (
    CODEC_VERSION,
    encoded_correlation,
    encoded_filter,
    encoded_rule,
)
from vedette.detect.rule_filter import RuleFilter
from vedette.detect.sigma.load import Document, load_documents
from vedette.limits import Limit
from vedette.state.policy.sigma_rule import NewSigmaRule

SIGMA_PARSER_BYTES_MAX: Limit[int] = 1024 * 1024 * 1024
"""Address space of the process that parses rules; the public rule set needs a fifth of it."""

SIGMA_FILE_CPU_S: Limit[int] = 20
"""CPU seconds for one file of rules; public files take 1 ms."""


def documents_of(file: RuleFile) -> list[NewSigmaRule]:
    """Parses a file into documents to store."""
    documents = load_documents(file.text, file.name, file.placeholders)
    return [_kept(one, file.origin) for one in documents]


def _kept(document: Document, origin: str) -> NewSigmaRule:
    made, problem = document.rule, document.problem
    kind, compiled = "rule", b""
    match made:
        case Rule():
            compiled = encoded_rule(made)
        case Correlation():
            kind, compiled = "correlation", encoded_correlation(made)
        case RuleFilter():
            kind, compiled = "filter", encoded_filter(made)
    return NewSigmaRule(
        id=document.id,
        kind="correlation" if kind == "correlation" else "filter" if kind == "filter" else "rule",
        text=document.text,
        title=document.title,
        level=document.level,
        status=made.status if isinstance(made, Rule) else "",
        version=made.version if isinstance(made, Rule) else "",
        origin=origin or document.place,
        compiled=compiled.decode(),
        codec=CODEC_VERSION,
        problem_reason=problem.reason if problem is not None else "",
        problem_message=problem.message if problem is not None else "",
    )


def _limit() -> None:
    memory = SIGMA_PARSER_BYTES_MAX
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_file() -> None:
    """Limits the CPU time for the next file; the kernel kills the process above the limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + SIGMA_FILE_CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def main() -> None:
    """Answers messages until standard input ends."""
    _limit()
    read, write = sys.stdin.buffer, sys.stdout.buffer
    while (message := read_message(read)) is not None:
        _limit_file()
        file = msgspec.msgpack.decode(message, type=RuleFile)
        try:
            answer = msgspec.msgpack.encode(documents_of(file))
        except MemoryError:
            sys.exit(1)
        write_message(write, answer)


if __name__ == "__main__":
    main()
