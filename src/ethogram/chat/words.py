"""Words of a text as they are compared (folded, stemmed, with their rarity), its language, content files.

Content files hold words, phrases or regular expressions under headings in brackets; `#` starts a comment.
Rarity comes from `frequencies.txt`: in how many of some ten thousand texts of free software a word occurs
(tools/count_words.py). In that register `kill` and `attack` are common, which errs on the safe side.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache, lru_cache

from ..data import DATA
from ..lexicon.normalize import fold

FOLDER = DATA / "chat"


def lines_of(name: str) -> list[str]:
    """The lines of a content file that are neither empty nor comments."""
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Lines of a content file by heading; those of equal headings are joined."""
    by_heading: dict[str, tuple[str, ...]] = {}
    heading = ""
    for line in lines_of(name):
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
        else:
            by_heading[heading] = (*by_heading.get(heading, ()), line)
    return by_heading


def words_of(name: str, heading: str) -> frozenset[str]:
    """The words of a section, separated by white space."""
    return frozenset(word for line in sections(name)[heading] for word in line.split())


def stems_of(name: str, heading: str) -> frozenset[str]:
    """The stems of the words of a section."""
    return frozenset(map(stem, words_of(name, heading)))


def alternatives(name: str, heading: str, before: str = r"\b(?:", after: str = r")\b") -> re.Pattern[str]:
    """A regular expression with the lines of a section as alternatives."""
    return re.compile(before + "|".join(sections(name)[heading]) + after)


LONGEST = 2000  # characters of a text that are read, half of them at either end
LONGEST_WORD = 32
SAMPLE = 400  # characters that decide on the language

_WORD = re.compile(r"[a-z][a-z']*|\d+")
_ENDINGS = (
    ("ations", "ate"), ("ation", "ate"), ("iness", "y"), ("ies", "y"), ("ying", "y"), ("ings", ""),
    ("ing", ""), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ied", "y"), ("ed", ""),
    ("ly", ""), ("s", ""),
)  # fmt: skip
_VOWELS = "aeiou"
_KEEP = words_of("small_words", "whole")


def clipped(text: str) -> str:
    """The text, or where it is longer than LONGEST its two ends."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else text[:half] + "\n" + text[-half:]


def tokens(text: str) -> list[str]:
    """Stems of the words of a text in order, small words and numbers included.

    >>> tokens("Mixing the CHEMICALS, n0w!")
    ['mix', 'the', 'chemical', 'now']
    """
    return [stem(word[:LONGEST_WORD]) for word in _WORD.findall(fold(text).text.decode("ascii"))]


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """A word without its commonest English endings: equal for a word, its plural, -ing and -ed.

    >>> [stem(word) for word in ("mixing", "mixes", "stopped", "making", "process", "batteries", "cute")]
    ['mix', 'mix', 'stop', 'make', 'process', 'battery', 'cute']
    """
    word = word.removesuffix("'s").strip("'")
    if word in _KEEP or len(word) < 4:
        return word
    if not word.endswith(("ss", "us", "is")):
        for ending, put in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) + len(put) >= 3:
                word = _whole(word[: len(word) - len(ending)], ending) + put
                break
    # Five letters and more lose a last e, so that `forge` and `forging` meet; `cute` must not become `cut`.
    return word[:-1] if len(word) > 4 and word[-1] == "e" and word[-2] not in "eo" else word


def _whole(stump: str, ending: str) -> str:
    """The word before -ing or -ed: one letter of a pair goes (`stopp`), a lost e returns (`mak`)."""
    if ending not in ("ing", "ings", "ed"):
        return stump
    if len(stump) > 3 and stump[-1] == stump[-2] and stump[-1] not in "lsz":
        return stump[:-1]
    is_vowel = [letter in _VOWELS for letter in stump]
    return stump + "e" if is_vowel == [False, True, False] and stump[2] not in "wxy" else stump


@cache
def small_words() -> frozenset[str]:
    """Stems of words that say nothing about a topic."""
    return stems_of("small_words", "small")


def content(stems: list[str]) -> frozenset[str]:
    """The stems that carry a text's topic."""
    small = small_words()
    return frozenset(stem for stem in stems if stem not in small and len(stem) > 1 and not stem.isdigit())


@cache
def _frequencies() -> tuple[int, dict[str, int]]:
    # The first line holds the number of documents.
    (_, total), *pairs = (line.split() for line in lines_of("frequencies"))
    return int(total), {word: int(n) for word, n in pairs}


@lru_cache(maxsize=1 << 14)
def rarity(word: str) -> float:
    """Inverse document frequency from 0 (in every text) to 1 (in none counted).

    >>> rarity("the") < rarity("system") < rarity("poison")
    True
    """
    total, counts = _frequencies()
    return math.log(total / max(2, counts.get(word, 0))) / math.log(total / 2)


_SMALL = {code: words_of("languages", code) for code in sections("languages")}
_LETTERS = re.compile(r"[^\W\d_]+")
FEWEST = 2  # small words that identify a language of the Latin script
UNKNOWN = "unknown"


def script_of(text: str) -> str | None:
    """The script of most letters (`LATIN`, `CYRILLIC`, ...), None without letters.

    >>> script_of("Как это сделать?"), script_of("12 + 3")
    ('CYRILLIC', None)
    """
    if text[:SAMPLE].isascii():
        return "LATIN" if _LETTERS.search(text[:SAMPLE]) else None
    counts: dict[str, int] = {}
    for letter in text[:SAMPLE]:
        if letter.isalpha():
            name = "LATIN" if letter.isascii() else unicodedata.name(letter, "?").split()[0]
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def language_of(text: str) -> str | None:
    """A code such as `en`, or the script's lower-case name for others than Latin; None where it is unclear.

    UNKNOWN where none of its words is known.

    >>> [language_of(text) for text in ("How do you do that?", "¿Cómo puedo hacer eso?", "Yes, I do.", "Ok!")]
    ['en', 'es', 'en', None]
    """
    script = script_of(text)
    if script != "LATIN":
        return script and script.lower()
    words = [word.lower() for word in _LETTERS.findall(text[:SAMPLE])]
    counts = {code: sum(word in small for word in words) for code, small in _SMALL.items()}
    best = max(counts, key=lambda code: (counts[code], code == "en"))
    rest = max(count for code, count in counts.items() if code != best)
    # English wins a tie: Polish shares its `i`, `to` and `do`.
    if counts[best] >= FEWEST and (counts[best] > rest or best == "en"):
        return best
    return UNKNOWN if _is_strange(text[:SAMPLE]) else None


def _is_strange(text: str) -> bool:
    """Whether no word is known, of three and more that are not all names."""
    if sum(word[0].islower() for word in _LETTERS.findall(text)) < FEWEST:
        return False
    stems = [stem for stem in tokens(text) if not stem.isdigit()]
    known, small = _frequencies()[1], small_words()
    return len(stems) > FEWEST and not any(stem in known or stem in small for stem in stems)
