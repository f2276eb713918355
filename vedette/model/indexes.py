"""Skipping indexes of columns of `segment`, as data.

The store creates the indexes from these tables. The query compiler reads them to choose tokens of a
value for an index lookup. An index only narrows the search: the exact predicate always follows.

- `words`   runs of ASCII letters and digits of the folded text; for an array column, the words of
            all its values. Any other character separates words, including letters beyond ASCII:
            the exact predicate, not the tokenizer, decides what a letter is.
- `pieces`  the column holds folded pieces between 0x1f bytes (`model/tokens.py`).
- `whole`   exact values: finds granules that may hold a value.
- `values`  exact values of an array with few distinct values: finds the rows that hold a value, so
            that the array itself need not be read.
"""

from typing import Literal

from vedette.model.columns import EVENT_KINDS, METADATA

IndexKind = Literal["words", "pieces", "whole", "values"]

FOLDED_SQL = "if(isASCII({0}), lower({0}), caseFoldUTF8(toValidUTF8({0})))"
"""`tokens.fold` in SQL. Unicode case folding is slow and rejects invalid UTF-8, so plain ASCII is
lowered instead. Index and predicate must fold identically, or the index loses rows."""

WORDS_SQL = (
    "if(isValidASCII({0}), lower({0}), "
    "replaceRegexpAll(caseFoldUTF8(toValidUTF8({0})), '[^\\\\x00-\\\\x7F]+', ' '))"
)

INDEX_TYPES: dict[IndexKind, str] = {
    "words": "text(tokenizer = 'splitByNonAlpha')",
    "pieces": "text(tokenizer = splitByString(['\\x1f']))",
    "whole": "bloom_filter(0.01)",
    "values": "text(tokenizer = 'array')",
}
"""SQL of the TYPE clause of an index."""

INDEXES: tuple[tuple[str, IndexKind], ...] = (
    ("cmdline_tokens", "pieces"),
    ("parent_cmdline_tokens", "pieces"),
    ("path", "words"),
    ("process_name", "words"),
    ("parent_name", "words"),
    ("original_filename", "words"),
    ("hostname", "words"),
    ("username", "words"),
    ("filemod_path", "words"),
    ("modload_path", "words"),
    ("regmod_path", "words"),
    ("regmod_value", "words"),
    ("childproc_path", "words"),
    ("crossproc_path", "words"),
    ("netconn_domain", "words"),
    ("dnsquery_name", "words"),
    ("pipe_name", "words"),
    ("scriptblock_text", "words"),
    ("process_md5", "whole"),
    ("process_sha256", "whole"),
    ("parent_md5", "whole"),
    ("parent_sha256", "whole"),
    ("process_id", "whole"),
    ("parent_id", "whole"),
    ("filemod_md5", "values"),
    ("filemod_sha256", "whole"),
    ("modload_md5", "values"),
    ("modload_sha256", "whole"),
    ("childproc_md5", "values"),
    ("childproc_sha256", "whole"),
    ("crossproc_md5", "whole"),
    ("crossproc_sha256", "whole"),
    ("netconn_remote_ip", "whole"),
)

INDEX_OF: dict[str, IndexKind] = dict(INDEXES)
"""Maps a column to the kind of its index, if it has an index."""

SEQ_INDEX = "ix_seq"
"""Index of commit numbers, for readers that follow commits (`store/read/detection/touched.py`)."""

EXACT: frozenset[IndexKind] = frozenset({"whole", "values"})
"""Kinds of indexes over exact values."""

_STORED = {column.name: column.shown(f"`{column.physical}`") for column in METADATA}

_LISTS = frozenset(column.name for kind in EVENT_KINDS for column in kind.columns)


def index_name(column: str) -> str:
    """Returns the name of a column's index. Stores of older versions keep an index of another kind,
    with another name, for columns that now have `values`."""
    return f"values_{column}" if INDEX_OF[column] == "values" else f"ix_{column}"


def indexed_sql(column: str) -> str:
    """Returns the SQL expression that a column's index covers. The index serves a condition only if
    the condition contains exactly this text.

    An index could also name the plain column and a preprocessor, but the engine parses the
    preprocessors of all indexes in every read, which costs more than most searches.
    """
    quoted = _STORED.get(column, f"`{column}`")
    if INDEX_OF[column] != "words":
        return quoted
    return WORDS_SQL.format(f"arrayStringConcat({quoted}, ' ')" if column in _LISTS else quoted)
