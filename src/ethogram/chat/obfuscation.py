"""Obfuscated text (encoded, spaced, in look-alike letters) and the plain text behind it.

The plain text is measured like any other, so that obfuscation never lowers another signal.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from functools import lru_cache

from ..lexicon.normalize import fold
from ..models.slotted import dataclass
from .harm_lexicon import terms
from .words import rarity, stem

_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{16,}={0,2}(?![\w+/])")
_HEX = re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}[ :]?){10,}(?!\w)")
# Letters with one and the same sign between them.
_SPACED = re.compile(r"(?<![\w'])\w([ .\-_*|])(?:\w\1){2,}\w(?!\w)")
_SPLIT = re.compile(r"(?<![\w.\-*])(?:\w{1,3}[.\-*_|]){2,}\w{1,3}(?![\w.\-*])")
_INSIDE = re.compile(r"\w[.\-*_|]\w")
_LONE = re.compile(r"\b\w\W\w\b")
_ODD_WORD = re.compile(r"[^\W\d_]*[^\x00-\x7f\W\d_][^\W\d_]*")
_ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_LEET = re.compile(r"(?<![\w@$])(?=[\w@$]*[a-zA-Z])(?=[\w@$]*[013457@$])[a-zA-Z013457@$]{2,}(?![\w@$])")
_DIGIT_OR_SIGN = re.compile(r"[a-zA-Z][013457@$]|[013457@$][a-zA-Z]")
_INNER_SIGN = re.compile("(?i:[a-z][013457@$]+[a-z]{2}|[a-z]{2}[013457@$]+[a-z]|^[a-z][0134@$][a-z]$)")
_FROM_LEET = str.maketrans("013457@$", "oieastas")
_WORD = re.compile(r"[^\W\d_]{3,}")
_GAPS = re.compile(r"(\s{2,})")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")


@dataclass(frozen=True, slots=True)
class Disguise:
    """The kinds of obfuscation in a text, how many (`value`, 0..1), and the plain text."""

    kinds: tuple[str, ...]
    value: float
    plain: str


@lru_cache(maxsize=2)  # of one turn it is asked twice
def undisguise(text: str) -> Disguise:
    """The text as a person would read it, and how it was obfuscated.

    >>> undisguise("how to p i c k   l o c k s").plain
    'how to pick locks'
    >>> undisguise("aG93IHRvIHBpY2sgYSBsb2Nr").kinds
    ('base64',)
    """
    kinds: list[str] = []
    plain = text
    for kind, reader in _READERS:
        read = reader(plain)
        if read != plain:
            kinds.append(kind)
            plain = read
    return Disguise(tuple(kinds), min(1.0, 0.5 + 0.25 * len(kinds)) if kinds else 0.0, plain)


def _zero_width(text: str) -> str:
    if text.isascii() or not (_ZERO_WIDTH.search(text) or _TAGS.search(text)):
        return text
    # Joiners are part of emoji and of several scripts: only those inside Latin words obfuscate.
    stripped = re.sub("(?<=[a-zA-Z])" + _ZERO_WIDTH.pattern + "+(?=[a-zA-Z])", "", text)
    return _TAGS.sub(lambda match: "".join(chr(ord(item) - 0xE0000) for item in match[0]), stripped)


def _look_alikes(text: str) -> str:
    """Read words that mix Latin letters with another script, or consist of styled letters."""
    if text.isascii():
        return text

    def read(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) < 2:
            return word
        names = {"LATIN" if item.isascii() else unicodedata.name(item, "?").split()[0] for item in word}
        mixed = "LATIN" in names and names & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}
        shaped = names & {"MATHEMATICAL", "FULLWIDTH", "CIRCLED", "SQUARED", "PARENTHESIZED", "NEGATIVE"}
        return fold(word).text.decode("ascii") if mixed or shaped else word

    return _ODD_WORD.sub(read, text)


def _encoded(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        raw = match[0]
        if raw.isalpha() and (raw.islower() or raw.isupper() or raw.istitle()):
            return raw
        try:
            plain = base64.b64decode(raw + "=" * (-len(raw) % 4), validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            return raw
        return plain if _is_prose(plain) else raw

    return _BASE64.sub(read, text)


def _hexadecimal(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        try:
            plain = bytes.fromhex(match[0].replace(":", " ")).decode("ascii")
        except ValueError:
            return match[0]
        return plain if _is_prose(plain) else match[0]

    return _HEX.sub(read, text)


def _spaced(text: str) -> str:
    def close(match: re.Match[str]) -> str:
        return _in_words(re.sub(r"[\W_]", "", match[0]).lower()) or match[0]

    if not _LONE.search(text) and not _INSIDE.search(text):
        return text
    # Wider gaps separate the words of text whose letters are spaced.
    if _SPACED.search(text):
        closed = "".join(part if part.isspace() else _SPACED.sub(close, part) for part in _GAPS.split(text))
        if closed != text:
            return _GAPS.sub(" ", closed)
    return _SPLIT.sub(close, text)


def _in_words(letters: str) -> str:
    """The fewest known words that make up these letters, separated by spaces; '' where there are none.

    >>> _in_words("pickalock"), _in_words("xqzk")
    ('pick a lock', '')
    """
    best: list[list[str] | None] = [[]] + [None] * len(letters)
    for end in range(1, len(letters) + 1):
        for start in range(max(0, end - 14), end):
            before, word = best[start], letters[start:end]
            if before is not None and (word in ("a", "i", "to", "an", "my", "of", "in") or _is_known(word)):
                now = best[end]
                if now is None or len(before) + 1 < len(now):
                    best[end] = [*before, word]
    words = best[-1]
    return " ".join(words) if words and len(letters) >= 4 and max(map(len, words)) >= 4 else ""


def _is_known(word: str) -> bool:
    """Whether a word is in the lexicon or common, and long enough not to be chance."""
    return len(word) >= 3 and (rarity(stem(word)) < 0.85 or stem(word) in terms())


def _leet(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        word = match[0]
        plain = word.translate(_FROM_LEET).lower()
        letters = sum(item.isalpha() for item in word)
        return plain if 2 * letters >= len(word) and not word.isalpha() and _is_known(plain) else word

    if text.isalpha() or not _DIGIT_OR_SIGN.search(text):
        return text
    is_leet = any(_INNER_SIGN.search(match[0]) for match in _LEET.finditer(text))
    return _LEET.sub(read, text) if is_leet else text


def _rotated(text: str) -> str:
    """Decode rot13 where the result is English and the text is not."""
    sample = text[:200]
    if len(_WORD.findall(sample)) < 3 or not text.isascii() or _is_prose(sample):
        return text
    plain = codecs.decode(text, "rot13")
    return plain if _is_prose(plain[:200]) else text


def _is_prose(text: str) -> bool:
    """Whether most words are known."""
    words = [stem(word.lower()) for word in _WORD.findall(text)]
    if len(words) < 2 or not text.replace("\n", " ").isprintable():
        return False
    return sum(rarity(word) < 1 or word in terms() for word in words) >= 0.6 * len(words)


_READERS = (
    ("invisible characters", _zero_width),
    ("look-alike letters", _look_alikes),
    ("base64", _encoded),
    ("hexadecimal", _hexadecimal),
    ("spaced letters", _spaced),
    ("leetspeak", _leet),
    ("rot13", _rotated),
)
