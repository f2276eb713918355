"""Replaces user names and secrets in records with pseudonyms, before any other processing.

A pseudonym is an HMAC of the value, so equal values stay equal, and nobody can test guesses without
the key. Texts are searched with RE2, in time linear in their length.
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import re2

from vedette.ingest.record import Record
from vedette.limits import Limit
from vedette.model.privacy import GroupPrivacy

RECORD_DEPTH_MAX: Limit[int] = 100
"""Maximum depth of a record's data that is searched for secrets. Deeper data are dropped. No format
has more than 10 levels."""

SECRET_PATTERN_PROGRAM_BYTES_MAX: Limit[int] = 1 << 20
"""Memory limit (bytes) of a compiled pattern. RE2 rejects patterns that need more."""


_DIGITS: Final = 12
"""Hexadecimal digits of a pseudonym. With a million values, two are equal on one of 500 servers."""

_USER_MEMBERS: Final = frozenset(
    (
        "acct",
        "membername",
        "displayname",
        "userprincipalname",
        "owner",
        "owner_name",
        "uid",
        "auid",
        "euid",
        "suid",
        "fsuid",
        "ouid",
        "loginuid",
        "sauid",
        "oauid",
        "userid",
        "usercontext",
        "jobowner",
        "serviceaccount",
        "logonaccount",
        "mappedname",
    )
)
_USER_ENDS: Final = ("user", "username", "user_name", "user name", "accountname", "account name")
"""Members of records, in lower case, that contain an account name, and suffixes of such members.
Numbers of accounts are not replaced."""

_NOBODY: Final = frozenset(
    (
        "",
        "-",
        "?",
        "unset",
        "root",
        "nobody",
        "daemon",
        "system",
        "local service",
        "n/a",
        "network service",
        "anonymous logon",
        "localsystem",
        "localservice",
        "networkservice",
        "public",
        "default",
        "default user",
        "all users",
        "shared",
        "(null)",
        "guest",
        "none",
        "defaultaccount",
        "wdagutilityaccount",
        "everyone",
        "users",
        "administrators",
    )
)
"""Accounts and folders that identify no person. Rules search for them."""
_NO_PERSONS: Final = (
    "nt authority",
    "window manager",
    "font driver host",
    "iis apppool",
    "nt service",
)

_EDGE: Final = r"""\\/"'<>|:*?\r\n"""
_HOME: Final = re2.compile(
    r"(?i)([\\/](?:users|home|documents and settings)[\\/]+)"
    rf"([^{_EDGE}]{{1,64}}[\\/]|[^{_EDGE}\s]{{1,64}})"
)
_WORD: Final = r"""[^\s\\/=:,;|&"'<>()\[\]]+"""
_WORDS: Final = rf"{_WORD}(?: {_WORD}){{0,3}}"
_LABEL: Final = (
    r"""(?:user[ _]?(?:name|id)?|account[ _]?name|logon account)["']?[ \t]*[=:][ \t]*["']?"""
    rf"(?:{_WORDS}\\+)?"
)
_LABELLED: Final = re2.compile(
    rf"(?im)(\n[ \t]*(?:\w+ )?{_LABEL})({_WORDS})[ \t\r]*$|(\b{_LABEL})({_WORD})"
)
r"""A name in free text after a label (`User: CORP\ann`): a word, or the rest of a line that
contains nothing else."""
_PSEUDONYM: Final = re.compile(rf"user-[0-9a-f]{{{_DIGITS}}}|s-1-[0-9-]+")


def secret_options() -> re2.Options:
    """Returns the RE2 options of patterns for secrets."""
    chosen = re2.Options()
    chosen.case_sensitive = False
    chosen.log_errors = False
    chosen.max_mem = SECRET_PATTERN_PROGRAM_BYTES_MAX
    return chosen


def secret_pattern_problem(pattern: str) -> str:
    """Returns why a pattern is invalid; "" if it is valid."""
    try:
        compiled = re2.compile(pattern, secret_options())
    except re2.error as error:
        why = error.args[0] if error.args else "it cannot be read"
        return why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return "it finds a secret in the empty text" if compiled.search("") else ""


class Pseudonyms:
    """Pseudonymization for a sensor group."""

    def __init__(self, key: bytes, privacy: GroupPrivacy) -> None:
        self._key = key
        self._users = privacy.user_names
        options = secret_options()
        self._patterns = [re2.compile(one, options) for one in privacy.secret_patterns]

    def hide(self, record: Record) -> None:
        """Replaces values in the data of a record, in place."""
        record.data = self._object(record.data, 0)

    def _object(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self._value(value, name.lower(), depth) for name, value in data.items()}

    def _value(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._named(value) if self._names_user(name) else self.text(value)
        if depth > RECORD_DEPTH_MAX:
            return None  # deeper than any format, so nothing reads it
        if isinstance(value, dict):
            return self._object(value, depth + 1)
        if isinstance(value, list):
            if len(value) > 1 and all(isinstance(one, str) for one in value):
                return self.texts(value)
            return [self._value(one, name, depth + 1) for one in value]
        return value

    def _names_user(self, name: str) -> bool:
        return self._users and (name in _USER_MEMBERS or name.endswith(_USER_ENDS))

    def _named(self, value: str) -> str:
        """Replaces the account name in a value with or without domain."""
        domain, slash, name = value.rpartition("\\")
        if domain.lower().startswith(_NO_PERSONS):
            return self.text(value)
        name, at, realm = name.partition("@")
        return f"{domain}{slash}{self.user(name)}{at}{realm}"

    def user(self, name: str) -> str:
        """Returns the pseudonym of a name. Names of machines and services, and numbers, are not
        replaced."""
        plain = name.strip().lower()
        is_service = plain in _NOBODY or plain.endswith("$") or plain.startswith(("dwm-", "umfd-"))
        if is_service or plain.isdecimal() or _PSEUDONYM.fullmatch(plain):
            return name
        return f"user-{self._digits('user', plain)}"

    def text(self, text: str) -> str:
        """Replaces secrets in a text, and user names in paths of their folders and after labels."""
        shown = "".join(self._without_secrets([text])) if self._patterns else text
        return self._without_names(shown) if self._users else shown

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Replaces secrets and names in the arguments of a command. They are searched as a single
        text, because an option and its value are two arguments."""
        shown = self._without_secrets(texts) if self._patterns else list(texts)
        return [self._without_names(one) for one in shown] if self._users else shown

    def _without_names(self, text: str) -> str:
        if "/" in text or "\\" in text:
            text = _HOME.sub(self._home, text)
        if "=" in text or ":" in text:
            lower = text.lower()
            if "user" in lower or "account" in lower:
                text = _LABELLED.sub(self._labelled, text)
        return text

    def _labelled(self, match: Any) -> str:
        number = 1 if match.group(1) is not None else 3
        domain = match.group(number).rstrip("\\").lower()
        if domain.endswith(_NO_PERSONS):
            return str(match.group())
        name, at, realm = match.group(number + 1).partition("@")
        rest = match.group()[match.end(number + 1) - match.start() :]
        return f"{match.group(number)}{self.user(name)}{at}{realm}{rest}"

    def _home(self, match: Any) -> str:
        folder: str = match.group(2)
        name = folder.rstrip("\\/").rstrip()
        return f"{match.group(1)}{self.user(name)}{folder[len(name) :]}"

    def _without_secrets(self, texts: Sequence[str]) -> list[str]:
        joined = " ".join(texts)
        spans = _merged(span for one in self._patterns for span in _spans(one, joined))
        if not spans:
            return list(texts)
        shown: list[str] = []
        begin = 0
        for text in texts:
            shown.append(self._cut(text, begin, joined, spans))
            begin += len(text) + 1
        return shown

    def _cut(self, text: str, begin: int, joined: str, spans: Sequence[tuple[int, int]]) -> str:
        """Returns the argument `text`, which starts at `begin` in `joined`, with spans replaced by
        pseudonyms. A span that started in an earlier argument is removed here without a
        pseudonym."""
        pieces, at, end = [], begin, begin + len(text)
        for first, last in spans:
            if last <= begin or first >= end:
                continue
            pieces.append(joined[at : max(at, first)])
            if first >= begin:
                pieces.append(f"[secret-{self._digits('secret', joined[first:last])}]")
            at = min(last, end)
        return "".join(pieces) + joined[at:end]

    def _digits(self, kind: str, value: str) -> str:
        message = f"{kind}\0{value}".encode("utf-8", "replace")
        return hmac.digest(self._key, message, "sha256").hex()[:_DIGITS]


def _spans(pattern: Any, text: str) -> Iterable[tuple[int, int]]:
    for match in pattern.finditer(text):
        is_grouped = pattern.groups and match.start(1) >= 0
        first, last = match.span(1) if is_grouped else match.span()
        if last > first:
            yield first, last


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merges overlapping spans. Returns them ascending."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
