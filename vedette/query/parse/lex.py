r"""Splits a query into brackets, operators and leaves with their fields
(docs/query-language.md#words-fields-operators).

- In real queries a backslash before a quote is sometimes an escape, and sometimes the last
  separator of a path. The strict pass reads `\"` as an escape. If that leaves quotes in impossible
  places, the lenient pass closes a phrase only where the text continues like a query. In path and
  name fields a quote always closes the phrase.
- The scanner needs the catalogue, because `c:\x` is a word and `path:c` a field, and the stack of
  brackets, because a field may precede a bracket.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from vedette.errors import QueryError
from vedette.limits import QUERY_DEPTH_MAX
from vedette.model.field import QUOTE_ENDS, Catalogue
from vedette.query.nodes import Leaf, Range, Text, Value
from vedette.query.parse.escape import closed
from vedette.query.parse.field_names import is_field_like, name_at, unknown_field


class Mark(Enum):
    """Brackets and operators of the query language."""

    OPEN = "("
    CLOSE = ")"
    AND = "and"
    OR = "or"
    NOT = "not"


@dataclass(frozen=True, slots=True)
class Word:
    """A token of the query. Offsets are in characters."""

    content: Mark | Leaf
    start: int
    end: int


_OPERATORS: Final = {"and": Mark.AND, "or": Mark.OR, "not": Mark.NOT}
_SPACE = re.compile(r"\s*")
_TERM = re.compile(r'(?:[^\s()"\\]|\\[^\s])++')
_STRICT_PHRASE = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_RAW_PHRASE = re.compile(r'"([^"]*)"')
_END = r'("[^"]*"|[^\s"]+?)'
_RANGE = re.compile(rf"([\[{{])\s*{_END}\s+TO\s+{_END}\s*([\]}}])(?=[\s)]|$)", re.IGNORECASE)
_OPERATOR_AHEAD = re.compile(r"(?:and|or|not)(?=[\s()\"]|$)", re.IGNORECASE)
_SHOUTED_AHEAD = re.compile(r"(?:AND|OR|NOT)(?=[\s()\"]|$)")
_AFTER_PHRASE = re.compile(r"[\s)]|$")
_EVERYTHING = re.compile(r"\*:\*(?=[\s()]|$)")
_BRACKETS_THEN_END = re.compile(r"\)+(?=\s|$)|$")
_BARE_QUOTE = re.compile(r'\\.|"', re.DOTALL)


class _UncleanError(Exception):
    """Raised when a reading leaves a quote in an impossible place."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.problem = QueryError(message, start, end)


def lex(text: str, catalogue: Catalogue) -> list[Word]:
    """Returns the tokens of a query. Raises QueryError."""
    try:
        return _Scan(text, catalogue, is_strict=True).words()
    except _UncleanError as unclean:
        strict_problem = unclean.problem
    except QueryError as problem:
        # A phrase may have ended too early, so that its words were read as syntax.
        if '"' not in text:
            raise
        strict_problem = problem
    try:
        return _Scan(text, catalogue, is_strict=False).words()
    except (_UncleanError, QueryError):
        raise strict_problem from None


class _Scan:
    """A single pass over a query."""

    def __init__(self, text: str, catalogue: Catalogue, *, is_strict: bool) -> None:
        self.text = text
        self.catalogue = catalogue
        self.is_strict = is_strict
        self.position = 0
        self.fields: list[str | None] = [None]
        """Stack with the field of each open bracket."""

    def words(self) -> list[Word]:
        found: list[Word] = []
        text, size = self.text, len(self.text)
        while True:
            self._skip_space()
            start = self.position
            if start >= size:
                return found
            match text[start]:
                case "(":
                    found.append(self._open(self.fields[-1], start))
                case ")":
                    found.append(self._close())
                case "-" if start + 1 < size and not _AFTER_PHRASE.match(text, start + 1):
                    self.position += 1
                    found.append(Word(Mark.NOT, start, start + 1))
                case _:
                    found.append(self._leaf_or_operator(start))

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def _open(self, field: str | None, start: int) -> Word:
        self.fields.append(field)
        if len(self.fields) > QUERY_DEPTH_MAX:
            message = f"parentheses are nested deeper than {QUERY_DEPTH_MAX}"
            raise QueryError(message, start, self.position + 1)
        self.position += 1
        return Word(Mark.OPEN, start, self.position)

    def _close(self) -> Word:
        start = self.position
        if len(self.fields) == 1:
            raise QueryError("unmatched closing parenthesis", start, start + 1)
        self.fields.pop()
        self.position += 1
        return Word(Mark.CLOSE, start, self.position)

    def _leaf_or_operator(self, start: int) -> Word:
        everything = _EVERYTHING.match(self.text, start)
        if everything is not None:
            self.position = everything.end()
            return Word(Leaf(None, Text("*"), start, self.position), start, self.position)
        name = name_at(self.text, start, self.catalogue)
        if name is not None:
            field = self.catalogue.find(name[1])
            if field is not None:
                return self._after_field(name[1].lower(), start, name.end())
            if is_field_like(self.text, name):
                raise unknown_field(name[1], self.catalogue, start, name.end(1))
        operator = _OPERATOR_AHEAD.match(self.text, start)
        if operator is not None:
            self.position = operator.end()
            return Word(_OPERATORS[operator[0].lower()], start, self.position)
        return self._leaf(self.fields[-1], start)

    def _after_field(self, field: str, start: int, colon_end: int) -> Word:
        self.position = colon_end
        self._skip_space()
        has_gap = self.position > colon_end
        following = self.text[self.position : self.position + 1]
        is_operator = has_gap and _OPERATOR_AHEAD.match(self.text, self.position)
        if following in ("", ")") or is_operator:
            raise QueryError(f"{field}: needs a value", start, colon_end)
        if following == "(":
            return self._open(field, start)
        return self._leaf(field, start)

    def _leaf(self, field: str | None, start: int) -> Word:
        """Reads a value at the current position."""
        value: Value | None = None
        first = self.text[self.position]
        if first in "[{":
            value = self._range()
        elif first == '"':
            value = self._phrase(field)
        if value is None:
            value = self._term()
        leaf = Leaf(field, value, start, self.position)
        return Word(leaf, start, self.position)

    def _range(self) -> Range | None:
        match = _RANGE.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        low, high = match[2].strip('"'), match[3].strip('"')
        return Range(low, high, excludes_low=match[1] == "{", excludes_high=match[4] == "}")

    def _term(self) -> Text:
        """Reads a word without quotes, up to whitespace, a bracket or a quote."""
        text, start = self.text, self.position
        while True:
            match = _TERM.match(text, self.position)
            if match is not None:
                self.position = match.end()
            if text[self.position : self.position + 1] != "\\":
                break
            if self._ends_after_backslash():
                self.position += 1
                break
            self.position += 2
        if text[self.position : self.position + 1] == '"':
            raise _UncleanError("unexpected quote inside a word", self.position, self.position + 1)
        return Text(closed(text[start : self.position]))

    def _ends_after_backslash(self) -> bool:
        """Whether the backslash at this position, before whitespace or the end, is the last
        character of the term. It escapes a single space only if more of the term follows."""
        text, after = self.text, self.position + 1
        gap = _SPACE.match(text, after)
        assert gap is not None
        if gap.end() - after != 1 or gap.end() == len(text) or text[gap.end()] in '()"':
            return True
        if _SHOUTED_AHEAD.match(text, gap.end()):
            return True
        return self._known_field_ahead(gap.end())

    def _known_field_ahead(self, position: int) -> bool:
        if self.text.startswith("-", position):
            position += 1
        name = name_at(self.text, position, self.catalogue)
        return name is not None and self.catalogue.find(name[1]) is not None

    def _phrase(self, field: str | None) -> Text:
        known = self.catalogue.find(field) if field is not None else None
        if known is not None and known.type in QUOTE_ENDS:
            source = self._delimited(_RAW_PHRASE)
        elif self.is_strict:
            source = self._delimited(_STRICT_PHRASE)
        else:
            source = self._lenient_phrase()
        return Text(closed(source))

    def _delimited(self, pattern: re.Pattern[str]) -> str:
        start = self.position
        match = pattern.match(self.text, start)
        if match is None:
            raise _UncleanError("unclosed quote", start, len(self.text))
        self.position = match.end()
        if not _AFTER_PHRASE.match(self.text, self.position):
            message = "a closing quote must be followed by a space or a closing parenthesis"
            raise _UncleanError(message, self.position - 1, self.position)
        return match[1]

    def _lenient_phrase(self) -> str:
        start = self.position + 1
        quote = self.text.find('"', start)
        while quote >= 0 and not self._query_goes_on(quote + 1):
            quote = self.text.find('"', quote + 1)
        if quote < 0:
            raise _UncleanError("unclosed quote", self.position, len(self.text))
        self.position = quote + 1
        return _BARE_QUOTE.sub(_escaped_quote, self.text[start:quote])

    def _query_goes_on(self, position: int) -> bool:
        if _BRACKETS_THEN_END.match(self.text, position):
            return True
        gap = _SPACE.match(self.text, position)
        assert gap is not None
        after = gap.end()
        if after == position:
            return False
        following = self.text[after : after + 1]
        if following == '"':  # unless that quote closes the phrase: `cmdline:""cmd.exe" ")`
            return not _BRACKETS_THEN_END.match(self.text, after + 1)
        if following in ("", "(", ")"):
            return True
        return bool(_OPERATOR_AHEAD.match(self.text, after)) or self._known_field_ahead(after)


def _escaped_quote(match: re.Match[str]) -> str:
    return '\\"' if match[0] == '"' else match[0]
