"""Normalize text for matching: Unicode folding, leetspeak, offsets back to the original.

Folded text is ASCII: lower-case plain letters, one space for any white space. Emphasis marks (`*`, `~`, `_`
around words) and hyphens inside words become spaces.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

LETTER = "2"  # a letter or digit that looks like no Latin one: part of a word, and in no phrase
SIGN = "|"  # any other sign: ends a word and a clause

_PAIRS = (
    # Cyrillic
    "аa вb еe ѕs іi јj кk мm нh оo рp сc ԁd тt уy хx һh ӏl ԛq ԝw ԍg гr пn ьb "
    "Аa Вb Еe Ѕs Іi Јj Кk Мm Нh Оo Рp Сc Ԁd Тt Уy Хx Һh Ӏl Ԛq Ԝw Ԍg "
    # Greek: capitals and small letters look like different ones
    "αa βb εe ηn ιi κk μu νv οo ρp σo τt υu χx ωw γy Αa Βb Εe Ζz Ηh Ιi Κk Μm Νn Οo Ρp Τt Υy Χx "
    # Armenian, phonetic and other Latin
    "օo սu ոn հh ցg ɑa ɡg ɩi ʀr ʟl ıi ɪi ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ᴊj ᴋk ᴍm ɴn ᴏo ᴘp ꜱs "
    "ᴛt ᴜu ᴠv ᴡw ʏy ᴢz øo łl đd"
)
_LOOK_ALIKE = {pair[0]: pair[1] for pair in _PAIRS.split()}
_SIGNS = {
    **dict.fromkeys("‘’‚‛ʹʻʼʽˈ′＇´ꞌ", "'"),
    **dict.fromkeys("“”„‟«»″＂「」『』", '"'),
    **dict.fromkeys("‐‑⁃﹣－", "-"),
    # A dash separates like a semicolon.
    **dict.fromkeys("‒–—―−", ";"),
    **dict.fromkeys("…。、，", "."),
}
_BLANK = ("Zs", "Zl", "Zp")
_NOTHING = ("Mn", "Me", "Cf", "Cc")  # combining marks, zero-width and control characters


@lru_cache(maxsize=1 << 14)
def fold_character(character: str) -> str:
    """What one character folds to, in ASCII; white space is a space.

    >>> ["".join(map(fold_character, run)) for run in ("асt", "ﬁ", "ⓉＲ𝒖", "\u200b", "’ж🦞")]
    ['act', 'fi', 'tru', '', "'2|"]
    """
    if character in _SIGNS:
        return _SIGNS[character]
    if character in _LOOK_ALIKE:
        return _LOOK_ALIKE[character]
    if character.isascii():
        return character.lower()
    category = unicodedata.category(character)
    if category in _BLANK or character == "\x85":
        return " "
    if category in _NOTHING:
        return ""
    # Compatibility forms (fullwidth, mathematical, ligatures) and letters with marks fall apart.
    parts = unicodedata.normalize("NFKD", character)
    if parts != character and len(parts) <= 18:
        folded = "".join(map(fold_character, parts))
        if folded.strip(LETTER + SIGN):
            return folded
    return LETTER if character.isalnum() else SIGN


_LEET = bytes.maketrans(b"013457@$", b"oieastas")
# Patterns start with the sign itself, which is quicker to find than one of several.
_SIGNS_IN_WORD = [
    (b"@", re.compile(rb"@(?<=[a-z]@)(?=[a-z])")),
    (b"$", re.compile(rb"\$(?<=[a-z]\$)(?=[a-z])")),
]
# Letters as 'a', digits that may stand for one as '0', other digits as '2', all else as ' '.
_KINDS = bytearray(b" " * 256)
for _kind, _codes in ((b"a", b"abcdefghijklmnopqrstuvwxyz"), (b"0", b"013457"), (b"2", b"2689")):
    for _code in _codes:
        _KINDS[_code] = _kind[0]
_BESIDE = re.compile(rb"0(?:(?<=a0)|(?=a))")


def read_leet(text: bytes) -> bytes:
    """The text with digits and signs read as letters, in words that are mostly letters.

    >>> read_leet(b"tru5t m4n ca$h, not 10ms, b2b, a1, 3d or 1984")
    b'trust man cash, not 10ms, b2b, a1, 3d or 1984'
    """
    for sign, in_word in _SIGNS_IN_WORD:
        if sign in text:
            text = in_word.sub(sign.translate(_LEET), text)
    kinds = text.translate(_KINDS)
    match = _BESIDE.search(kinds)
    if match is None:
        return text
    out = bytearray(text)
    while match is not None:
        near = match.start()
        start, end = kinds.rfind(b" ", 0, near) + 1, kinds.find(b" ", near)
        end = len(kinds) if end < 0 else end
        letters = kinds.count(b"a", start, end)
        if letters >= 2 and 2 * letters > end - start:
            out[start:end] = text[start:end].translate(_LEET)
        match = _BESIDE.search(kinds, end)
    return bytes(out)


# All but ASCII and frequent characters that fold to one each.
_UNUSUAL = re.compile(
    "[^\x00-\x7f’—“”–…•\u2190-\u21ff\u2500-\u257f\u2600-\u26ff\u2700-\u2767\U0001f300-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f900-\U0001f9ff]+"
)
_SPACES = re.compile(rb"  +")
# Each starts with the sign itself, which is quicker to find than a look-behind.
_HYPHEN = re.compile(rb"-(?<=[a-z0-9]-)(?=[a-z0-9])")
_EMPHASIS = re.compile(rb"_(?:(?<![a-z0-9]_)|(?![a-z0-9]))")
_ERRORS = "ethogram.fold"
_COMMON = "’—“”–…"  # replaced all at once, since many texts are full of them


def _table() -> bytes:
    table = bytearray(range(256))
    for code in range(128):
        character = chr(code)
        table[code] = ord(character.lower())
        if character.isspace() or character in "*~":
            table[code] = ord(" ")
        elif code < 32 or code == 127:
            table[code] = ord("|")
    return bytes(table)


_TABLE = _table()
BETWEEN = "\0"  # separates texts that are folded together; texts with it are folded alone
_JOINED = b"\0" + _TABLE[1:]


class Folded(NamedTuple):
    """`text` is matched; `spaced` is the same before runs of spaces become one."""

    text: bytes
    spaced: bytes
    original: str


def fold(original: str, *, joined: bool = False) -> Folded:
    """Fold a text for matching; `joined` where it is several with BETWEEN between them.

    >>> fold("Ac\u200bt\\n\\n **N0W**, lоok-alike").text
    b'act now , look alike'
    """
    plain = original
    if not plain.isascii():
        for sign in _COMMON:
            if sign in plain:
                plain = plain.replace(sign, fold_character(sign))
    spaced = plain.encode("ascii", _ERRORS).translate(_JOINED if joined else _TABLE)
    if b"-" in spaced:
        spaced = _HYPHEN.sub(b" ", spaced)
    if b"_" in spaced:
        spaced = _EMPHASIS.sub(b" ", spaced)
    spaced = read_leet(spaced)
    text = _SPACES.sub(b" ", spaced) if b"  " in spaced else spaced
    return Folded(text, spaced, original)


def _put(error: UnicodeError) -> tuple[str, int]:
    """The encoder's replacement for a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(fold_character, error.object[error.start : error.end])), error.end


# The encoder passes over ASCII at full speed.
codecs.register_error(_ERRORS, _put)


class Offsets:
    """Maps offsets in the folded text to the original."""

    __slots__ = ("_at", "_gaps", "_origins", "_removed")

    def __init__(self, folded: Folded) -> None:
        # Where runs of spaces became one, and how many spaces were removed up to there.
        self._gaps: list[int] = []
        self._removed: list[int] = []
        total = 0
        for match in _SPACES.finditer(folded.spaced) if len(folded.text) != len(folded.spaced) else ():
            self._gaps.append(match.start() - total + 1)
            total += match.end() - match.start() - 1
            self._removed.append(total)
        # Where pieces of equal length start, in the folded text and in the original.
        self._at: list[int] = []
        self._origins: list[int] = []
        shift = 0
        for run in () if folded.original.isascii() else _UNUSUAL.finditer(folded.original):
            for origin, character in enumerate(run[0], start=run.start()):
                width = len(fold_character(character))
                if width != 1:
                    self._at += range(origin + shift, origin + shift + width)
                    self._origins += [origin] * width
                    shift += width - 1
                    self._at.append(origin + 1 + shift)
                    self._origins.append(origin + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original's slice for a slice of the folded text, which must not be empty."""
        return self._original(start), self._original(end - 1) + 1

    def _original(self, place: int) -> int:
        if self._gaps and (index := bisect_right(self._gaps, place)):
            place += self._removed[index - 1]
        if self._at and (index := bisect_right(self._at, place)):
            return self._origins[index - 1] + place - self._at[index - 1]
        return place
