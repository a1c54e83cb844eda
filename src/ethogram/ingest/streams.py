"""Bytes to lines and JSON values: gzip, size limits, no duplicate keys."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NoReturn, cast

from ..models.limits import Limits, over
from .errors import BadLine, Unreadable, shown

# Bytes in: unpacked where they are compressed, line by line, and never more than the limits allow.

GZIP = b"\x1f\x8b"
CHUNK = 256 * 1024
PACKED = 16 * 1024
"""Compressed bytes read at once: few, so that what was read says how much was needed."""

Line = tuple[int, bytes | str]
"""A line with its number from 1; text in place of the line says what is wrong with it."""


def head_of(stream: BinaryIO, size: int) -> bytes:
    """The first bytes of a stream; fewer only where it ends. Pipes hand them over in pieces."""
    return b"".join(_pieces(stream, size))


def head_before_damage(stream: BinaryIO, size: int) -> bytes:
    """The same of a compressed stream, up to where it is torn; reading on raises what is wrong."""
    parts: list[bytes] = []
    try:
        parts.extend(_pieces(stream, size))
    except Unreadable:
        if not b"".join(parts).strip():
            raise
    return b"".join(parts)


def _pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (part := stream.read(size)):
        yield part
        size -= len(part)


def rewound(stream: BinaryIO, head: bytes) -> BinaryIO:
    """The stream from its first byte again, after `head` was taken from it."""
    if stream.seekable():
        stream.seek(-len(head), io.SEEK_CUR)
        return stream
    return cast(BinaryIO, io.BufferedReader(_Rejoined(head, stream), CHUNK))


def unpacked(stream: BinaryIO, limits: Limits) -> tuple[BinaryIO, Callable[[], int]]:
    """What a gzip stream holds, and what tells how many bytes of it were read.

    Reading raises Unreadable where it is torn or grows too large.
    """
    # Not buffered: a buffer would lose what it holds where the stream is torn. `rewound` adds one.
    made = _Unpacked(stream, limits)
    return cast(BinaryIO, made), lambda: made.taken


def lines(stream: BinaryIO, limits: Limits, what: str = "line") -> Iterator[Line]:
    """Each line; a message in place of one too long, which is never held, and of all after damage."""
    number = blank = 0
    try:
        while line := stream.readline(limits.line + 1):
            number += 1
            if line.isspace():
                blank += 1
                if 2 * blank > limits.blank + number:  # more than those that are not, by the limit
                    raise too_blank(limits)
            if len(line) <= limits.line:
                yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(limits.line)
            yield number, over("line", limits.line, f"{what} longer than {limits.line} bytes")
    except Unreadable as error:
        yield number + 1, str(error)


def too_blank(limits: Limits) -> Unreadable:
    """What is wrong with a file in which next to nothing is said."""
    return Unreadable(over("blank", limits.blank, f"more than {limits.blank} lines say nothing"))


def whole(stream: BinaryIO, limits: Limits) -> bytes:
    """All of a stream at once, for formats that cannot be read in pieces."""
    content = head_of(stream, limits.whole + 1)
    if len(content) > limits.whole:
        raise Unreadable(over("whole", limits.whole, f"larger than {limits.whole} bytes"))
    return content


def size_of(stream: BinaryIO) -> int:
    """The bytes of a stream that can seek, which stays where it is."""
    at = stream.tell()
    size = stream.seek(0, io.SEEK_END)
    stream.seek(at)
    return size


def too_large(limits: Limits, packed: int) -> str:
    """What is wrong with a compressed file of so many bytes that unpacks to more than it may."""
    most = limits.most_unpacked(packed)
    if most == limits.unpacked:
        return over("unpacked", most, f"unpacks to more than {most} bytes")
    return over("ratio", limits.ratio, f"unpacks to more than {limits.ratio} times its size")


class _Rejoined(io.RawIOBase):
    """What was read ahead, then the rest: a pipe that can be looked into."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


class _Unpacked(io.RawIOBase):
    """A gzip stream of one or more members. The gzip module knows no limit and hides where it stopped."""

    def __init__(self, packed: BinaryIO, limits: Limits) -> None:
        self._packed = packed
        self._limits = limits
        self._total = self.taken = 0
        self._left = b""
        self._member = zlib.decompressobj(wbits=31)
        self._inside = False
        self._torn = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._torn:
            raise Unreadable(self._torn)
        try:
            part = self._next(len(buffer))
            self._total += len(part)
            if self._total > self._limits.most_unpacked(self.taken):
                raise Unreadable(too_large(self._limits, self.taken))
        except Unreadable as error:
            self._torn = str(error)
            raise
        buffer[: len(part)] = part
        return len(part)

    def _next(self, size: int) -> bytes:
        while True:
            if self._member.eof:
                # Zeros after the last member are padding, as gzip itself takes them.
                self._left = (self._member.unused_data + self._left).lstrip(b"\0")
                self._member, self._inside = zlib.decompressobj(wbits=31), False
            if not self._left:
                self._left = self._packed.read(PACKED)
                self.taken += len(self._left)
            if not self._left:
                if self._inside:
                    raise Unreadable("the gzip file ends in the middle")
                return b""
            if not self._inside and not self._left.lstrip(b"\0"):
                self._left = b""
                continue
            try:
                part = self._member.decompress(self._left, size)
            except zlib.error:
                raise Unreadable("the gzip file is damaged") from None
            self._left, self._inside = self._member.unconsumed_tail, True
            if part:
                return part


# JSON that loses nothing silently: no duplicate keys, no NaN, no surprise on hostile text.

BLANK = " \t\r\n"
BOM = b"\xef\xbb\xbf"


def parse(text: str) -> Any:
    """The value a JSON text holds; BadLine, with the column, where it is not JSON.

    >>> parse('{"a": [1, true]}')
    {'a': [1, True]}
    """
    try:  # without the layers in between, which take as long as a fifth of the reading
        value, end = _SCAN(text, 0)
        if end == len(text):
            return value
    except (StopIteration, ValueError, RecursionError):
        pass  # told below, with its place
    value, end = parse_at(text, 0)
    if end != len(text) and (after := after_blanks(text, end)) != len(text):
        raise BadLine("not JSON: something stands after its end", after + 1)
    return value


def parse_at(text: str, start: int, *, lenient: bool = False) -> tuple[Any, int]:
    """The value at or after a position, and the position after it. Columns count from the text's start.

    With `lenient`, NaN and infinite numbers are null and of a key given twice the last counts: what programs
    write that nobody here can mend.
    """
    try:
        return (LENIENT if lenient else _DECODER).raw_decode(text, after_blanks(text, start))
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg}", error.pos + 1) from None
    except RecursionError:
        raise BadLine("lists and objects are nested too deep") from None
    except BadLine:
        raise
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise BadLine("a number has too many digits") from None


def after_blanks(text: str, start: int) -> int:
    """The first position from `start` on at which something other than white space stands."""
    if text[start : start + 1] not in BLANK:  # nearly always, and quicker than a match; "" is in any text
        return start
    match = _BLANKS.match(text, start)
    return match.end() if match else start


def decode(raw: bytes) -> str:
    """The text of UTF-8 bytes; BadLine with the column of the first byte that is none."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8: byte 0x{raw[error.start]:02x}", error.start + 1) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadLine(f"the key {shown(twice)} is given twice")
    return out


def _no_constant(name: str) -> NoReturn:
    raise BadLine(f"{name} is not a value; leave out what was not measured")


_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
LENIENT = json.JSONDecoder(parse_constant=lambda name: None)
_SCAN: Any = _DECODER.scan_once  # type: ignore[attr-defined]  # not in the stubs
