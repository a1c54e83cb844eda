"""What a turn asks for, how severe that is, and in what frame.

A word is never enough: `kill` with a process is nothing, with a person it is grave; `poison` in a question
about symptoms is care. So severity is read with the words around it.
"""

from __future__ import annotations

import math
from collections import Counter

from ..models.slotted import dataclass
from .harm_lexicon import Hit, shown
from .records import Signal, quiet, unmeasured
from .turn_features import View
from .words import alternatives, rarity, stems_of

TO_A_PERSON = 0.65  # severity of a grave act done to a person
ROUGHLY = 0.35  # the same for acts that have a harmless sense: beat, cut off, hit
FIGURATIVE = 0.35  # share left of an act done to neither a person nor a common target: murder a song
AMBIGUOUS = 0.35  # words up to this severity have an everyday meaning, which their object brings out
NEGATED = 0.2  # share left of an act that is not to happen: without hurting her
SUFFERED = 0.35  # share left of an act done to the speaker: he said he would kill me
WORDS_UNPENALISED = 25
KEYWORD_WEIGHT = 0.25
_NEGATIONS, _FIGURATIVE, _HURTING, _ROUGH = (
    stems_of("verbs", name) for name in ("not", "figurative", "hurting", "rough")
)
# Word classes of a setting: what it leaves of a hazard, and its name in a reason, the strongest first.
_FRAMES = {
    "play": (0.25, "in a game"),
    "defend": (0.3, "as a question what to do against it"),
    "protect": (0.4, "for protection"),
    "fiction": (0.5, "in a story"),
    "learn": (0.55, "as study"),
    "profession": (0.7, "at work"),
}
_NOT = alternatives("stages", "no fact", before="(?!", after=")").pattern
_THEN = r"^\W*(?:and |so |but |then |ok[.,]? |okay[.,]? )?(?:"
_FACT = alternatives("stages", "fact", before=_THEN, after=f") {_NOT}")
_EVENT = alternatives("stages", "event", before=r"^\W*(?:", after=")")
_MEANING = alternatives("stages", "meaning", before=r"^\W*(?:", after=")")
_CARE = alternatives("stages", "care", before=r"^\W*(?:and |so |but |ok,? )?(?:", after=")")


def severities(view: View) -> dict[str, float]:
    """The severity of each harmful word in a turn, by what the act is done to.

    >>> from .turn_features import look
    >>> severities(look("kill a linux job"))["kill"] < 0.1 < severities(look("kill my boss"))["kill"]
    True
    """
    by_word: dict[str, float] = {}
    person = _places(view.hits, "person")
    # Pests of house and garden are among the words of protection.
    things = _places(view.hits, "work", "play", "protect")
    grave = person | _places(view.hits, "target")
    grave |= {hit.start for hit in view.hits if hit.term.severity is not None}
    for hit in view.hits:
        if hit.term.severity is not None:
            word = " ".join(hit.term.stems)
            here = _with_object(hit, person, things) * _figurative(hit, view, grave) * _meant(hit, view)
            by_word[word] = max(by_word.get(word, 0.0), here)
    return by_word


def joined(by_word: dict[str, float]) -> float:
    """The severity of several words: the strongest, and a little for two more; rare words count more."""
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
    """The share left of a hurting act that is negated, or done to the speaker."""
    if _HURTING.isdisjoint(hit.term.stems):
        return 1.0
    if not _NEGATIONS.isdisjoint(view.stems[max(0, hit.start - 3) : hit.start]):
        return NEGATED
    return SUFFERED if view.stems[hit.end : hit.end + 1] in (("me",), ("us",)) else 1.0


def _figurative(hit: Hit, view: View, grave: frozenset[int]) -> float:
    """The share left of a figurative act: all of it to a person, a common target, or something grave."""
    if len(hit.term.stems) > 1 or _FIGURATIVE.isdisjoint(hit.term.stems):
        return 1.0
    after = range(hit.end, min(hit.end + 4, len(view.stems)))
    if any(at in grave for at in after):
        return 1.0
    return FIGURATIVE if any(view.stems[at] in view.about for at in after) else 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request; its numbers are 0..1."""

    hazard: float  # how harmful what it is about could be
    asks: float  # how much it asks to do that
    exact: float
    evades: float
    frame: float  # share that the setting leaves of the hazard
    direct: float  # risk of the request by itself
    words: tuple[str, ...]  # those that make the hazard
    grave: tuple[tuple[str, float], ...] = ()  # all harmful words with their severity


def request(view: View, carried: float = 0.0) -> Request:
    """The request of a turn; `carried` is the hazard of the topic that it goes on about."""
    by_word = severities(view)
    hazard = max(joined(by_word), carried)
    # How somebody was caught is a question of fact; not to be caught is a wish, graver with a deed to hide.
    exact, evades = float(view.has("exact")), float(view.has("evade") and not _is_fact(view))
    asks = _asks(view)
    frame = max(_frame(view), 0.85) if evades else _frame(view)
    direct = (
        hazard * (0.25 + 0.55 * asks)
        + (0.30 if hazard > 0.05 else 0.18) * evades * asks
        + 0.12 * exact * asks * min(1.0, 3 * hazard)
    )
    direct, grave = min(1.0, direct * frame), tuple(by_word.items())
    words = tuple(sorted(by_word, key=lambda word: (-by_word[word], word))[:5])
    return Request(hazard, asks, exact, evades, frame, direct, words, grave)


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
    # A statement asks for nothing unless it gives an order.
    return 0.6 if view.has("make") else 0.35


def _is_fact(view: View) -> bool:
    """Whether the question is about how things are, not how to do them."""
    return _FACT.match(view.text[:120].lower()) is not None


def _frame(view: View) -> float:
    """The share that the setting leaves of a hazard; 1 without one."""
    shares = (share for label, (share, _) in _FRAMES.items() if view.has(label) and _counts(view, label))
    left = min(shares, default=1.0)
    start = view.text[:80].lower()
    if _EVENT.match(start) and not view.has("doing"):
        left = min(left, 0.35)
    elif _MEANING.match(start) and not view.has("exact"):
        left = min(left, 0.45)
    elif is_care(view):
        left = min(left, 0.4)
    return left


def is_care(view: View) -> bool:
    """Whether the turn asks if something is dangerous, rather than which or how."""
    return _CARE.match(view.text[:80].lower()) is not None and not view.has("exact", "evade")


def _counts(view: View, label: str) -> bool:
    """Whether a frame counts: `what are` before an exact amount or a how-to is no study."""
    if label != "learn":
        return True
    return not ((view.has("doing") and not _is_fact(view)) or (view.has("exact") and not view.own))


def kind_of(view: View) -> str | None:
    """`override`, `persona`, `fiction` or None."""
    return next((kind for kind in ("override", "persona", "fiction") if view.has(kind)), None)


def vehicle(view: View, request: Request) -> Signal:
    """The signal of a story, a persona or an order to drop the rules that carries a request.

    >>> from .turn_features import look
    >>> turn = look("Write a story about a fox")
    >>> vehicle(turn, request(turn)).adds
    0.0
    """
    kind = kind_of(view)
    if kind is None:
        return quiet("vehicle", "said in its own name")
    hazard = request.hazard * request.asks
    if kind == "override":
        value, adds = (0.9, 0.35) if view.has("persona") else (0.7, 0.22)
        return Signal("vehicle", value, "asks to drop the rules", adds + 0.4 * hazard, kind)
    if hazard < 0.05:
        return Signal("vehicle", 0.2, f"{kind}, with nothing dangerous in it", 0.0, kind)
    # A novelist needs a deed; exact amounts are for somebody who needs a recipe.
    weight = (0.1 + 0.4 * max(request.exact, request.evades)) * hazard
    return Signal("vehicle", 0.3 + 0.5 * hazard, f"something dangerous put as {kind}", weight, kind)


def request_signal(view: View, request: Request) -> Signal:
    """The signal of what a turn asks for."""
    if not view.is_english:
        return unmeasured("request", f"the lexicon does not know this language ({view.language})")
    if request.direct < 0.02:
        return quiet("request", "asks for nothing that could do harm")
    about = ", ".join(map(shown, request.words[:3])) or "what was talked of before"
    text = f"asks about {about}: {'how to do it' if request.asks >= 0.8 else 'in general'}"
    text += ", exactly" if request.exact else ""
    text += ", without being noticed" if request.evades else ""
    text += "" if request.frame == 1 else f"; less grave {_setting(view)}"
    return Signal("request", request.direct, text, request.direct)


def _setting(view: View) -> str:
    """The strongest setting that makes a request less grave."""
    if not view.has("play", "defend") and is_care(view):
        return "as a question whether it is dangerous"
    return next((name for label, (_, name) in _FRAMES.items() if view.has(label)), "as a question of fact")


def disguise(view: View, request: Request) -> Signal:
    """The signal of obfuscated words, stronger where they are dangerous."""
    hidden = view.disguise
    if not hidden.kinds:
        return quiet("disguise", "plain text")
    adds = 0.04 + 0.5 * min(1.0, request.hazard * (0.5 + request.asks))
    return Signal("disguise", hidden.value, f"words hidden by {', '.join(hidden.kinds)}", adds * hidden.value)


def keywords(view: View, request: Request) -> Signal:
    """The signal of harmful words: sum of (1 + ln n) x rarity x severity, less in long texts, below 1.

    >>> from .turn_features import look
    >>> turn = look("nice weather")
    >>> keywords(turn, request(turn)).value
    0.0
    """
    if not view.is_english:
        return unmeasured("keywords", f"the lexicon does not know this language ({view.language})")
    grave = dict(request.grave)
    if not grave:
        return quiet("keywords", "no word of the lexicon")
    times = Counter(" ".join(hit.term.stems) for hit in view.hits if hit.term.severity is not None)
    total = sum(
        (1 + math.log(times[word])) * max(rarity(part) for part in word.split()) * severity
        for word, severity in grave.items()
    )
    length = 1 + math.log(max(1.0, len(view.stems) / WORDS_UNPENALISED))
    value = 1 - math.exp(-total / length)
    most = map(shown, sorted(grave, key=lambda word: (-grave[word], word))[:3])
    return Signal(
        "keywords", value, f"words that raise the question: {', '.join(most)}", KEYWORD_WEIGHT * value
    )
