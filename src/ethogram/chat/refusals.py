"""Refusals, and requests repeated after one."""

from __future__ import annotations

import re
from functools import lru_cache

from ..models.slotted import dataclass, replace
from .escalation import Ladder
from .harm_lexicon import find
from .records import Signal, quiet
from .request import Request, kind_of, severities
from .turn_features import View, same_request
from .words import alternatives, tokens

NAMING = 300  # characters of a reply in which it names what it refuses
GRAVE = 0.3
MOST_REFUSED = 5
SAME = 0.5  # shared part of the words from which two requests are the same
SAME_BY_MEANING, NEAR_BY_MEANING = 0.6, 0.25
FIRST, FURTHER, HIGHEST = (
    0.36,
    0.12,
    0.8,
)  # what the first return adds to the risk, each further one, the most
CONTINUES = 0.28  # what going on at once about what was refused adds
REASONED, BARE = 0.28, 0.14  # what one refusal adds with a reason of harm, and without one
MOST_REFUSALS = 5
FADES = 0.95
RISKY, FACT = 0.15, 0.3
ON = "going on"
NAME = "after_refusal"

_CANNOT = alternatives("refusals", "cannot").pattern
_DO = alternatives("refusals", "do").pattern
_REFUSES = re.compile(rf"\bi(?:'| a)?m? ?[^.!?\n]{{0,25}}?{_CANNOT}[^.!?\n]{{0,40}}?{_DO}")
_PLAIN = alternatives("refusals", "plain", before=r"(?:\b|^)(?:", after=")")
_REASON = alternatives("refusals", "reason")
_AGAINST = alternatives("refusals", "against", after=")")
_NAMED = alternatives("refusals", "named")
_INABLE = alternatives("refusals", "inable")
_GIVES_IN = alternatives("refusals", "gives in", before=r"^\W*(?:", after=r")\b")
_STEP = re.compile(r"(?m)^\s*(?:\d+[.)]|[-*•]|step \d+)\s+")
_AMOUNT = re.compile(
    r"\b\d+(?:[.,]\d+)?\s?(?:%|g|mg|kg|ml|l|°|degrees|grams?|minutes?|hours?|parts?|volts?|cm|mm|inch\w*)\b"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What an assistant's turn does; numbers are 0..1."""

    refuses: float  # by policy, not for lack of means
    gives: float  # how far it hands over a procedure
    reasoned: bool
    names: float = 0.0  # severity of the harm that it names

    @property
    def is_partial(self) -> bool:
        """Whether it refuses in words and gives in substance."""
        return self.refuses >= 0.5 and self.gives >= 0.4


@lru_cache(maxsize=4)
def read_reply(text: str) -> Reply:
    """What an assistant's turn does; lack of means is no refusal.

    >>> read_reply("I can't help with that.").refuses, read_reply("I couldn't find any flights.").refuses
    (0.8, 0.0)
    """
    low = text[:3000].lower().replace("’", "'")
    start = low[:400]
    plain = bool(_PLAIN.search(start))
    reasoned = bool(_REASON.search(low[:700]))
    unable = bool(_INABLE.search(start)) and not plain
    refuses = 0.0
    explicit = plain or bool(_REFUSES.search(start))
    if explicit:
        refuses = 1.0 if reasoned else 0.0 if unable else 0.8
    elif _AGAINST.search(low[:300]) or _NAMED.search(low[:300]):
        # No word of refusal, but advice against it.
        refuses, reasoned = 0.4, True
    names = 0.0
    if refuses:
        names = max((hit.term.severity or 0.0 for hit in find(tokens(low[:NAMING]))), default=0.0)
    # A harm that the assistant names is its reason.
    reasoned = reasoned or names >= GRAVE
    if explicit and reasoned and refuses:
        refuses = 1.0
    steps, amounts = len(_STEP.findall(low)), len(_AMOUNT.findall(low))
    gives = min(1.0, 0.15 * steps + 0.12 * amounts + (0.1 if len(low) > 800 else 0.0))
    return Reply(refuses, gives, reasoned, names)


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused request: how firmly, the returns to it so far, and the user turns since."""

    words: tuple[str, ...]
    direct: float
    language: str | None
    firmness: float
    returns: int = 0
    since: int = 0


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The user's newest turn, as far as a refusal of it needs it."""

    words: tuple[str, ...] = ()
    direct: float = 0.0
    language: str | None = None


def last_request(view: View, ladder: Ladder, direct: float) -> LastRequest:
    """The request of a user's turn; one without words of its own is about the topic before."""
    words = view.own if len(view.own) >= 2 else view.own | frozenset(ladder.topic)
    return LastRequest(tuple(sorted(words))[:40], direct, view.language)


def weight_of(reply: Reply, refusals: int) -> float:
    """What a refusal adds to the risk; `refusals` counts those of the conversation, this one included.

    An assistant may refuse by mistake, but seldom again and again.

    >>> no = Reply(refuses=1.0, gives=0.0, reasoned=True)
    >>> [round(weight_of(no, n), 2) for n in (1, 2, 3)]
    [0.28, 0.48, 0.63]
    """
    item = reply.refuses * (REASONED if reply.reasoned else BARE)
    return 1 - (1 - item) ** min(MOST_REFUSALS, max(1, refusals))


def refuse(refused: tuple[Refused, ...], request: LastRequest, reply: Reply) -> tuple[Refused, ...]:
    """The refused requests after an assistant's turn."""
    # Advice against something is a refusal only where the request is risky.
    firm = reply.refuses >= 0.8 or (reply.refuses >= 0.4 and request.direct >= 0.08)
    if not firm or not request.words:
        return refused
    same = next((item for item in refused if same_request(item.words, request.words) >= SAME), None)
    if same is not None:
        again = replace(same, firmness=max(same.firmness, reply.refuses), since=0, language=request.language)
        return (*(item for item in refused if item is not same), again)
    direct = max(request.direct, 0.5 * reply.names)
    return (*refused, Refused(request.words, direct, request.language, reply.refuses))[-MOST_REFUSED:]


def reask(
    refused: tuple[Refused, ...], view: View, request: Request, by_meaning: float | None
) -> tuple[tuple[Refused, ...], Signal]:
    """The refused requests after a user's turn, and the signal of a return to one of them."""
    forms = ((item, _reformulation(item, view, request, by_meaning)) for item in refused)
    matches = [(item, form) for item, form in forms if form is not None]
    if not matches:
        reason = "not what was refused" if refused else "nothing was refused"
        return tuple(_older(item, False) for item in refused), quiet(NAME, reason)
    back = [(item, form) for item, form in matches if form != ON]
    if not back:
        item = max((item for item, _ in matches), key=lambda item: (item.firmness, item.direct))
        adds = CONTINUES * min(1.0, item.firmness + 0.2)
        after = tuple(replace(other, since=other.since + 1) for other in refused)
        return after, Signal(NAME, 0.35, "goes on at once about what was refused", adds, ON)
    item, form = max(back, key=lambda pair: (pair[0].firmness, pair[0].direct, -pair[0].since))
    after = tuple(_older(other, other is item) for other in refused)
    adds = min(HIGHEST, FIRST + FURTHER * item.returns + 0.2 * item.direct)
    adds = adds * min(1.0, item.firmness + 0.2) * FADES**item.since
    if _is_cleared_up(view):
        text = "comes back to what was refused, and clears up what was meant"
        return after, Signal(NAME, 0.3, text, adds * 0.4, "cleared up")
    value = min(1.0, 0.5 + 0.2 * item.returns)
    times = "once more" if not item.returns else f"again, {item.returns + 1} times now,"
    return after, Signal(NAME, value, f"comes back {times} to what was refused, {form}", adds, form)


def _reformulation(refused: Refused, view: View, request: Request, by_meaning: float | None) -> str | None:
    """How a turn asks again for what was refused; None where it does not."""
    likeness = same_request(refused.words, view.own) if view.own else 0.0
    # Similarity of one or few words is chance.
    alike = likeness >= SAME or (likeness >= 0.3 and len(view.own) >= 4 and refused.since <= 2)
    alike = alike or (by_meaning is not None and by_meaning >= SAME_BY_MEANING)
    elliptic = len(view.own) <= 2 and (view.points or view.has("push"))
    at_once = refused.since == 0
    another_language = view.language and refused.language != view.language
    if at_once and another_language and (refused.language or view.language != "en"):
        return "in another language"
    if view.disguise.kinds and refused.since <= 1:
        return f"disguised ({', '.join(view.disguise.kinds)})"
    kind = kind_of(view)
    carries = alike or view.points or likeness > 0.15 or kind == "override"
    if kind is not None and refused.since <= 1 and carries:
        forms = {"override": "asking to drop the rules", "persona": "as a persona", "fiction": "as fiction"}
        return forms[kind]
    if alike:
        return "in other words" if likeness < 0.9 else "again"
    if at_once and elliptic and view.has("push", "doing", "exact"):
        return "insisting"
    short = elliptic and len(view.own) <= 1
    on = likeness > 0 or short or view.has("push", "evade") or (by_meaning or 0.0) >= NEAR_BY_MEANING
    # After a refusal for harm, whoever asks on at once mostly asks about that, unless for a fact.
    on = on or (refused.direct >= RISKY and request.asks > FACT)
    asks = view.is_asking or view.has("push", "evade")
    return ON if at_once and on and asks and not _GIVES_IN.match(view.text[:60].lower()) else None


def _older(refused: Refused, returned: bool) -> Refused:
    return replace(refused, since=0 if returned else refused.since + 1, returns=refused.returns + returned)


def _is_cleared_up(view: View) -> bool:
    """Whether the alarming words have objects that make them harmless."""
    alarming = any((hit.term.severity or 0.0) >= 0.25 for hit in view.hits)
    return alarming and max(severities(view).values()) < 0.1
