r"""Suffix tokens: index tokens for the endings of event texts.

A word index only prunes: the exact predicate still reads the texts of the remaining rows, and for a
frequent name that is every row. But most queries for paths and domains search endings: a file name,
an extension, the last labels. *Suffix tokens* have an index of their own. Equality of tokens is the
exact answer, so no text is read:

    path      every component, the last followed by `END`; and the extension from the last dot of
              the last component, between `*` and `END`
    module    the tokens of path, and the whole path from its last drive on, preceded by a separator
    domain    every label, the last followed by `END`; and the last two and three labels, each
              preceded by a dot, followed by `END`
    address   the address itself; for IPv4 also its first one, two and three numbers, each followed
              by a dot: for networks, which are prefixes

    C:\Temp\a.tar.gz   ->  c:  temp  a.tar.gz|  *.gz|
    www.example.net    ->  www  example  net|  .example.net|  .www.example.net|
    192.0.2.9          ->  ::ffff:192.0.2.9  192.0.2.  192.0.  192.

The expression is plain SQL over all values of a row at once, and has the same result for rows whose
part has no index yet. It has no lambda, because the engine cannot evaluate a lambda for parts
without the index. It is short rather than fast, because the engine parses it in every query but
evaluates it once (`store/partitions/index_build.py`). Tokens are separated by characters that no
queried token may contain (`is_askable`): control characters, quotes, `*` and separators.
"""

import re
from functools import cache
from typing import Final, Literal

SuffixKind = Literal["path", "module", "domain", "address"]

END: Final = "\x1f"
"""Marks the end of a value."""

IPV4: Final = "::ffff:"
"""Prefix of a complete IPv4 address."""

SUFFIX_COLUMNS: Final[dict[str, SuffixKind]] = {
    "filemod_path": "path",
    "modload_path": "module",
    "regmod_path": "path",
    "childproc_path": "path",
    "crossproc_path": "path",
    "netconn_domain": "domain",
    "dnsquery_name": "domain",
    "netconn_remote_ip": "address",
}
"""Event columns with an index of suffix tokens, and the kind of their tokens."""

MERGED_SUFFIX_COLUMNS: Final = frozenset(
    {"filemod_path", "netconn_domain", "netconn_remote_ip", "dnsquery_name"}
)
"""Columns whose index is built in every merge, not only when a partition is closed. They are
queried most, which justifies the cost."""

SUFFIX_INDEX_TYPE: Final = "text(tokenizer = 'array')"

_ASKABLE: Final = re.compile(r"[ !#-&()+-.0-\[\]-~]+")


def is_askable(token: str) -> bool:
    """Whether a folded text without separators is unchanged in a token: printable ASCII without
    quotes, `/` and backslash."""
    return _ASKABLE.fullmatch(token) is not None


def suffix_index_name(column: str) -> str:
    """Returns the name of the index of a column's suffix tokens."""
    return f"ends_{column}"


@cache
def suffix_tokens_sql(column: str) -> str:
    """Returns the SQL for the tokens of a row, Array(String). The index serves a condition only if
    the condition contains exactly this text."""
    kind = SUFFIX_COLUMNS[column]
    if kind == "domain":
        return _domains_sql(column)
    if kind == "address":
        return _addresses_sql(column)
    joined = _joined_sql(column, "/", "/")
    parts = rf"replaceRegexpAll({joined}, '(\\.[^./\x1f]*)\x1f', '\\1\x1f/*\\1\x1f')"
    found = f"splitByChar('/', {parts})"
    return f"arrayConcat({found}, {_wholes_sql(joined)})" if kind == "module" else found


def _joined_sql(column: str, backslash: str, before: str) -> str:
    """Returns SQL that folds and joins all values, with `before` between them and `END` after each.
    `toString` of an array quotes its values, and puts a backslash before quotes, backslashes and
    some control characters inside them. After those are removed, every remaining quote separates
    values. Folding equals `indexes.FOLDED_SQL` without its fast path."""
    text = rf"replaceAll(substring(toString(`{column}`), 3), '\\\\', '{backslash}')"
    for taken in (r"\\\'", r"\x1f"):
        text = rf"replaceAll({text}, '{taken}', '\x1e')"
    text = f"caseFoldUTF8(toValidUTF8({text}))"
    return rf"replaceAll(replaceAll({text}, '\',\'', '\x1f{before}'), '\']', '\x1f')"


def _wholes_sql(joined: str) -> str:
    text = f"concat('/', {joined})"
    for _ in range(3):
        text = f"replaceAll({text}, '//', '/')"
    return rf"splitByChar('\x1f', replaceRegexpAll({text}, '[^\x1f]*(/[a-z]:/)', '\\1'))"


def _domains_sql(column: str) -> str:
    text = rf"replaceRegexpAll({_joined_sql(column, _TAKEN, '')}, '\\.+\x1f', '\x1f')"
    text = rf"concat('.', replaceAll({text}, '\x1f', '\x1f.'))"
    label = r"\\.[^.\x1f]*"
    return (
        f"arrayConcat(splitByChar('.', {text}), extractAll({text}, '{label * 2}\\x1f'), "
        f"extractAll({text}, '{label * 3}\\x1f'))"
    )


def _addresses_sql(column: str) -> str:
    """Returns the SQL for tokens of addresses. Only distinct addresses are split, because a row has
    few of them."""
    found = f"arrayDistinct(`{column}`)"
    network = r"[0-9]+\\."
    networks = (
        f"extractAll(toString({found}), '{IPV4}({network * numbers})')" for numbers in (1, 2, 3)
    )
    return f"arrayConcat(CAST({found}, 'Array(String)'), {', '.join(networks)})"


_TAKEN: Final = r"\x1e"
"""SQL of a character that no queried token contains."""
