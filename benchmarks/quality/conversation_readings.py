"""Derailment, manipulation and incivility: readings of the evaluator `local` and simple shapes over them.

Nothing is trained. Which reading and shape is best, and which way it points, is chosen on one half of a set
and told for the rest. A bag of words that *is* trained on each set in five folds stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.concepts import concepts, stems, table
from benchmarks.quality.conversation_sets import Talk, half_of
from benchmarks.quality.separation import area_of, figures
from ethogram.evaluators.local_model import read_text, scores, shipped
from ethogram.lexicon import scan

SETS: Mapping[str, float] = {"cga_cmv_valid": 0.65, "mentalmanip": 0.69, "gh_incivility": 0.79}
"""Sets that readings are tried on, and the AUROC of a bag of words trained on them in five folds."""
BY_TURN = frozenset(("gh_incivility",))
"""Sets with a label for each comment, `uncivil`; the others have one for the conversation."""
ROUGH = ("contempt", "swear", "bully", "wound", "wish_ill")
NEGATIVE = ("manipulation", "deception", "fabrication", "broken_logic", "dismissal", "exploitation")
YOU = frozenset(("you", "your", "you're", "yourself"))
PLAIN = ("words", "turns")
BEST, PLAINEST, RANKED = 5, 2, 4
"""So many of the best are told, of length and turns, and readings ranked together."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Found = dict[str, list[float]]

SHAPES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "last": lambda row: row[-1],
    "mean": lambda row: float(np.mean(row)),
    "highest": max,
    "lowest": min,
    "rise": lambda row: row[-1] - row[0],
    "last two": lambda row: float(np.mean(row[-2:])),
    "last over mean": lambda row: row[-1] - float(np.mean(row)),
    "jumps": lambda row: float(np.mean(np.abs(np.diff(row)))) if len(row) > 1 else 0.0,
}


def validate_local(name: str, talks: Sequence[Talk]) -> Iterator[dict[str, Any]]:
    """Records of the best readings and shapes on a set, of length and turns, and of the best together."""
    tuning = [half_of(talk.id) == "tune" for talk in talks]
    if name in BY_TURN:
        turns = [(turn, part) for talk, part in zip(talks, tuning, strict=True) for turn in talk.turns]
        result = readings([turn.text for turn, _ in turns])
        labels = [bool(turn.labels.get("uncivil")) for turn, _ in turns]
        tuning = [part for _, part in turns]
    else:
        result, labels = by_talk(talks), [bool(talk.label) for talk in talks]
    yield from told(name, result, np.array(labels), np.array(tuning))


def readings(texts: Sequence[str]) -> Found:
    """Readings of each text by name: traits of `local` (.1: not measured), rough words, length, `you`."""
    weights = shipped()
    places = [table()[0].index(name) for name in ROUGH]
    result: Found = {"rough words": [], "words": [], "you": [], **{name: [] for name in weights.traits}}
    for text in texts:
        words = stems(text)
        held = concepts(words)
        result["rough words"].append(sum(held[place] for place in places) / (10 + len(words)))
        result["words"].append(float(len(words)))
        result["you"].append(sum(word in YOU for word in words) / (10 + len(words)))
        seen = scan(text)
        traits = scores(weights, read_text(text), seen) if seen.measured and words else {}
        for name in weights.traits:
            result[name].append(float(traits.get(name) or 0.1))
    rows = zip(*(result[name] for name in NEGATIVE), strict=True)
    return {**result, "negative traits": [float(np.mean(row)) for row in rows]}


def by_talk(talks: Sequence[Talk]) -> Found:
    """Every shape over every reading, one value a conversation; and the number of turns."""
    texts = [turn.text for talk in talks for turn in talk.turns]
    ends = np.cumsum([len(talk.turns) for talk in talks])[:-1]
    found = {"turns": [float(len(talk.turns)) for talk in talks]}
    for name, values in readings(texts).items():
        rows = [row.tolist() for row in np.split(np.array(values), ends)]
        for shape, measure in SHAPES.items():
            found[f"{name}: {shape}"] = [measure(row) for row in rows]
    return found


def told(name: str, result: Found, label: Flags, tune: Flags) -> Iterator[dict[str, Any]]:
    """The best on the tuning half, with what they are worth on the rest; nothing where a label is missing."""
    parts = [label & tune, ~label & tune, label & ~tune, ~label & ~tune]
    if not all(part.any() for part in parts):
        return
    rows = []
    for what, values in result.items():
        value = np.array(values)
        here = area_of(value[parts[0]], value[parts[1]])
        rows.append((abs(here - 0.5), what, 1.0 if here >= 0.5 else -1.0, value))
    rows.sort(key=lambda row: (-row[0], row[1]))
    best = [row for row in rows if row[1].partition(":")[0] not in PLAIN]
    plain = [row for row in rows if row[1].partition(":")[0] in PLAIN][:PLAINEST]
    for kind, some in (("local", best[:BEST]), ("length", plain)):
        for _, what, sign, value in some:
            yield _record(name, kind, what, sign, sign * value, parts)
    joined = together([(what, sign * value) for _, what, sign, value in best])
    yield _record(name, "local", "the best, ranked together", 1.0, joined, parts)


def together(best: Sequence[tuple[str, Floats]]) -> Floats:
    """The mean rank by the best shape of each of the first four readings."""
    first: dict[str, Floats] = {}
    for name, value in best:
        first.setdefault(name.partition(":")[0], np.argsort(np.argsort(value)).astype(float))
    return np.asarray(np.mean(list(first.values())[:RANKED], axis=0), dtype=float)


def _record(
    name: str, kind: str, what: str, sign: float, value: Floats, parts: Sequence[Flags]
) -> dict[str, Any]:
    rest = figures(value[parts[2]], value[parts[3]])["auroc"]
    return {
        "record": "conversation_reading",
        "set": name,
        "kind": kind,
        "reading": what,
        "direction": "high" if sign > 0 else "low",
        "tuned_auroc": round(area_of(value[parts[0]], value[parts[1]]), 4),
        "auroc": rest[0],
        "interval": rest[1:],
        "positive": int(parts[2].sum()),
        "negative": int(parts[3].sum()),
        "bag_of_words": SETS.get(name),
    }
