"""scan: find phrases of the lexicon in a text; scan_many: in many texts at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from ..errors import BadUsage
from .context import Quotes, is_denied_or_mentioned
from .language import language_of
from .lexicon import Lexicon, load_lexicon
from .matcher import Match, Matcher
from .normalize import BETWEEN, Folded, Offsets, fold
from .records import Flag, Scan

LONGEST = 1_000_000  # characters of a text that are scanned
TOGETHER = 1 << 16  # characters of short texts that are scanned together
REMEMBERED, SHORT = 1 << 13, 2_000  # cached scans of short texts, since networks repeat themselves


def scan(text: str) -> Scan:
    """Scan a text: flags with their offsets, counts and tier. Takes linear time for any text.

    >>> result = scan("Act now! A couple of us say there is no need to hurry.")
    >>> [(flag.phrase, flag.start, flag.end, flag.negated) for flag in result.flags]
    [('act now', 0, 7, False), ('need to hurry', 40, 53, True)]
    >>> result.count, result.tier
    (1, 'focused')
    """
    if not isinstance(text, str):
        raise BadUsage(f"scan takes a text, not {type(text).__name__}")
    return _remembered(text) if len(text) <= SHORT else _scan_together([text])[0]


def scan_many(texts: Iterable[str], of: frozenset[str] | None = None) -> list[Scan]:
    """The scan of each text, as by `scan`; texts are searched together, and repeats once.

    With `of` only flags of these traits and categories, which is quicker.

    >>> [result.count for result in scan_many(["Act now!", "We met and left.", "Act now!"])]
    [1, 0, 1]
    """
    if isinstance(texts, str):
        raise BadUsage("scan_many takes many texts; use scan for one")
    ordered = list(texts)
    scans: dict[str, Scan] = {}
    for batch in _batches(dict.fromkeys(ordered)):
        scans.update(zip(batch, _scan_together(batch, of), strict=True))
    return [scans[text] for text in ordered]


def forget() -> None:
    """Clear the cache of scans, for measurements."""
    _remembered.cache_clear()


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str) -> Scan:
    return _scan_together([text])[0]


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts to scan together; one that cannot be joined is alone."""
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


def _scan_together(texts: list[str], of: frozenset[str] | None = None) -> list[Scan]:
    """Fold and search texts in one pass; no match crosses the separators between several."""
    lexicon = load_lexicon()
    is_joined = len(texts) > 1
    folded = fold(BETWEEN.join(texts) if is_joined else texts[0][:LONGEST], joined=is_joined)
    matches = _matcher(of).find(folded.text)
    spaced = folded.spaced.split(b"\0")
    scans: list[Scan] = []
    base = at = 0
    for number, text in enumerate(folded.text.split(b"\0")):
        item = Folded(text, spaced[number], texts[number][:LONGEST])
        language = language_of(item)
        first, end = at, base + len(text)
        while at < len(matches) and matches[at][1] < end:
            at += 1
        flags: tuple[Flag, ...] = ()
        if at > first and language is not None:
            own = [(what, a - base, b - base) for what, a, b in matches[first:at]]
            # With `of` again with all phrases, since another may overlap.
            flags = _flags(lexicon, item, own if of is None else lexicon.matcher.find(text), of)
        is_cut = len(texts[number]) > LONGEST
        scans.append(Scan(flags, text.count(b" ") + 1, language, lexicon.version, is_cut))
        base = end + 1
    return scans


@lru_cache(maxsize=8)
def _matcher(of: frozenset[str] | None) -> Matcher:
    """The matcher of the phrases of some traits and categories, or of all."""
    lexicon = load_lexicon()
    if of is None:
        return lexicon.matcher
    entries = enumerate(lexicon.entries)
    return lexicon.matcher.only({number for number, entry in entries if not of.isdisjoint(entry[:2])})


def _flags(
    lexicon: Lexicon, folded: Folded, matches: list[Match], of: frozenset[str] | None
) -> tuple[Flag, ...]:
    if of is not None:
        matches = [match for match in matches if not of.isdisjoint(lexicon.entries[match[0]][:2])]
        if not matches:
            return ()
    offsets, quotes = Offsets(folded), Quotes(folded.original)
    flags = []
    for number, start, end in matches:
        first, last = offsets.span(start, end)
        negated, mentioned = is_denied_or_mentioned(folded.text, start)
        trait, category, phrase = lexicon.entries[number]
        words = phrase or folded.text[start:end].decode()
        flags.append(Flag(trait, category, words, first, last, negated, quotes.hold(first, last), mentioned))
    return tuple(flags)
