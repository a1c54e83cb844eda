"""JSON that loses nothing silently: no duplicate keys, no NaN, no surprise on hostile text."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from .errors import BadLine, shown

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
        return (_LENIENT if lenient else _DECODER).raw_decode(text, after_blanks(text, start))
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
    found = _BLANKS.match(text, start)
    return found.end() if found else start


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
_LENIENT = json.JSONDecoder(parse_constant=lambda name: None)
_SCAN: Any = _DECODER.scan_once  # type: ignore[attr-defined]  # not in the stubs
