"""Case folding for anchor comparison."""


def folded(text: str) -> str:
    """Returns the text in lower case, with equivalent letters unified.

    Case-insensitive patterns match the long s as an s, and Python lowers a sigma depending on its
    position in a word. If a text contains another case-insensitively, then the folded text contains
    the folded other.
    """
    lower = text.lower()
    if lower.isascii():
        return lower
    # `translate` takes eighty times as long.
    return lower.replace("\u017f", "s").replace("\u03c2", "\u03c3")
