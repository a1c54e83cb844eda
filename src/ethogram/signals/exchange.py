"""Exchange signals: who accused whom, what was asked for, and whether it was given."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from ..data import DATA
from ..models import Event
from .base import Part, Range, register_parts, short, signal
from .options import Options
from .text import question

if TYPE_CHECKING:
    from ..lexicon.matcher import Matcher

BESIDE = "manipulation"
"""The trait whose readings these stand beside: other messages have none, so that patterns over traits count
the same events with and without them."""
SMALL, PLAIN, LARGE = 0.2, 0.4, 0.8
"""Sizes of a request: a look or a vote; anything else; money, access, secrets."""
MOST_SPEAKERS = 16
"""Speakers of a thread that are remembered."""
LONGEST = 4_000
"""Characters of a text that are read."""


@lru_cache(maxsize=1)
def _lexicon() -> tuple[tuple[Matcher, Matcher], tuple[str, ...]]:
    """The matchers of what is done and of how much, which may overlap, and the category of each phrase."""
    from ..lexicon.lexicon import Category, make_lexicon, read_plain

    content = read_plain((DATA / "vocabulary" / "exchange.yaml").read_text("utf-8"), "exchange.yaml")
    categories = tuple(
        Category(name, name, "en", "", None, 0.0, (0, 0), tuple(fields["phrases"]))
        for name, fields in content.items()
    )
    lexicon = make_lexicon(categories)
    names = tuple(entry[0] for entry in lexicon.entries)
    sizes = {number for number, name in enumerate(names) if name in ("small_request", "large_request")}
    acts = set(range(len(names))) - sizes
    return (lexicon.matcher.only(acts), lexicon.matcher.only(sizes)), names


@lru_cache(maxsize=1 << 12)
def spoken(text: str) -> frozenset[str]:
    """What a text does: accusation, request, small_request, large_request, compliance.

    Phrases that are denied or quoted do not count.

    >>> sorted(spoken("Could you send me 200 dollars?")), sorted(spoken("You lied to us."))
    (['large_request', 'request'], ['accusation'])
    >>> sorted(spoken("Here is the weather.")), sorted(spoken("I never said 'you lied'."))
    (['compliance'], [])
    """
    from ..lexicon.context import Quotes, is_denied_or_mentioned
    from ..lexicon.normalize import Offsets, fold

    folded = fold(text[:LONGEST])
    matchers, names = _lexicon()
    matches = [match for matcher in matchers for match in matcher.find(folded.text)]
    if not matches:
        return frozenset()
    offsets, quotes = Offsets(folded), Quotes(folded.original)
    found = set()
    for number, start, end in matches:
        negated, mentioned = is_denied_or_mentioned(folded.text, start)
        if not (negated or mentioned or quotes.hold(*offsets.span(start, end))):
            found.add(names[number])
    return frozenset(found)


def _size(text: str) -> float | None:
    kinds = spoken(text)
    if "request" not in kinds:
        return None
    return LARGE if "large_request" in kinds else SMALL if "small_request" in kinds else PLAIN


@signal("request_size", range=(0, 1), reads=("text",), beside=(BESIDE,))
def request_size(event: Event) -> float | None:
    """How much a message asks for: 0.2 a look or a vote, 0.4 other things, 0.8 money, access, secrets.

    Absent where no request is seen, which does not mean that there is none.

    >>> request_size(Event.sample(text="Please send me the password.", readings={"manipulation": 0.4}))
    0.8
    """
    if event.text is None or BESIDE not in event.readings:
        return None
    return _size(event.text)


@signal("request_made", range=(0, 1), reads=("text",), beside=(BESIDE,))
def request_made(event: Event) -> float | None:
    """1.0 where a message that is scored for manipulation asks for something, else 0.0."""
    if event.text is None or BESIDE not in event.readings:
        return None
    return float("request" in spoken(event.text))


# accused and other_complied: what the subject met in the thread since its event before.

Speaker = tuple[str, int, int, int, int]
"""Who (empty: whoever speaks next for the first time), and whether it asked for something, was answered,
was accused or questioned, and was given what it asked for."""
Speakers = tuple[Speaker, ...]
"""The newest last."""


def measure_exchange(event: Event, state: Speakers, options: Options) -> tuple[Mapping[str, float], Speakers]:
    """What the subject met in the thread, and what everybody in it has met since they last spoke."""
    if event.text is None:
        return {}, state
    who = short(event.subject)
    own = max((item for item in state if item[0] in (who, "")), default=None)
    readings: dict[str, float] = {}
    if own is not None and BESIDE in event.readings:
        _, has_asked, is_answered, is_accused, is_given = own
        if is_accused:
            readings["accused"] = 1.0
        if has_asked and is_answered:
            readings["other_complied"] = float(is_given)
    kinds = spoken(event.text)
    others = [item for item in state if item[0] not in (who, "")]
    if event.target is not None and event.target != event.subject:
        addressed = short(event.target)
    else:
        addressed = others[-1][0] if others else ""
    _, asked, _, accused, complied = next(
        (item for item in others if item[0] == addressed), (addressed, 0, 0, 0, 0)
    )
    accuses = "accusation" in kinds or question(event) == 1.0
    met = (addressed, asked, 1, int(accused or accuses), int(complied or (asked and "compliance" in kinds)))
    rest = tuple(item for item in others if item[0] != addressed)
    return readings, (met, *rest, (who, int("request" in kinds), 0, 0, 0))[-MOST_SPEAKERS:]


class _Exchange(Part):
    scope = "thread"
    start: Speakers = ()
    max_state_bytes = 2000
    keeps = "exchange"
    together = staticmethod(measure_exchange)


EXCHANGE: tuple[tuple[str, Range, str], ...] = (
    (
        "accused",
        (0, 1),
        "1.0 where another accused or questioned the subject in the thread since it last spoke; else absent.",
    ),
    (
        "other_complied",
        (0, 1),
        "1.0 where another did what the subject asked for in the thread since its event before.",
    ),
)
register_parts(_Exchange, EXCHANGE, reads=("text",), beside=(BESIDE,))
