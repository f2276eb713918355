"""Record boundaries: splits bytes into JSON texts, XML events and log lines.

Lines with one object each are split by checking both ends of the line. All other input is scanned
by a tokenizer that tracks brackets and strings without recursion: objects over several lines,
several objects on a line, arrays (whose brackets and commas are treated as separators), XML events
and log lines. A malformed piece is returned unchanged for `decode` to reject, and the scan resumes
at the next line that can start a record.
"""

import codecs
import re

import msgspec

from vedette.limits import RECORD_BYTES_MAX, RECORD_NESTING_MAX, Limit

GAP_STEP_BYTES: Limit[int] = 1024 * 1024
"""Bytes of blank space skipped per step. A step runs under the interpreter lock."""

XML_TAG_BYTES_MAX: Limit[int] = 4_096
"""Maximum bytes that are searched for the end of an XML tag, so that a `<` never causes a scan of
the whole body."""


_TOKEN = re.compile(
    rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(")?+'  # no group 1 if unterminated
    rb"|[{}\[\],:]"
    rb'|[^\s"{}\[\],:]++'  # a number, a literal, or invalid text
)
_SEVERAL = re.compile(rb"\}[ \t\r,]*\{")
_LOG_LINE = re.compile(rb"\[(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d)")
"""Start of a line of Santa's log, or of Apache's error log."""

_LOG_LINE_BYTES = 11
_OWN_FORMAT = re.compile(
    rb"audit\(|santad: action=|<Event"
    rb"|(?i:[ /](?:sudo|su|sshd[a-z-]{0,8}|cron|crond|crontab|pkexec|login|vsftpd|clamd|guacd))"
    rb"(?:\[\d{1,10}\])?: "
)
"""Start of a log line whose text a user may choose: an object in it is no record."""

_GAP = re.compile(rb"(?:[\s,\x00]++|\xef\xbb\xbf)*+")  # possessive: uses no memory per repetition
_BRACKETS = re.compile(rb"\[++|\]++")
_EVENT_START = re.compile(rb"<Event(?=[\s>])")
_OTHER_RECORD = re.compile(
    rb"\n(?=\{\"|type=[A-Z]|node=\S{1,255} type=[A-Z]|<\d{1,3}>|\[\d{4}-\d\d-\d\d"
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\dT\d\d:)"
)
"""Line break before a line that starts a record other than XML."""

_EVENT_END = re.compile(rb"</Event\s*>")
_BEFORE_VALUE = frozenset(b"{[,:")
_WHOLE = msgspec.json.Decoder(msgspec.Raw)


def split_pieces(data: bytes, *, last: bool = True) -> tuple[list[bytes], int]:
    """Splits `data` into pieces. Returns them and the number of bytes consumed.

    If `last`, all data are consumed. Otherwise `data` is a block of a stream, and a piece that may
    continue in the next block is left, unless it exceeds the size of a record.
    """
    scan = _Scan(data, last)
    scan.run()
    return scan.pieces, scan.position


def object_lines(data: bytes) -> list[bytes] | None:
    """Returns the lines of `data` if each looks like one object, else None. Equivalent to
    `split_pieces` for such data, in a third of the time."""
    lines = data.split(b"\n")
    if not lines[-1]:
        del lines[-1]
    if not lines or data[0] != 123 or lines[-1][-1:] != b"}":
        return None
    if data.count(b"}\n{") != len(lines) - 1:
        return None
    return lines if not _SEVERAL.search(data) or all(map(_is_object_line, lines)) else None


def is_whole(text: bytes) -> bool:
    """Whether the text is exactly one JSON value."""
    try:
        _WHOLE.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


class _Scan:
    """A scan over a block."""

    def __init__(self, data: bytes, last: bool) -> None:
        self.data = data
        self.last = last
        self.pieces: list[bytes] = []
        self.position = 0
        self._close = -1
        self._event_end = -1
        """Cached offsets of the next closing line and the next end of an event, so that no range is
        searched twice."""

    def run(self) -> None:
        if self._all_lines():
            return
        size = len(self.data)
        while True:
            begins_line = self._skip_gap()
            if self.position == size:
                return
            if not ((begins_line and self._object_line()) or self._slow(self.position)):
                return

    def _skip_gap(self) -> bool:
        """Advances to the next piece. Returns whether it starts a line."""
        before = self.position
        while True:
            bound = self.position + GAP_STEP_BYTES
            gap = _GAP.match(self.data, self.position, bound)
            self.position = gap.end() if gap else self.position
            # Closer to the bound, the step may have split a byte order mark.
            if self.position <= bound - len(codecs.BOM_UTF8):
                break
        return before == 0 or self.data.rfind(b"\n", before - 1, self.position) >= 0

    def _object_line(self) -> bool:
        """Consumes the line at the position if it is one object. Only called at the start of a
        line, so no line is checked twice."""
        data, position = self.data, self.position
        end = data.find(b"\n", position)
        if end < 0:
            if not self.last:
                return False
            end = len(data)
        line = data[position:end].rstrip(b" \t\r,")
        if not _is_object_line(line):
            return False
        self.pieces.append(line)
        self.position = min(end + 1, len(data))
        return True

    def _all_lines(self) -> bool:
        """Consumes the whole block if every line is one object."""
        data = self.data
        end = len(data) if self.last else data.rfind(b"\n") + 1
        block = data[:end]
        lines = object_lines(block)
        if lines is None:
            lines = [stripped for line in block.split(b"\n") if (stripped := line.rstrip(b"\r"))]
            if not lines or not all(map(_is_object_line, lines)):
                return False
        self.pieces = lines
        self.position = end
        return True

    def _slow(self, start: int) -> bool:
        """Consumes the piece at `start`. Returns False if it needs the next block."""
        data = self.data
        first = data[start]
        if first == 123:
            return self._object(start)
        if first == 60 and self._is_markup(start):
            return self._markup(start)
        if first == 91 and not self.last and len(data) - start < _LOG_LINE_BYTES:
            return False
        if (first == 91 and not _LOG_LINE.match(data, start)) or first == 93:
            self.position = self._brackets_end(start)
            return True
        return self._line(start)

    def _brackets_end(self, start: int) -> int:
        """Returns the end of a run of equal brackets. Leaves its last `[`, because a log line may
        start with it."""
        run = _BRACKETS.match(self.data, start, start + GAP_STEP_BYTES)
        end = run.end() if run else start
        return max(start + 1, end - (self.data[start] == 91))

    def _object(self, start: int) -> bool:
        end = self._pretty_end(start)
        broken_at = 0
        if end == 0:
            end, broken_at = _object_end(self.data, start)
        if end:
            self.pieces.append(self.data[start:end])
            self.position = end
            return True
        if broken_at == len(self.data) and not self._is_final(start):
            return False
        self._rescue(start, self._resume_at(start, broken_at))
        return True

    def _is_final(self, start: int) -> bool:
        """Whether more data cannot complete an incomplete piece."""
        return self.last or len(self.data) - start > RECORD_BYTES_MAX

    def _pretty_end(self, start: int) -> int:
        """Returns the end of an indented object, at its closing line; 0 if there is no such
        object."""
        data = self.data
        if data[start + 1 : start + 2] not in (b"\n", b"\r"):
            return 0
        if self._close < start:
            close = data.find(b"\n}", start)
            self._close = len(data) if close < 0 else close
        end = self._close + 2
        return end if end - start <= RECORD_BYTES_MAX and is_whole(data[start:end]) else 0

    def _resume_at(self, start: int, broken_at: int) -> int:
        """Returns the start of the line at which the scan resumes after a malformed piece."""
        line_start = self.data.rfind(b"\n", start, broken_at) + 1
        if line_start > start:
            return line_start
        line_end = self.data.find(b"\n", broken_at)
        return len(self.data) if line_end < 0 else line_end + 1

    def _rescue(self, start: int, end: int) -> None:
        """Emits a malformed piece, and the complete objects on lines within it."""
        if not self.last and end == len(self.data):
            end = max(self.data.rfind(b"\n", start) + 1, start) or end
        end = end if end > start else len(self.data)
        broken: list[bytes] = []
        for line in self.data[start:end].split(b"\n"):
            text = line.strip().removesuffix(b",")
            if broken and _is_object_line(text) and is_whole(text):
                self._give_broken(broken)
                self.pieces.append(text)
                broken = []
            elif text or broken:
                broken.append(line)
        self._give_broken(broken)
        self.position = end

    def _give_broken(self, lines: list[bytes]) -> None:
        text = b"\n".join(lines).strip()
        if text:
            self.pieces.append(text[: RECORD_BYTES_MAX + 1])

    def _is_markup(self, start: int) -> bool:
        follows = self.data[start + 1 : start + 2]
        return follows.isalpha() or follows in (b"?", b"/", b"!")

    def _markup(self, start: int) -> bool:
        """Consumes `<Event>...</Event>`. Other tags are containers and are skipped."""
        data = self.data
        if _EVENT_START.match(data, start):
            return self._event(start)
        end = data.find(b">", start, start + XML_TAG_BYTES_MAX)
        if end < 0:
            return self._line(start)
        self.position = end + 1
        return True

    def _event(self, start: int) -> bool:
        """Consumes an XML event, or its start up to the next event."""
        data = self.data
        if self._event_end <= start:
            found = _EVENT_END.search(data, start)
            self._event_end = found.end() if found else len(data) + 1
        end = self._event_end
        if end > len(data) and not self._is_final(start):
            return False
        end = min(end, len(data), start + RECORD_BYTES_MAX + 1)
        following = _EVENT_START.search(data, start + 6, end)
        if following is not None or self._event_end > len(data):
            end = following.start() if following else end
            other = _OTHER_RECORD.search(data, start, end)  # the event is truncated
            end = other.end() if other else end
        self.pieces.append(data[start:end].strip())
        self.position = end
        return True

    def _line(self, start: int) -> bool:
        """Consumes the rest of the line as text, or the JSON object that it contains."""
        data = self.data
        end = data.find(b"\n", start)
        if end < 0:
            if not self._is_final(start):
                return False
            end = len(data)
        line = data[start:end].strip()
        inner = line.find(b"{")
        if (
            inner > 0
            and not _OWN_FORMAT.search(line, 0, inner)
            and _is_object_line(line[inner:])
            and is_whole(line[inner:])
        ):
            line = line[inner:]
        self.pieces.append(line[: RECORD_BYTES_MAX + 1])
        self.position = min(end + 1, len(data))
        return True


def _is_object_line(line: bytes) -> bool:
    """Whether a line looks like exactly one object."""
    if line[:1] != b"{" or line[-1:] != b"}":
        return False
    return not _SEVERAL.search(line) or is_whole(line)


def _object_end(data: bytes, start: int) -> tuple[int, int]:
    """Returns (end, 0) of the object at `start`, or (0, offset) of the position where it is
    malformed or the data end."""
    stack = bytearray()
    before = 58
    until = min(len(data), start + RECORD_BYTES_MAX)
    for token in _TOKEN.finditer(data, start, until):
        at = token.start()
        char = data[at]
        if char in b"}]":
            if not stack or stack[-1] != char - 2:
                return 0, at
            stack.pop()
            if not stack:
                return at + 1, 0
        elif char not in b",:":
            if before not in _BEFORE_VALUE or len(stack) >= RECORD_NESTING_MAX:
                return 0, at
            if char in b"{[":
                if stack[-1:] == b"{" and before != 58:
                    return 0, at
                stack.append(char)
            elif char == 34 and token.lastindex is None:
                return 0, at if data.find(b"\n", at, until) >= 0 else until
        before = char
    return 0, until
