"""Builds a tree from the tokens of a query (docs/query-language.md#words-fields-operators). NOT
binds tighter than AND, AND tighter than OR.

Uses a stack of open brackets instead of recursion: a query may have thousands of branches, and
brackets nested up to `limits.QUERY_DEPTH_MAX`.
"""

from vedette.errors import QueryError
from vedette.limits import QUERY_CHARS_MAX
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.query.nodes import Everything, Leaf, Tree, all_of, any_of, negated
from vedette.query.parse.lex import Mark, Word, lex


def parse(text: str, catalogue: Catalogue = PROCESS) -> Tree:
    """Returns the tree of a query; Everything for the empty query.

    Raises QueryError with the position in the text: for unknown fields, unbalanced or empty
    brackets, operators without operands, fields without values, open quotes, and nesting beyond the
    limit.
    """
    if len(text) > QUERY_CHARS_MAX:
        message = f"a query has at most {QUERY_CHARS_MAX} characters; this one has {len(text)}"
        raise QueryError(message, QUERY_CHARS_MAX, len(text))
    words = lex(text, catalogue)
    if not words:
        return Everything()
    return _build(words, len(text))


class _Bracket:
    """An open bracket, or the whole query: the OR of ANDs that was read so far."""

    __slots__ = ("branches", "is_negated", "needs_operand", "word")

    def __init__(self, word: Word | None) -> None:
        self.word = word
        self.branches: list[list[Tree]] = [[]]
        self.is_negated = False
        """Whether the next operand is negated."""
        self.needs_operand: Word | None = None
        """The operator whose right operand is still missing."""

    def add(self, operand: Tree) -> None:
        self.branches[-1].append(negated(operand) if self.is_negated else operand)
        self.is_negated = False
        self.needs_operand = None

    def join(self, word: Word) -> None:
        """Adds an AND or OR between operands."""
        if not self.branches[-1] or self.needs_operand:
            raise QueryError("operator has no left operand", word.start, word.end)
        if word.content is Mark.OR:
            self.branches.append([])
        self.needs_operand = word

    def negate(self, word: Word) -> None:
        self.is_negated = not self.is_negated
        self.needs_operand = word

    def tree(self) -> Tree:
        if self.needs_operand is not None:
            word = self.needs_operand
            raise QueryError("operator has no right operand", word.start, word.end)
        return any_of(all_of(branch) for branch in self.branches)


def _build(words: list[Word], size: int) -> Tree:
    stack = [_Bracket(None)]
    for word in words:
        top = stack[-1]
        match word.content:
            case Leaf() as leaf:
                top.add(leaf)
            case Mark.NOT:
                top.negate(word)
            case Mark.AND | Mark.OR:
                top.join(word)
            case Mark.OPEN:
                stack.append(_Bracket(word))
            case Mark.CLOSE:
                stack.pop()
                stack[-1].add(_closed(top, word))
    unclosed = stack[-1].word
    if unclosed is not None:
        raise QueryError("unclosed parenthesis", unclosed.start, size)
    return stack[0].tree()


def _closed(bracket: _Bracket, word: Word) -> Tree:
    assert bracket.word is not None
    if bracket.branches == [[]] and bracket.needs_operand is None:
        raise QueryError("empty brackets", bracket.word.start, word.end)
    return bracket.tree()
