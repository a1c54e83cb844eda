"""scan: what the lexicon finds in one text."""

from __future__ import annotations

from .context import Quotes, is_denied_or_mentioned
from .fold import Folded, Offsets, fold
from .language import language_of
from .lexicon import Lexicon, load_lexicon
from .matching import Match
from .records import Flag, Scan

LONGEST = 1_000_000
"""So many characters of a text are looked at."""


def scan(text: str) -> Scan:
    """What the lexicon finds in a text: flags with their places, counts, and how closely to look.

    The text is only ever data. The time taken grows with its length and no faster, whatever it holds.

    >>> found = scan("Act now! A couple of us say there is no need to hurry.")
    >>> [(flag.phrase, flag.start, flag.end, flag.negated) for flag in found.flags]
    [('act now', 0, 7, False), ('need to hurry', 40, 53, True)]
    >>> found.count, found.tier
    (1, 'focused')
    """
    lexicon = load_lexicon()
    looked_at = text if len(text) <= LONGEST else text[:LONGEST]
    folded = fold(looked_at)
    language = language_of(folded)
    matches = lexicon.matcher.find(folded.text) if language is not None else None
    return Scan(
        _flags(lexicon, folded, matches) if matches else (),
        folded.text.count(b" ") + 1,
        language,
        lexicon.version,
        len(text) > LONGEST,
    )


def _flags(lexicon: Lexicon, folded: Folded, matches: list[Match]) -> tuple[Flag, ...]:
    offsets, quotes = Offsets(folded), Quotes(folded.original)
    flags = []
    for number, start, end in matches:
        first, last = offsets.span(start, end)
        negated, mentioned = is_denied_or_mentioned(folded.text, start)
        flags.append(
            Flag(*lexicon.entries[number], first, last, negated, quotes.hold(first, last), mentioned)
        )
    return tuple(flags)
