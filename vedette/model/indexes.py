r"""Which columns of `segment` have a skipping index that searches narrow by, as data.

The store makes the indexes from these tables, and the query compiler reads them to know which
tokens of a value it may ask for. An index only narrows: the exact predicate always follows.

- `words`   runs of ASCII letters and digits of the folded text; of an array column the words
            of all values. Everything else, letters beyond ASCII too, is a gap: what is a
            letter is decided by the exact predicate, not by the tokenizer.
- `pieces`  the column holds folded pieces between 0x1f bytes (`model/tokens.py`).
- `whole`   exact values: shows which granules may hold one.
- `values`  exact values of an array with few distinct ones: shows which rows have one, so that the
            array is not read.
"""

from typing import Literal

from vedette.model.columns import EVENT_KINDS

IndexKind = Literal["words", "pieces", "whole", "values"]

FOLDED_SQL = "if(isASCII({0}), lower({0}), caseFoldUTF8(toValidUTF8({0})))"
"""`tokens.fold` in SQL. Case folding proper is slow and refuses broken UTF-8, so plain ASCII
goes the short way. Index and predicate must fold alike, or the index loses rows."""

_WORDS_SQL = (
    "if(isValidASCII({0}), lower({0}), "
    "replaceRegexpAll(caseFoldUTF8(toValidUTF8({0})), '[^\\\\x00-\\\\x7F]+', ' '))"
)

INDEX_TYPES: dict[IndexKind, str] = {
    "words": "text(tokenizer = 'splitByNonAlpha')",
    "pieces": "text(tokenizer = splitByString(['\\x1f']))",
    "whole": "bloom_filter(0.01)",
    "values": "text(tokenizer = 'array')",
}
"""The TYPE of an index."""

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
"""The index of a column, where it has one."""

SEQ_INDEX = "ix_seq"
"""The index of commit numbers, for those who follow commits (`store/read/detection/touched.py`)."""

EXACT: frozenset[IndexKind] = frozenset({"whole", "values"})
"""Kinds of indexes of exact values."""

_LISTS = frozenset(column.name for kind in EVENT_KINDS for column in kind.columns)


def index_name(column: str) -> str:
    """The name of the index of a column. Stores of older versions have one of another kind for what
    is `values` now, and keep it."""
    return f"values_{column}" if INDEX_OF[column] == "values" else f"ix_{column}"


def indexed_sql(column: str) -> str:
    """What the index of a column is made of. A condition is answered by the index only when it
    repeats this to the letter.

    An index could also name the plain column and a preprocessor, but the engine understands the
    preprocessors of all indexes anew in every read, which costs more than most searches.
    """
    quoted = f"`{column}`"
    if INDEX_OF[column] != "words":
        return quoted
    return _WORDS_SQL.format(f"arrayStringConcat({quoted}, ' ')" if column in _LISTS else quoted)
