"""Leetspeak: digits and signs that stand for letters inside words."""

from __future__ import annotations

import re

_LEET = bytes.maketrans(b"013457@$", b"oieastas")
_SIGN_IN_WORD = re.compile(rb"[@$](?<=[a-z][@$])(?=[a-z])")
# A digit that may stand for a letter, beside a letter; it begins with the digit, which is soon found.
_BESIDE = re.compile(rb"[013457](?:(?<=[a-z][013457])|(?=[a-z]))")
_NO_LETTERS = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))


def _kinds() -> bytes:
    """Letters and digits as 'a', all else as ' '."""
    return bytes(ord("a" if chr(code).isascii() and chr(code).isalnum() else " ") for code in range(256))


_KINDS = _kinds()


def read_leet(text: bytes) -> bytes:
    """The text with digits and signs read as letters, in words that are mostly letters.

    >>> read_leet(b"tru5t m4n ca$h, not 10ms, b2b, a1, 3d or 1984")
    b'trust man cash, not 10ms, b2b, a1, 3d or 1984'
    """
    if b"@" in text or b"$" in text:
        text = _SIGN_IN_WORD.sub(_as_letter, text)
    match = _BESIDE.search(text)
    if match is None:
        return text
    kinds = text.translate(_KINDS)
    out = bytearray(text)
    while match is not None:
        near = match.start()
        start, end = kinds.rfind(b" ", 0, near) + 1, kinds.find(b" ", near)
        end = len(kinds) if end < 0 else end
        out[start:end] = _word(text[start:end])
        match = _BESIDE.search(text, end)
    return bytes(out)


def _as_letter(match: re.Match[bytes]) -> bytes:
    return match[0].translate(_LEET)


def _word(word: bytes) -> bytes:
    letters = len(word.translate(None, _NO_LETTERS))
    return word.translate(_LEET) if letters >= 2 and 2 * letters > len(word) else word
