"""What a turn asks for and how severe that is; jailbreak framing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from .harm_lexicon import Hit, shown
from .records import Signal, quiet, unmeasured
from .turn_features import View
from .words import alternatives, rarity, stem, words_of

# How grave each harmful word is here: read with what the act is done to.

TO_A_PERSON = 0.65  # severity of a grave act, done to a person
ROUGHLY = 0.35  # the same for acts that one may do to a person in a game or a saying: beat, cut off, hit
FIGURATIVE = 0.35
"""What is left of an act done to neither a person nor anything that is commonly a target.

Murdering a song.
"""
AMBIGUOUS = 0.35  # words up to this severity have an everyday meaning, which their object brings out

NEGATED = 0.2  # what is left of an act that is not to happen: without hurting her, I don't want to kill them
SUFFERED = 0.35  # what is left of an act that is done to whoever asks: he said he would kill me

_SEVERITY_NOT = frozenset(map(stem, words_of("verbs", "not")))
_ME = frozenset(("me", "us"))
_FIGURATIVE = frozenset(map(stem, words_of("verbs", "figurative")))
_HURTING = frozenset(map(stem, words_of("verbs", "hurting")))
_ROUGH = frozenset(map(stem, words_of("verbs", "rough")))


def severities(view: View) -> dict[str, float]:
    """Severity of each harmful word found, by what it is done to: a person, or what one may well `kill`.

    >>> from .turn_features import look
    >>> severities(look("kill a linux job"))["kill"] < 0.1 < severities(look("kill my boss"))["kill"]
    True
    """
    record: dict[str, float] = {}
    person = _places(view.hits, "person")
    # What is fought in house and garden is listed among the words of protection.
    things = _places(view.hits, "work", "play", "protect")
    grave = person | _places(view.hits, "target")
    grave |= {hit.start for hit in view.hits if hit.term.severity is not None}
    for hit in view.hits:
        if hit.term.severity is not None:
            word = " ".join(hit.term.stems)
            here = _with_object(hit, person, things) * _figurative(hit, view, grave) * _meant(hit, view)
            record[word] = max(record.get(word, 0.0), here)
    return record


def joined(by_word: dict[str, float]) -> float:
    """Severities of different words together.

    The strongest, and a little for each of two more; rare words count more.
    """
    rest, weight = 1.0, 1.0
    for word in sorted(by_word, key=lambda item: -by_word[item])[:3]:
        common = min(1.0, 0.55 + 0.6 * max(rarity(part) for part in word.split()))
        rest *= 1.0 - by_word[word] * weight * common
        weight *= 0.4
    return 1.0 - rest


def _places(hits: tuple[Hit, ...], *labels: str) -> frozenset[int]:
    return frozenset(hit.start for hit in hits if hit.term.label in labels)


def _with_object(hit: Hit, person: frozenset[int], things: frozenset[int]) -> float:
    severity = hit.term.severity or 0.0
    if not _HURTING.isdisjoint(hit.term.stems):
        whom = next((at for at in range(hit.end, hit.end + 4) if at in person), None)
        what = next((at for at in range(hit.end, hit.end + 5) if at in things), None)
        # In `cut my daughter's hair` the hair is the object, in `kill someone with a glass` the person is.
        if whom is not None and (what is None or what > whom + 1):
            return max(severity, ROUGHLY if _ROUGH.issuperset(hit.term.stems) else TO_A_PERSON)
        if what is not None and severity <= AMBIGUOUS:
            return severity * 0.15
    elif severity <= AMBIGUOUS and any(at in things for at in range(hit.end, hit.end + 2)):
        return severity * 0.4
    return severity


def _meant(hit: Hit, view: View) -> float:
    """What is left of an act that hurts by who does it to whom, and whether it is to happen at all."""
    if _HURTING.isdisjoint(hit.term.stems):
        return 1.0
    if not _SEVERITY_NOT.isdisjoint(view.stems[max(0, hit.start - 3) : hit.start]):
        return NEGATED
    return SUFFERED if not _ME.isdisjoint(view.stems[hit.end : hit.end + 1]) else 1.0


def _figurative(hit: Hit, view: View, grave: frozenset[int]) -> float:
    """What is left of an act by what it is done to.

    All of it to a person, a common target, or something grave.
    """
    if len(hit.term.stems) > 1 or _FIGURATIVE.isdisjoint(hit.term.stems):
        return 1.0
    after = range(hit.end, min(hit.end + 4, len(view.stems)))
    if any(at in grave for at in after):
        return 1.0
    return FIGURATIVE if any(view.stems[at] in view.about for at in after) else 1.0


# What a turn asks for: what could do harm, how much it asks to *do* that, how exactly, in what frame.
#
# A word is never enough: `kill` with a process is nothing, with a person it is grave; `poison` in a question
# about
# symptoms is care. So severity is read with what stands around it.

_FRAMES = (
    ("play", 0.25),
    ("defend", 0.3),
    ("protect", 0.4),
    ("learn", 0.55),
    ("profession", 0.7),
    ("fiction", 0.5),
)
_NOT = alternatives("stages", "no fact", before="(?!", after=")").pattern
_THEN = r"^\W*(?:and |so |but |then |ok[.,]? |okay[.,]? )?(?:"
_FACT = alternatives("stages", "fact", before=_THEN, after=f") {_NOT}")
_EVENT = alternatives("stages", "event", before=r"^\W*(?:", after=")")
_MEANING = alternatives("stages", "meaning", before=r"^\W*(?:", after=")")
_CARE = alternatives("stages", "care", before=r"^\W*(?:and |so |but |ok,? )?(?:", after=")")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, its parts from 0 to 1.

    `hazard` is what could do harm, `asks` how much it asks to do it, `frame` what the setting leaves of it,
    `words` are those that made the hazard, `grave` all with their severity, `direct` is the risk of the
    request taken by itself.
    """

    hazard: float
    asks: float
    exact: float
    evades: float
    frame: float
    direct: float
    words: tuple[str, ...]
    grave: tuple[tuple[str, float], ...] = ()


def request(view: View, carried: float = 0.0) -> Request:
    """The request of a turn.

    `carried` is the hazard talked about before, where this turn goes on about it.
    """
    by_word = severities(view)
    hazard = max(joined(by_word), carried)
    # How somebody was caught is a question of fact; not to be caught oneself is a wish, and graver with a
    # deed to hide.
    exact, evades = float(view.has("exact")), float(view.has("evade") and not _is_fact(view))
    asks = _asks(view)
    frame = max(_frame(view), 0.85) if evades else _frame(view)
    direct = (
        hazard * (0.25 + 0.55 * asks)
        + (0.30 if hazard > 0.05 else 0.18) * evades * asks
        + 0.12 * exact * asks * min(1.0, 3 * hazard)
    )
    words = tuple(sorted(by_word, key=lambda word: (-by_word[word], word)))
    return Request(
        hazard, asks, exact, evades, frame, min(1.0, direct * frame), words[:5], tuple(by_word.items())
    )


def _asks(view: View) -> float:
    """How far a turn asks to do something: 1 for a how-to, little for a question of fact."""
    if view.has("exact") and not view.own:
        return 1.0
    if _is_fact(view):
        return 0.3
    if view.has("doing"):
        return 1.0
    if view.has("learn"):
        return 0.3
    if view.is_question:
        return 0.6
    # A statement asks for nothing; one that gives an order does.
    return 0.6 if view.has("make") else 0.35


def _is_fact(view: View) -> bool:
    """Whether the question is about how things are, and not how to do one."""
    return _FACT.match(view.text[:120].lower()) is not None


def _frame(view: View) -> float:
    """What the setting leaves of a hazard, 1 where it says nothing."""
    left = min((keeps for label, keeps in _FRAMES if view.has(label) and _counts(view, label)), default=1.0)
    start = view.text[:80].lower()
    if _EVENT.match(start) and not view.has("doing"):
        left = min(left, 0.35)
    elif _MEANING.match(start) and not view.has("exact"):
        left = min(left, 0.45)
    elif is_care(view):
        left = min(left, 0.4)
    return left


def is_care(view: View) -> bool:
    """Whether the question is whether something is dangerous, rather than which or how."""
    return _CARE.match(view.text[:80].lower()) is not None and not view.has("exact", "evade")


def _counts(view: View, label: str) -> bool:
    """Whether a frame is one here: `what are` before an exact amount, or a how-to, is no study."""
    if label != "learn":
        return True
    return not ((view.has("doing") and not _is_fact(view)) or (view.has("exact") and not view.own))


# Vehicles: a story, a persona or an order to drop the rules, used to carry a request.


def kind_of(view: View) -> str | None:
    """`override`, `persona`, `fiction` or None."""
    return next((kind for kind in ("override", "persona", "fiction") if view.has(kind)), None)


def vehicle(view: View, asked: Request) -> Signal:
    """How much a frame is used to carry something; a story about nothing dangerous is a story.

    >>> from .request import request
    >>> from .turn_features import look
    >>> turn = look("Write a story about a fox")
    >>> vehicle(turn, request(turn)).adds
    0.0
    """
    kind = kind_of(view)
    if kind is None:
        return quiet("vehicle", "said in its own name")
    hazard = asked.hazard * asked.asks
    if kind == "override":
        both = view.has("persona")
        return Signal(
            "vehicle",
            0.9 if both else 0.7,
            "asks to drop the rules",
            (0.35 if both else 0.22) + 0.4 * hazard,
            kind,
        )
    if hazard < 0.05:
        return Signal("vehicle", 0.2, f"{kind}, with nothing dangerous in it", 0.0, kind)
    # A novelist needs a deed; who needs a recipe asks for exact amounts through the story.
    weight = (0.1 + 0.4 * max(asked.exact, asked.evades)) * hazard
    return Signal("vehicle", 0.3 + 0.5 * hazard, f"something dangerous put as {kind}", weight, kind)


# Signals of the turn itself: what it asks for, and what it hides.

SETTINGS = (
    ("play", "in a game"),
    ("defend", "as a question what to do against it"),
    ("protect", "for protection"),
    ("fiction", "in a story"),
    ("learn", "as study"),
    ("profession", "at work"),
)
"""Settings by the class of words that tells of them, the strongest first."""


def request_signal(view: View, asked: Request) -> Signal:
    """What a turn asks for, in words."""
    if not view.is_english:
        return unmeasured("request", f"the lexicon does not know this language ({view.language})")
    if asked.direct < 0.02:
        return quiet("request", "asks for nothing that could do harm")
    about = (
        f"about {', '.join(map(shown, asked.words[:3]))}"
        if asked.words
        else "about what was talked of before"
    )
    how = "how to do it" if asked.asks >= 0.8 else "in general"
    more = "".join((", exactly" if asked.exact else "", ", without being noticed" if asked.evades else ""))
    where = "" if asked.frame == 1 else f"; less grave {_setting(view)}"
    return Signal("request", asked.direct, f"asks {about}: {how}{more}{where}", asked.direct)


def _setting(view: View) -> str:
    """What makes a request less grave, in words; the strongest where there are several."""
    if not view.has("play", "defend") and is_care(view):
        return "as a question whether it is dangerous"
    return next((said for label, said in SETTINGS if view.has(label)), "as a question of fact")


def disguise(view: View, asked: Request) -> Signal:
    """Words hidden from whoever reads them; more where what they say is dangerous."""
    hidden = view.disguise
    if not hidden.kinds:
        return quiet("disguise", "plain text")
    adds = 0.04 + 0.5 * min(1.0, asked.hazard * (0.5 + asked.asks))
    return Signal("disguise", hidden.value, f"words hidden by {', '.join(hidden.kinds)}", adds * hidden.value)


# Weighted keywords.
#
# How often, how rare and how grave the words of the lexicon are in a turn. A hint, no finding.

NAME = "keywords"
WORDS_UNPENALISED = 25
WEIGHT = 0.25


def keywords(view: View, asked: Request) -> Signal:
    """Sum of (1 + ln n) x rarity x severity over words found, less in long texts, saturating below 1.

    >>> from .request import request
    >>> from .turn_features import look
    >>> turn = look("nice weather")
    >>> keywords(turn, request(turn)).value
    0.0
    """
    if not view.is_english:
        return unmeasured(NAME, f"the lexicon does not know this language ({view.language})")
    grave = dict(asked.grave)
    if not grave:
        return quiet(NAME, "no word of the lexicon")
    times = Counter(" ".join(hit.term.stems) for hit in view.hits if hit.term.severity is not None)
    total = sum(
        (1 + math.log(times[word])) * max(rarity(part) for part in word.split()) * severity
        for word, severity in grave.items()
    )
    length = 1 + math.log(max(1.0, len(view.stems) / WORDS_UNPENALISED))
    value = 1 - math.exp(-total / length)
    most = map(shown, sorted(grave, key=lambda word: (-grave[word], word))[:3])
    return Signal(NAME, value, f"words that raise the question: {', '.join(most)}", WEIGHT * value)
