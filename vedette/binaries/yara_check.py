"""Checks a text of YARA rules before it is stored, in a process with limits: a text that takes too
much time or memory to compile must not prevent the reader from starting.

`python -m vedette.binaries.yara_check` reads the text and prints the names of its rules, or the
reason why it does not compile.
"""

import os
import resource
import subprocess
import sys
from typing import Final

import msgspec

from vedette.errors import BadRequestError
from vedette.limits import FILE_READER_MEMORY_BYTES, YARA_TEXT_BYTES_MAX, Limit

YARA_CHECK_S: Limit[int] = 15
"""Seconds in which a text must compile to be stored."""


_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG")


class Checked(msgspec.Struct, frozen=True):
    """The names of the rules, or the reason for a failure."""

    names: list[str] = []
    problem: str = ""


def checked_rules(text: str) -> list[str]:
    """Returns the names of the rules in a text. Raises BadRequestError with the position of the
    error."""
    content = text.encode("utf-8", "replace")
    if len(content) > YARA_TEXT_BYTES_MAX:
        raise BadRequestError(f"text: at most {YARA_TEXT_BYTES_MAX:,} bytes of rules")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "vedette.binaries.yara_check"],
            input=content,
            capture_output=True,
            timeout=YARA_CHECK_S,
            check=False,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        raise BadRequestError(f"text: compiling it takes over {YARA_CHECK_S} s") from None
    if done.returncode:
        raise BadRequestError("text: compiling it takes too much memory, or crashes the compiler")
    answer = msgspec.json.decode(done.stdout, type=Checked)
    if answer.problem:
        raise BadRequestError(f"text: {answer.problem}")
    return answer.names


def main() -> None:
    """Checks one text from standard input."""
    from vedette.binaries.yara_rules import RuleTextError, rule_names

    resource.setrlimit(resource.RLIMIT_AS, (FILE_READER_MEMORY_BYTES, FILE_READER_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = Checked(rule_names(sys.stdin.buffer.read().decode("utf-8", "replace")))
    except RuleTextError as error:
        answer = Checked(problem=str(error))
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main()
