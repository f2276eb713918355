"""Text that begins or ends inside a segment of a path or a piece of a command line.

With a star on that side every text is found that a value holds; without one, values are cut into
tokens, which a plain matcher, written after docs/query-values.md alone, compares.
"""

import os
import random
import re
from fnmatch import translate
from typing import Any

import pytest

from vedette.model.tokens import cmdline_tokens
from vedette.query import check, match_segment, parse
from vedette.query.parse.escape import escape

NOW_US = 1_700_000_000_000_000
DRAWS = int(os.environ.get("VEDETTE_DRAWS", "300"))
SEED = int(os.environ.get("VEDETTE_SEED", "26"))

WORDS = ("cmd.exe", "c", "user", "a.tar.gz", "ann", "-enc", "http", "Foo_Bar", "e", "x.y")
MARKS = (" ", " ", " /", "/", ":", ":", " //", "\\", "=", " -", ": ", '"', ",", "://")
FIRST = ("", "", "", "/", "//", "\\")
LAST = ("", "", ":", "/")
PATH_WORDS = ("Windows", "System32", "a.tar.gz", ".bashrc", "b (1)", "x", "ControlSet001", "c:")
PATH_MARKS = ("\\", "/", "\\\\", "//")
CMDLINES = (
    r'"C:\Windows\System32\rundll32.exe" /d srrstr.dll,ExecuteScheduledSPPCreation',
    r"cscript.exe //nologo //e:vbscript C:\x\y.js",
    "/bin/ls /tmp/somefile -la",
    "net use x /user:ann:bob http://foo.com:80/x/y.gz",
    r"msiexec /i:c:\x.msi /q",
    "a:b::c /e::",
    r"cmd.exe /c echo foo > \\.\pipe\bar",
    "a=/c b=:d",
)
PATHS = (
    r"C:\Windows\System32\a.tar.gz",
    "/usr/local//bin/x.sh",
    r"\\?\C:\x\y",
    r"\Device\HarddiskVolume2\a b\c (1).exe",
    ".bashrc",
)
KEYS = (
    r"\registry\machine\system\ControlSet001\Services\run",
    r"\registry\user\s-1-5-21\software\a b\(Default)",
)


def matches(query: str, **segment: Any) -> bool:
    if "cmdline" in segment:
        segment["cmdline_tokens"] = cmdline_tokens(segment["cmdline"])
    return match_segment(check(parse(query), now_us=NOW_US), segment)


def made(dice: random.Random, words: tuple[str, ...], marks: tuple[str, ...]) -> str:
    parts = [dice.choice(words)]
    for _ in range(dice.randrange(5)):
        parts += [dice.choice(marks), dice.choice(words)]
    return dice.choice(FIRST) + "".join(parts) + dice.choice(LAST)


def cuts(text: str) -> list[str]:
    """Every text inside, but separators alone, and what the stars behind would change."""
    inside = (
        text[begin:end] for begin in range(len(text)) for end in range(begin + 1, len(text) + 1)
    )
    return [cut for cut in inside if "?" not in cut and cut.strip("/\\") and cut[-1] != "\\"]


def not_found(field: str, texts: tuple[str, ...] | list[str], column: str) -> list[tuple[str, str]]:
    is_list = column.endswith("_path")
    return [
        (text, cut)
        for text in texts
        for cut in cuts(text)
        if not matches(f'{field}:"*{escape(cut)}*"', **{column: [text] if is_list else text})
    ]


def test_any_text_of_a_command_line_is_found_between_stars() -> None:
    assert not_found("cmdline", CMDLINES, "cmdline") == []


def test_any_text_of_a_made_command_line_is_found_between_stars() -> None:
    dice = random.Random(SEED)
    lines = [made(dice, WORDS, MARKS) for _ in range(DRAWS // 3)]
    assert not_found("cmdline", lines, "cmdline") == []


@pytest.mark.parametrize("field", ["path", "filemod"])
def test_any_text_of_a_path_is_found_between_stars(field: str) -> None:
    dice = random.Random(SEED)
    paths = [*PATHS, *(made(dice, PATH_WORDS, PATH_MARKS) for _ in range(DRAWS // 10))]
    assert not_found(field, paths, "path" if field == "path" else "filemod_path") == []


def test_any_text_of_a_registry_key_is_found_between_stars() -> None:
    assert not_found("regmod", KEYS, "regmod_path") == []


def loose(text: str) -> str:
    """All that separates is one space."""
    return " ".join(re.split(r"[\s\\\"'()\[\]{},=<>&|;/:]+", text.casefold())).strip()


def test_text_between_stars_is_not_found_where_it_is_not() -> None:
    dice = random.Random(SEED)
    lines = [made(dice, WORDS, MARKS) for _ in range(40)]
    wrong = [
        (line, cut)
        for line in lines
        for other in lines
        for cut in dice.sample(cuts(other), min(6, len(cuts(other))))
        if loose(cut) not in loose(line) and matches(f'cmdline:"*{escape(cut)}*"', cmdline=line)
    ]
    assert wrong == []


def plain_path(value: str, path: str) -> bool:
    """The rule of paths, on tokens that are written out."""
    normal = re.sub(r"[\\/]+", r"\\", path.casefold()).removeprefix("\\")
    starts = [0, *(found.end() for found in re.finditer(r"\\", normal))]
    tokens = [normal[start:] for start in starts]
    tokens += [normal[found.start() :] for found in re.finditer(r"(?<=[^\\])\.[^\\]*$", normal)]
    last = tokens[len(starts) - 1]
    tokens += [last[n:] for n in range(1, len(last)) if last[n] == "."]
    wanted = re.sub(r"[\\/]+", r"\\", value.casefold())
    wanted = (wanted[1:] if wanted.startswith(":\\") else wanted).removeprefix("\\")
    if not wanted.strip("\\*"):
        return bool(normal)
    if re.match(r"\*\\[^*]", wanted):
        wanted = wanted[2:]
    glob = wanted + "*" if wanted.endswith("\\") else wanted
    if any(re.fullmatch(translate(glob), token) for token in tokens):
        return True
    is_rooted = value.startswith("/") or re.match(r"[a-z]:(\\|$)", wanted) is not None
    return is_rooted and "*" not in value and normal.startswith(wanted + "\\")


def test_the_matcher_says_of_paths_what_the_plain_rule_says() -> None:
    dice = random.Random(SEED)
    paths = [made(dice, PATH_WORDS, PATH_MARKS) for _ in range(40)]
    wrong = []
    for _ in range(DRAWS * 10):
        path, other = dice.choice(paths), dice.choice(paths)
        cut = dice.choice(cuts(dice.choice((path, other))))
        value = dice.choice(("", "*")) + cut + dice.choice(("", "", "*"))
        reading = value.replace("\\\\", "\\")  # both readings of a doubled one are accepted
        expected = plain_path(value, path) or plain_path(reading, path)
        if matches(f'path:"{value}"', path=path) is not expected:
            wrong.append((path, value, expected))
    assert wrong == []


def plain_pieces(line: str) -> list[tuple[str, set[str]]]:
    """The piece at each position of a command line, and all tokens there."""
    positions: list[tuple[str, set[str]]] = []
    chunks = re.split(r"[\s\\\"'()\[\]{},=<>&|;]+", line.casefold())
    for number, chunk in enumerate([chunk for chunk in chunks if chunk]):
        body = chunk.rstrip(":")
        ends_in_colon = len(chunk) - len(body) == 1
        is_switch = body.startswith("/") and number > 0
        parts = body[is_switch:].split(":")
        for place, part in enumerate(parts):
            pieces = part.split("/")
            if is_switch and place == 0:
                pieces[0] = "/" + pieces[0]
            pieces = [piece for piece in pieces if piece]
            is_last_part = place == len(parts) - 1
            for nth, piece in enumerate(pieces):
                is_last = nth == len(pieces) - 1
                if is_last and is_last_part and ends_in_colon:
                    piece += ":"
                tokens = {piece, *(piece[n:] for n in range(1, len(piece)) if piece[n] == ".")}
                if not positions and number == 0 and body.startswith("/"):
                    tokens.add("/" + piece)
                if is_last and not is_last_part:
                    tokens |= {token + ":" for token in tokens}
                positions.append((piece, tokens))
    return positions


def plain_cmdline(value: str, line: str) -> bool:
    """The rule of command lines for values without wildcards."""
    wanted = [piece for piece, _ in plain_pieces("x " + value)[1:]]
    positions = [tokens for _, tokens in plain_pieces(line)]
    if not wanted:
        return False
    return any(
        all(word in positions[start + n] for n, word in enumerate(wanted))
        for start in range(len(positions) - len(wanted) + 1)
    )


def test_the_matcher_says_of_command_lines_what_the_plain_rule_says() -> None:
    dice = random.Random(SEED)
    marks = tuple(mark for mark in MARKS if "//" not in mark)  # `//x` has a rule of its own
    lines = [made(dice, WORDS, marks) for _ in range(60)]
    wrong = []
    for _ in range(DRAWS * 10):
        line, other = dice.choice(lines), dice.choice(lines)
        value = dice.choice(cuts(dice.choice((line, other))))
        if re.search(r"/[\s:/]*$|/[\s/:=,\"\\]", value):  # so has a lone slash
            continue
        expected = plain_cmdline(value, line)
        if matches(f'cmdline:"{escape(value)}"', cmdline=line) is not expected:
            wrong.append((line, value, expected))
    assert wrong == []
