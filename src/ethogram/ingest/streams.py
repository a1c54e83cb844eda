"""Bytes to lines and JSON values: gzip, size limits, strict JSON."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NoReturn, cast

from ..models.limits import Limits, over
from .errors import BadLine, Unreadable, shown

GZIP = b"\x1f\x8b"
CHUNK = 256 * 1024
COMPRESSED_CHUNK = 16 * 1024
"""Compressed bytes read at once: few, so that the count of bytes read is close to the bytes needed."""

Line = tuple[int, bytes | str]
"""A line and its number from 1; a str in place of the line says what is wrong with it."""


def read_head(stream: BinaryIO, size: int, *, damaged: bool = False) -> bytes:
    """Return the first bytes of a stream; fewer only where it ends. Pipes deliver them in pieces.

    With `damaged`, a compressed stream may fail after some bytes: these are returned, and reading on raises.
    """
    parts: list[bytes] = []
    try:
        while size > 0 and (part := stream.read(size)):
            parts.append(part)
            size -= len(part)
    except Unreadable:
        if not damaged or not b"".join(parts).strip():
            raise
    return b"".join(parts)


def rewind(stream: BinaryIO, head: bytes) -> BinaryIO:
    """Return the stream from its first byte again, after `head` was read from it."""
    if stream.seekable():
        stream.seek(-len(head), io.SEEK_CUR)
        return stream
    return cast(BinaryIO, io.BufferedReader(_Rejoined(head, stream), CHUNK))


def until(stream: BinaryIO, end: int) -> BinaryIO:
    """Return the stream without the bytes from `end` on, which may still be written."""
    return cast(BinaryIO, io.BufferedReader(_Until(stream, end), CHUNK))


class _Until(io.RawIOBase):
    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream, self._end = stream, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            offset, whence = self._end + offset, io.SEEK_SET
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        part = self._stream.read(max(0, min(len(buffer), self._end - self._stream.tell())))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def decompress(stream: BinaryIO, limits: Limits) -> tuple[BinaryIO, Callable[[], int]]:
    """Return the content of a gzip stream, and a function that counts the compressed bytes read so far.

    Reading raises Unreadable where the stream is damaged or unpacks to more than the limits allow.
    """
    # Not buffered: a buffer would lose its content where the stream is damaged. `rewind` adds one.
    content = _Gunzip(stream, limits)
    return cast(BinaryIO, content), lambda: content.consumed


def lines(stream: BinaryIO, limits: Limits, what: str = "line") -> Iterator[Line]:
    """Yield each line without a byte order mark; a message in place of one too long, and at any damage."""
    number = blank = 0
    try:
        while line := stream.readline(limits.line + 1):
            number += 1
            if line.isspace():
                blank += 1
                if 2 * blank > limits.blank + number:  # more than the lines with content, by the limit
                    raise too_blank(limits)
            if len(line) <= limits.line:
                yield number, line.removeprefix(BOM) if number == 1 else line
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(limits.line)
            yield number, over("line", limits.line, f"{what} longer than {limits.line} bytes")
    except Unreadable as error:
        yield number + 1, str(error)


def too_blank(limits: Limits) -> Unreadable:
    """Return the error for a file of hardly anything but blank lines."""
    return Unreadable(over("blank", limits.blank, f"more than {limits.blank} blank lines"))


def read_whole(stream: BinaryIO, limits: Limits) -> bytes:
    """Return all bytes of a stream, for formats that cannot be read in pieces."""
    content = read_head(stream, limits.whole + 1)
    if len(content) > limits.whole:
        raise Unreadable(over("whole", limits.whole, f"larger than {limits.whole} bytes"))
    return content


def seekable(stream: BinaryIO, limits: Limits) -> tuple[BinaryIO, int]:
    """Return a stream that can seek, held in memory if it has to be, and its size in bytes."""
    if not stream.seekable():
        stream = io.BytesIO(read_whole(stream, limits))
    start = stream.tell()
    size = stream.seek(0, io.SEEK_END)
    stream.seek(start)
    return stream, size


def too_large(limits: Limits, compressed: int) -> str:
    """Return the message for a file of that many compressed bytes that unpacks to more than it may."""
    most = limits.most_unpacked(compressed)
    if most == limits.unpacked:
        return over("unpacked", most, f"unpacks to more than {most} bytes")
    return over("ratio", limits.ratio, f"unpacks to more than {limits.ratio} times its size")


class _Rejoined(io.RawIOBase):
    """The bytes read ahead, then the rest of a pipe."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


class _Gunzip(io.RawIOBase):
    """A gzip stream of one or more members. The gzip module has no size limit and hides where it stopped."""

    def __init__(self, compressed: BinaryIO, limits: Limits) -> None:
        self._compressed = compressed
        self._limits = limits
        self._total = self.consumed = 0
        self._pending = b""
        self._member = zlib.decompressobj(wbits=31)
        self._inside_member = False
        self._damage = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._damage:
            raise Unreadable(self._damage)
        try:
            part = self._next(len(buffer))
            self._total += len(part)
            if self._total > self._limits.most_unpacked(self.consumed):
                raise Unreadable(too_large(self._limits, self.consumed))
        except Unreadable as error:
            self._damage = str(error)
            raise
        buffer[: len(part)] = part
        return len(part)

    def _next(self, size: int) -> bytes:
        while True:
            if self._member.eof:
                # Zeros after the last member are padding, as for gzip itself.
                self._pending = (self._member.unused_data + self._pending).lstrip(b"\0")
                self._member, self._inside_member = zlib.decompressobj(wbits=31), False
            if not self._pending:
                self._pending = self._compressed.read(COMPRESSED_CHUNK)
                self.consumed += len(self._pending)
            if not self._pending:
                if self._inside_member:
                    raise Unreadable("the gzip file ends in the middle")
                return b""
            if not self._inside_member and not self._pending.lstrip(b"\0"):
                self._pending = b""
                continue
            try:
                part = self._member.decompress(self._pending, size)
            except zlib.error:
                raise Unreadable("the gzip file is damaged") from None
            self._pending, self._inside_member = self._member.unconsumed_tail, True
            if part:
                return part


# Strict JSON: no duplicate keys, no NaN.

BLANK = " \t\r\n"
BOM = b"\xef\xbb\xbf"


def parse(text: str) -> Any:
    """Return the value of a JSON text; BadLine, with the column, where it is not JSON.

    >>> parse('{"a": [1, true]}')
    {'a': [1, True]}
    """
    try:  # without the layers in between, which take a fifth of the time
        value, end = _SCAN(text, 0)
        if end == len(text):
            return value
    except (StopIteration, ValueError, RecursionError):
        pass  # raised again below, with its place
    return parse_only(text)


def parse_only(text: str, *, lenient: bool = False) -> Any:
    """Return the only value in a text; see `parse_at` for `lenient`.

    >>> parse_only('{"a": NaN} ', lenient=True)
    {'a': None}
    """
    value, end = parse_at(text, 0, lenient=lenient)
    if (rest := after_blanks(text, end)) != len(text):
        raise BadLine("not JSON: unexpected text after the value", rest + 1)
    return value


def parse_at(text: str, start: int, *, lenient: bool = False) -> tuple[Any, int]:
    """Return the value at or after a position, and the position after it. Columns count from the start.

    With `lenient`, for files of other programs, NaN and infinite numbers are null and the last of duplicate
    keys counts.
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


def parse_array(text: str, *, lenient: bool = False) -> Iterator[tuple[int, Any, int]]:
    """Yield start, value and end of each element of a JSON array."""
    begin = after_blanks(text, 0)
    if not text.startswith("[", begin):
        if begin == len(text):
            return
        raise BadLine("not JSON: an array begins with '['", begin + 1)
    at = after_blanks(text, begin + 1)
    more = text[at : at + 1] != "]"
    while more:
        value, end = parse_at(text, at, lenient=lenient)
        yield at, value, end
        at = after_blanks(text, end)
        if text[at : at + 1] not in (",", "]"):
            raise BadLine("not JSON: ',' or ']' is missing after an element", at + 1)
        more = text[at] == ","
        at = after_blanks(text, at + 1) if more else at
    if (rest := after_blanks(text, at + 1)) != len(text):
        raise BadLine("not JSON: unexpected text after the value", rest + 1)


def after_blanks(text: str, start: int) -> int:
    """Return the first position from `start` on that is not white space."""
    if text[start : start + 1] not in BLANK:  # nearly always, and quicker than a match; "" is in any text
        return start
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start


def decode(raw: bytes) -> str:
    """Return the text of UTF-8 bytes; BadLine with the column of the first invalid byte."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8: byte 0x{raw[error.start]:02x}", error.start + 1) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        duplicate = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise BadLine(f"duplicate key {shown(duplicate)}")
    return out


def _no_constant(name: str) -> NoReturn:
    raise BadLine(f"{name} is not a value: leave out what was not measured")


_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)
LENIENT = json.JSONDecoder(parse_constant=lambda name: None)
_SCAN: Any = _DECODER.scan_once  # type: ignore[attr-defined]  # not in the stubs
