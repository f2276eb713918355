r"""Suffix tokens: what the texts of events end with, as columns to index.

A word index only prunes: the exact predicate still reads the texts of the rows that are left, and
for a frequent name those are all. But most queries for paths and domains ask for their ends: a file
name, an extension, the last labels. These *suffix tokens* have an index of their own, and equality
of tokens is the exact answer, so that no text is read:

    path      every part of it, the last with `END` behind it; and the extension from the last dot
              of the last part, between `*` and `END`
    module    the same, and the whole path from its last drive on, a separator before it
    domain    every label, the last with `END` behind it; and the last two and three with the
              dots before them and `END` behind them
    address   itself, and of one of IPv4 the first one, two and three numbers with the dots behind
              them: for networks, which are prefixes

    C:\Temp\a.tar.gz   ->  c:  temp  a.tar.gz|  *.gz|
    www.example.net    ->  www  example  net|  .example.net|  .www.example.net|
    192.0.2.9          ->  ::ffff:192.0.2.9  192.0.2.  192.0.  192.

The expression is plain SQL over all values of a row at once, with the same meaning in rows whose
part has no index yet. It has no lambda: the engine cannot evaluate one in place of an index that a
part lacks. It is short rather than fast, because the engine parses it in every query but evaluates
it once (`store/partitions/index_build.py`). Tokens are
separated by what no queried token may hold (`is_askable`): control characters, quotes, `*` and
separators.
"""

import re
from functools import cache
from typing import Final, Literal

SuffixKind = Literal["path", "module", "domain", "address"]

END: Final = "\x1f"
"""Stands behind what a value ends with."""

IPV4: Final = "::ffff:"
"""Stands before a whole address of IPv4."""

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
"""The event columns that have such an index."""

MERGED_SUFFIX_COLUMNS: Final = frozenset(
    {"filemod_path", "netconn_domain", "netconn_remote_ip", "dnsquery_name"}
)
"""Those whose index is built in every merge, not only once a partition is closed: the most queried
ones, worth the cost."""

SUFFIX_INDEX_TYPE: Final = "text(tokenizer = 'array')"

_ASKABLE: Final = re.compile(r"[ !#-&()+-.0-\[\]-~]+")


def is_askable(token: str) -> bool:
    """Whether a folded text without separators is the same text in a token: printable ASCII, no
    quote, no `/` and no backslash."""
    return _ASKABLE.fullmatch(token) is not None


def suffix_index_name(column: str) -> str:
    """The name of the index of a column's suffix tokens."""
    return f"ends_{column}"


@cache
def suffix_tokens_sql(column: str) -> str:
    """The tokens of a row, Array(String). A condition is answered by the index only when it repeats
    this to the letter."""
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
    r"""All values folded, `before` between them and `END` behind each. `toString` of an array puts
    quotes around values, and a backslash before quotes, backslashes and some control characters
    in them, so once those are gone what still has a quote is between values. Folding is that of
    `indexes.FOLDED_SQL` without its short way."""
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
    """Few addresses of a row differ, and the others need not be taken apart."""
    found = f"arrayDistinct(`{column}`)"
    network = r"[0-9]+\\."
    networks = (
        f"extractAll(toString({found}), '{IPV4}({network * numbers})')" for numbers in (1, 2, 3)
    )
    return f"arrayConcat(CAST({found}, 'Array(String)'), {', '.join(networks)})"


_TAKEN: Final = r"\x1e"
"""A character that no asked token holds, as SQL."""
