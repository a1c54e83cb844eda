"""What one character folds to: a lower-case ASCII letter, digit or sign, or nothing."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

LETTER = "2"
"""Stands for a letter or digit that looks like none of ours: part of a word, and in no phrase."""

SIGN = "|"
"""Stands for any other sign: ends a word and a clause."""

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
    # A dash between two halves of a sentence parts them as a semicolon does.
    **dict.fromkeys("‒–—―−", ";"),
    **dict.fromkeys("…。、，", "."),
}
_BLANK = ("Zs", "Zl", "Zp")
_NOTHING = ("Mn", "Me", "Cf", "Cc")
"""Combining marks, zero-width characters, soft hyphens, direction marks and controls."""


def fold_run(run: str) -> str:
    """What a few characters fold to.

    >>> [fold_run(run) for run in ("асt", "ﬁ", "ⓉＲ𝒖", "\u200b", "’ж🦞")]
    ['act', 'fi', 'tru', '', "'2|"]
    """
    # Only single characters are remembered: there are few of them, and any number of runs.
    return "".join(map(fold_character, run)) if len(run) > 1 else fold_character(run)


@lru_cache(maxsize=1 << 14)
def fold_character(character: str) -> str:
    """What one character folds to, in ASCII; white space is a space."""
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
