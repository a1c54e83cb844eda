"""scan: what the lexicon finds in one text; scan_many: in many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from ..errors import BadUsage
from .context import Quotes, is_denied_or_mentioned
from .language import language_of
from .lexicon import Lexicon, load_lexicon
from .matcher import Match
from .normalize import BETWEEN, Folded, Offsets, fold
from .records import Flag, Scan

LONGEST = 1_000_000  # so many characters of a text are looked at

TOGETHER = 1 << 16  # so many characters of short texts are looked at together

REMEMBERED = 1 << 13
"""Networks repeat themselves: so many short texts are remembered with what was found in them."""

SHORT = 2_000


def scan(text: str) -> Scan:
    """What the lexicon finds in a text: flags with their places, counts, and how closely to look.

    The text is only ever data. The time taken grows with its length and no faster, whatever it holds.

    >>> found = scan("Act now! A couple of us say there is no need to hurry.")
    >>> [(flag.phrase, flag.start, flag.end, flag.negated) for flag in found.flags]
    [('act now', 0, 7, False), ('need to hurry', 40, 53, True)]
    >>> found.count, found.tier
    (1, 'focused')
    """
    if not isinstance(text, str):
        raise BadUsage(f"scan takes a text, not {type(text).__name__}")
    return _remembered(text) if len(text) <= SHORT else _scan(text)


def scan_many(texts: Iterable[str]) -> list[Scan]:
    """The scan of each text, as `scan` gives it; texts are searched together, and repeats once.

    >>> [found.count for found in scan_many(["Act now!", "We met and left.", "Act now!"])]
    [1, 0, 1]
    """
    if isinstance(texts, str):
        raise BadUsage("scan_many takes many texts; use scan for one")
    value = list(texts)
    record: dict[str, Scan] = {}
    for batch in _batches(dict.fromkeys(value)):
        record.update(zip(batch, _scan_together(batch), strict=True))
    return [record[text] for text in value]


def forget() -> None:
    """Drop what is remembered of texts: for measuring."""
    _remembered.cache_clear()


def _scan(text: str) -> Scan:
    lexicon = load_lexicon()
    folded = fold(text if len(text) <= LONGEST else text[:LONGEST])
    language = language_of(folded)
    matches = lexicon.matcher.find(folded.text) if language is not None else None
    return Scan(
        _flags(lexicon, folded, matches) if matches else (),
        folded.text.count(b" ") + 1,
        language,
        lexicon.version,
        len(text) > LONGEST,
    )


_remembered = lru_cache(maxsize=REMEMBERED)(_scan)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts that can be looked at together; one that cannot is alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if len(text) > TOGETHER or BETWEEN in text:
            yield [text]
            continue
        batch.append(text)
        size += len(text)
        if size >= TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _scan_together(texts: list[str]) -> list[Scan]:
    """Folds and searches many texts in one pass; no match reaches over what is between them."""
    if len(texts) == 1:
        return [_scan(texts[0])]
    lexicon = load_lexicon()
    folded = fold(BETWEEN.join(texts), joined=True)
    matches = lexicon.matcher.find(folded.text)
    spaced = folded.spaced.split(b"\0")
    scans: list[Scan] = []
    base = at = 0
    for number, text in enumerate(folded.text.split(b"\0")):
        item = Folded(text, spaced[number], texts[number])
        language = language_of(item)
        first, end = at, base + len(text)
        while at < len(matches) and matches[at][1] < end:
            at += 1
        flags: tuple[Flag, ...] = ()
        if at > first and language is not None:
            flags = _flags(lexicon, item, [(what, a - base, b - base) for what, a, b in matches[first:at]])
        scans.append(Scan(flags, text.count(b" ") + 1, language, lexicon.version))
        base = end + 1
    return scans


def _flags(lexicon: Lexicon, folded: Folded, matches: list[Match]) -> tuple[Flag, ...]:
    offsets, quotes = Offsets(folded, matches[-1][2]), Quotes(folded.original)
    flags = []
    for number, start, end in matches:
        first, last = offsets.span(start, end)
        negated, mentioned = is_denied_or_mentioned(folded.text, start)
        trait, category, phrase = lexicon.entries[number]
        said = folded.text[start:end].decode() if phrase is None else phrase
        flags.append(Flag(trait, category, said, first, last, negated, quotes.hold(first, last), mentioned))
    return tuple(flags)
