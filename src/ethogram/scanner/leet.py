"""Leetspeak: digits and signs that stand for letters inside words."""

from __future__ import annotations

import re

_LEET = bytes.maketrans(b"013457@$", b"oieastas")
_SIGN_IN_WORD = re.compile(rb"[@$](?<=[a-z][@$])(?=[a-z])")
_NO_LETTERS = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))


def _kinds() -> bytes:
    """Letters as 'a', digits that may stand for letters as '1', other digits as '9', all else as ' '."""
    table = bytearray(b" " * 256)
    for codes, kind in ((b"abcdefghijklmnopqrstuvwxyz", "a"), (b"013457", "1"), (b"2689", "9")):
        for code in codes:
            table[code] = ord(kind)
    return bytes(table)


_KINDS = _kinds()


def read_leet(text: bytes) -> bytes:
    """The text with digits and signs read as letters, in words that are mostly letters.

    >>> read_leet(b"tru5t m4n ca$h, not 10ms, b2b, a1, 3d or 1984")
    b'trust man cash, not 10ms, b2b, a1, 3d or 1984'
    """
    if b"@" in text or b"$" in text:
        text = _SIGN_IN_WORD.sub(_as_letter, text)
    kinds = text.translate(_KINDS)
    if b"1" not in kinds:
        return text
    first, second = kinds.find(b"a1"), kinds.find(b"1a")
    if first < 0 and second < 0:
        return text
    out = bytearray(text)
    while first >= 0 or second >= 0:
        near = min(place for place in (first, second) if place >= 0)
        start, end = kinds.rfind(b" ", 0, near) + 1, kinds.find(b" ", near)
        end = len(kinds) if end < 0 else end
        out[start:end] = _word(text[start:end])
        # Each is looked for again only once passed, so that the whole is one walk through the text.
        if 0 <= first < end:
            first = kinds.find(b"a1", end)
        if 0 <= second < end:
            second = kinds.find(b"1a", end)
    return bytes(out)


def _as_letter(match: re.Match[bytes]) -> bytes:
    return match[0].translate(_LEET)


def _word(word: bytes) -> bytes:
    letters = len(word.translate(None, _NO_LETTERS))
    return word.translate(_LEET) if letters >= 2 and 2 * letters > len(word) else word
