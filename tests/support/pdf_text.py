"""The text of a PDF as Chromium writes them, in the order in which it is drawn. Where lines end
depends on the fonts of the machine, so nothing is said of it. Not for PDFs of others."""

import re
import zlib

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\s(.*?)\sendobj", re.S)
_STREAM = re.compile(rb"(.*?)stream\r?\n(.*)\r?\nendstream", re.S)
_FONT = re.compile(rb"/(F\d+) (\d+) 0 R")
_UNICODE = re.compile(rb"/ToUnicode (\d+) 0 R")
_CONTENTS = re.compile(rb"/Contents (\d+) 0 R")
_RANGE = re.compile(r"<(\w{4})> <(\w{4})> <(\w+)>")
_GLYPH = re.compile(r"^<(\w{4})> <(\w+)>$", re.M)
_DRAWN = re.compile(r"/(F\d+) \S+ Tf|\b(BT)\b|<(\w*)> Tj")
_LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi"})

Glyphs = dict[str, str]


def pages(pdf: bytes) -> list[str]:
    """The text of each page: its runs, a space between any two."""
    objects = dict(_OBJECT.findall(pdf))
    fonts = {
        name.decode(): _glyphs(_content(objects[found[1]]).decode())
        for name, number in set(_FONT.findall(pdf))
        if (found := _UNICODE.search(objects[number]))
    }
    contents = [found[1] for body in objects.values() if (found := _CONTENTS.search(body))]
    return [_text(_content(objects[one]).decode("latin-1"), fonts) for one in contents]


def _content(body: bytes) -> bytes:
    found = _STREAM.match(body)
    assert found, body[:200]
    return zlib.decompress(found[2]) if b"FlateDecode" in found[1] else found[2]


def _glyphs(table: str) -> Glyphs:
    """The text of each glyph of a font."""
    found = {
        glyph.upper(): bytes.fromhex(text).decode("utf-16-be")
        for glyph, text in _GLYPH.findall(table)
    }
    for first, last, text in _RANGE.findall(table):
        for step in range(int(last, 16) - int(first, 16) + 1):
            found[f"{int(first, 16) + step:04X}"] = chr(int(text, 16) + step)
    return found


def _text(content: str, fonts: dict[str, Glyphs]) -> str:
    found: list[str] = []
    glyphs: Glyphs = {}
    for font, begins, drawn in _DRAWN.findall(content):
        if font:
            glyphs = fonts[font]
        elif begins:
            found.append(" ")
        else:
            found += [glyphs.get(one, "\ufffd") for one in re.findall("....", drawn)]
    return " ".join("".join(found).translate(_LIGATURES).split())
