"""Query pattern.

What is it, how does it work, where is it weak, how to use that, about the same thing and in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .concepts import concept
from .records import Signal, quiet
from .sections import alternatives, words_of
from .view import View, look
from .words import stem

STAGES = ("what it is", "how it works", "where it is weak", "how to use that")
KEPT = 12
WEIGHT = 0.48
_OPENING = r"^\W*(?:so |ok,? |hi,? |hello,? |hey,? |please )*(?:"
_PATTERNS = (
    (3, alternatives("stages", "use")),
    (2, alternatives("stages", "weak")),
    (1, alternatives("stages", "how", after=")")),
    (0, alternatives("stages", "what", before=_OPENING, after=")")),
)
_FORM = frozenset(concept(stem(word)) for word in words_of("verbs", "form"))


@dataclass(frozen=True, slots=True)
class Chain:
    """Questions about one thing: its words, the stages met in order, and the user turn of the last."""

    topic: tuple[str, ...]
    stages: tuple[int, ...]
    last: int


def stage_of(text: str) -> int | None:
    """0 what, 1 how it works, 2 weakness, 3 use; None for what is no such question.

    >>> [stage_of(text) for text in ("What is a relay?", "How does it work?", "Any flaws?", "Hi")]
    [0, 1, 2, None]
    """
    low = text[:400].lower()
    for stage, pattern in _PATTERNS:
        if pattern.search(low):
            return stage
    return None


def follow(chains: tuple[Chain, ...], view: View, turn: int) -> tuple[tuple[Chain, ...], Chain | None]:
    """The chains after a question, and the one it belongs to."""
    stage = stage_of(view.text)
    if stage is None:
        return chains, None
    topic = frozenset(map(concept, view.own)) - _FORM
    chain = _chain_for(chains, topic, view)
    if chain is None:
        chain = Chain((), (), turn)
    stages = (*chain.stages, stage) if not chain.stages or stage > chain.stages[-1] else chain.stages
    words = (*chain.topic, *sorted(topic - set(chain.topic)))[:16]
    moved = Chain(words, stages, turn)
    others = tuple(one for one in chains if one is not chain)
    return (*others, moved)[-KEPT:], moved


def _chain_for(chains: tuple[Chain, ...], topic: frozenset[str], view: View) -> Chain | None:
    """The newest chain that shares a word, or for a question without a topic of its own the newest."""
    for chain in reversed(chains):
        if not topic.isdisjoint(chain.topic):
            return chain
    elliptic = not topic or (view.points and len(topic) <= 2)
    return chains[-1] if elliptic and chains else None


def worth(chain: Chain | None) -> float:
    """0 for one stage, 1 for all four in order."""
    return 0.0 if chain is None else max(0, len(chain.stages) - 1) / (len(STAGES) - 1)


def detect_information_gathering(texts: Iterable[str]) -> float:
    """How far questions go from what a thing is to how to use its weakness, about the same thing, 0..1.

    >>> asked = ["What is a relay?", "How does it work?", "Where is it weak?", "How to exploit that?"]
    >>> detect_information_gathering(asked)
    1.0
    >>> detect_information_gathering(["What is rain?", "What is snow?", "What is fog?"])
    0.0
    """
    chains: tuple[Chain, ...] = ()
    best = 0.0
    for turn, text in enumerate(texts):
        chains, chain = follow(chains, look(text), turn)
        best = max(best, worth(chain))
    return best


def query_signal(chain: Chain | None, frame: float) -> Signal:
    """The signal of the chain that this turn belongs to."""
    value = worth(chain)
    if chain is None or value == 0:
        return quiet("query_pattern", "no line of questions about one thing")
    said = ", then ".join(STAGES[stage] for stage in chain.stages)
    # Two stages are how anybody learns; only the last one asks to use it.
    share = {1: 0.0, 2: 0.1, 3: 0.42, 4: 1.0}[len(chain.stages)]
    used = 1.0 if chain.stages[-1] == len(STAGES) - 1 else 0.5
    return Signal("query_pattern", value, f"about one thing: {said}", WEIGHT * share * used * max(frame, 0.6))
