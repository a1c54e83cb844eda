"""Leave one set out: each set of attacks against each harmless set, with nothing fitted to either.

Attacks are paired with harmless conversations of as many turns and about as many characters, so neither count
separates them. Beside our risk stand a bag of words and a linear head on the shipped embedder, both trained
on all other sets, and the limit of an alarm is chosen on the other harmless sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benchmarks.quality.conversation_baselines import keyword_risk
from benchmarks.quality.conversation_sets import ATTACK, HARMLESS, KINDS, Talk, read_talks
from benchmarks.quality.runs import set_files, set_name
from benchmarks.quality.separation import area_of, figures
from benchmarks.quality.simulate import Make
from ethogram.chat.embeddings.base import load
from ethogram.errors import BadUsage
from ethogram.stats import wilson

EXAMINED = Path(__file__).parents[2] / "tests" / "chat" / "examined"
OWN = ": own harmless"
SMALLEST = 100  # a harmless set with fewer conversations is no set to be left out
FEWEST = 20  # pairs of two sets that are compared
ALARMS = 0.005  # harmless conversations above a limit, at most
BUCKETS, PENALTY = 1 << 16, 1e-3
BINS = 10
BASELINES = ("turns", "length", "keywords", "bag of words", "head on the sets")
Progress = Callable[[int, int, str], None]
Record = dict[str, Any]
Floats = NDArray[np.float64]
Matrix = Any  # csr_matrix or Floats
_WORD = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Pair:
    """An attack and a harmless conversation, cut to as many turns of the user."""

    attack: Talk
    harmless: Talk


def left_out(make: Make, data_dir: str | Path, progress: Progress | None = None) -> Iterator[Record]:
    """Records of every pair of sets, of each harmless set's alarms, and of whether a score tells the set."""
    attacks, harmless = read_attacks(data_dir), read_harmless(data_dir)
    risks: dict[tuple[str, int, str], float] = {}

    def risk(talk: Talk) -> float:
        key = (talk.id, len(talk.turns), talk.turns[0].text)
        if key not in risks:
            conversation = make(talk.id)
            risks[key] = max(
                conversation.turn(turn.text, "user" if turn.of_user else "assistant").risk
                for turn in talk.turns
            )
        return risks[key]

    def scored(name: str, talks: Sequence[Talk]) -> list[float]:
        found = []
        for place, talk in enumerate(talks):
            if progress is not None:
                progress(place, len(talks), name)
            found.append(risk(talk))
        return found

    whole = {name: scored(name, talks) for name, talks in harmless.items()}
    calm = harmless | {f"{name}{OWN}": talks for name, talks in read_written("harmless").items()}
    for name, talks in attacks.items():
        risky, safe = scored(name, talks), list[float]()
        for against in (key for key in calm if not key.endswith(OWN) or key == f"{name}{OWN}"):
            pairs = matched(talks, calm[against])
            if len(pairs) < FEWEST:
                continue
            others = [some for key, some in attacks.items() if key != name]
            quiet = [some for key, some in calm.items() if key != against]
            limit = limit_of([scores for key, scores in whole.items() if key != against])
            yield compared(name, against, pairs, risk, trained(others, quiet), limit)
            if against in harmless:
                safe += [risk(pair.harmless) for pair in pairs]
        if safe:
            yield calibration(name, risky, safe)
    yield from alarms(whole)
    yield recognised(
        {name: scored(name, [cut(talk, 3) for talk in talks]) for name, talks in harmless.items()}
    )


def read_attacks(data_dir: str | Path) -> dict[str, list[Talk]]:
    """The sets of attacks: people who probe an assistant, and those written for `tests/chat/examined`."""
    files = [file for file in set_files(data_dir, []) if KINDS.get(set_name(file)) == ATTACK]
    found = {set_name(file): read_talks(file, "report") for file in files}
    return found | read_written("attacks")


def read_written(kind: str) -> dict[str, list[Talk]]:
    """The unseen parts of the written sets: `attacks`, or the `harmless` conversations of the same hand."""
    return {
        "climbs": read_talks(EXAMINED / f"{kind}_b.jsonl"),
        "short": read_talks(EXAMINED / f"short_{kind}.jsonl")[1::2],
        "adaptive": read_talks(EXAMINED / f"adaptive_{kind}.jsonl")[1::2],
    }


def read_harmless(data_dir: str | Path) -> dict[str, list[Talk]]:
    """The harmless sets that are large enough; BadUsage where there are fewer than two."""
    files = [file for file in set_files(data_dir, []) if KINDS.get(set_name(file)) == HARMLESS]
    found = {set_name(file): read_talks(file, "report") for file in files}
    found = {name: talks for name, talks in found.items() if len(talks) >= SMALLEST}
    if len(found) < 2:
        raise BadUsage(f"{data_dir} has fewer than two harmless sets: nothing can be left out")
    return found


def cut(talk: Talk, turns: int) -> Talk:
    """A conversation up to the user's turn of that number."""
    users = [place for place, turn in enumerate(talk.turns) if turn.of_user]
    if len(users) <= turns:
        return talk
    return Talk(talk.id, talk.label, talk.turns[: users[turns - 1] + 1])


def matched(attacks: Sequence[Talk], harmless: Sequence[Talk]) -> list[Pair]:
    """Each attack with the harmless conversation nearest in characters after as many turns; none twice."""
    free = list(harmless)
    pairs = []
    for attack in sorted(attacks, key=lambda talk: -len(talk.said)):
        count = len(attack.said)
        size = log(1 + sum(map(len, attack.said)))
        rows = [
            (abs(log(1 + sum(map(len, talk.said[:count]))) - size), place)
            for place, talk in enumerate(free)
            if len(talk.said) >= count
        ]
        if rows:
            pairs.append(Pair(attack, cut(free.pop(min(rows)[1]), count)))
    return pairs


def compared(
    name: str,
    against: str,
    pairs: Sequence[Pair],
    risk: Callable[[Talk], float],
    learned: Mapping[str, Callable[[Talk], float]],
    limit: float,
) -> Record:
    """One pair of sets by every method."""
    methods: dict[str, Callable[[Talk], float]] = {
        "turns": lambda talk: float(len(talk.said)),
        "length": lambda talk: float(sum(map(len, talk.said))),
        "keywords": lambda talk: max(map(keyword_risk, talk.said), default=0.0),
        **learned,
    }
    bad, good = [risk(pair.attack) for pair in pairs], [risk(pair.harmless) for pair in pairs]
    ours = figures(bad, good)
    return {
        "record": "left_out",
        "attacks": name,
        "against": against,
        "pairs": len(pairs),
        "auroc": ours["auroc"],
        "recall_at_1": ours["recall_at_1"],
        "limit": round(limit, 4),
        "recall_at_limit": round(float(np.mean(np.array(bad) > limit)), 4),
        "alarms_at_limit": round(float(np.mean(np.array(good) > limit)), 4),
        "baselines": {
            key: round(
                area_of([method(pair.attack) for pair in pairs], [method(pair.harmless) for pair in pairs]), 4
            )
            for key, method in methods.items()
        },
    }


def calibration(name: str, bad: Sequence[float], good: Sequence[float]) -> Record:
    """How the log odds of an attack follow those of the risk: by `slope`, 1 where it is calibrated.

    `rate` is the share of attacks among conversations at which a risk is the probability of an attack.
    """
    risk = np.clip([*bad, *good], 0.001, 0.999)
    rows = np.column_stack([np.ones(len(risk)), np.log(risk / (1 - risk))])
    label = np.repeat([1.0, 0.0], [len(bad), len(good)])
    weight = np.repeat([0.5 / len(bad), 0.5 / len(good)], [len(bad), len(good)])
    constant, slope = logistic(rows, label, weight, penalty=0.0)
    rate = 1 / (1 + np.exp(constant))
    return {
        "record": "left_out_calibration",
        "attacks": name,
        "slope": round(float(slope), 3),
        "rate": round(float(rate), 4),
    }


def limit_of(sets: Sequence[Sequence[float]]) -> float:
    """The lowest limit that at most 5 of 1,000 conversations of each set are above."""
    return max(float(np.quantile(scores, 1 - ALARMS, method="higher")) for scores in sets)


def alarms(whole: Mapping[str, Sequence[float]]) -> Iterator[Record]:
    """Of each harmless set, the share at SUSPECT and the share above a limit chosen on the other sets."""
    for name, scores in whole.items():
        limit = limit_of([others for key, others in whole.items() if key != name])
        suspect, above = (sum(score >= 0.5 for score in scores), sum(score > limit for score in scores))
        yield {
            "record": "left_out_alarms",
            "set": name,
            "conversations": len(scores),
            "suspect_per_1000": round(1000 * suspect / len(scores), 1),
            "suspect_interval": [round(1000 * end, 1) for end in wilson(suspect, len(scores))],
            "limit": round(limit, 4),
            "above_per_1000": round(1000 * above / len(scores), 1),
        }


def recognised(scores: Mapping[str, Sequence[float]]) -> Record:
    """How often the harmless set of a conversation is guessed right from its risk alone, beside chance.

    The guess is the set most frequent in the tenth of all risks; learned on every second conversation, tested
    on the rest, sets equally large.
    """
    least = min(map(len, scores.values()))
    rows = [
        (score, place) for place, some in enumerate(scores.values()) for score in sorted_by_hash(some)[:least]
    ]
    values, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
    bins = np.searchsorted(edges, values)
    first = np.arange(len(rows)) % 2 == 0
    guess = [
        int(np.bincount(labels[first & (bins == k)], minlength=len(scores)).argmax()) for k in range(BINS)
    ]
    right = np.array([guess[k] for k in bins[~first]]) == labels[~first]
    return {
        "record": "left_out_recognised",
        "sets": len(scores),
        "conversations": int((~first).sum()),
        "right": round(float(right.mean()), 4),
        "interval": [round(end, 4) for end in wilson(int(right.sum()), len(right))],
        "chance": round(1 / len(scores), 4),
    }


def sorted_by_hash(scores: Sequence[float]) -> list[float]:
    """The scores in an order that says nothing."""
    order = sorted(range(len(scores)), key=lambda place: crc32(str(place).encode()))
    return [scores[place] for place in order]


def trained(
    attacks: Sequence[Sequence[Talk]], harmless: Sequence[Sequence[Talk]]
) -> dict[str, Callable[[Talk], float]]:
    """A bag of words and a linear head on the embedder, trained on these sets; each set weighs the same."""
    talks = [talk for some in (*attacks, *harmless) for talk in some]
    label = np.repeat([1.0, 0.0], [sum(map(len, attacks)), sum(map(len, harmless))])
    weight = np.concatenate(
        [np.full(len(some), 1 / len(some) / len(side)) for side in (attacks, harmless) for some in side]
    )
    made: dict[str, Callable[[Talk], float]] = {}
    for name, features in (("bag of words", words_of), ("head on the sets", vectors_of)):
        solved = logistic(features(talks), label, weight / weight.sum())
        made[name] = lambda talk, features=features, solved=solved: float(  # type: ignore[misc]
            (features([talk]) @ solved)[0]
        )
    return made


def logistic(rows: Matrix, label: Floats, weight: Floats, penalty: float = PENALTY) -> Floats:
    """Weights of a logistic regression; without a constant, since only the order counts."""

    def loss(solved: Floats) -> tuple[float, Floats]:
        margin = rows @ solved
        value = weight @ (np.logaddexp(0, margin) - label * margin) + penalty / 2 * solved @ solved
        slope = rows.T @ (weight * (1 / (1 + np.exp(-margin)) - label)) + penalty * solved
        return float(value), np.asarray(slope)

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(found.x)


def words_of(talks: Sequence[Talk]) -> csr_matrix:
    """Hashed words and word pairs of what the user wrote, each counted once, rows of length 1."""
    starts, places = [0], list[int]()
    for talk in talks:
        words = _WORD.findall(" ".join(talk.said).lower())
        pairs = (" ".join(pair) for pair in pairwise(words))
        places += sorted({crc32(item.encode()) % BUCKETS for item in (*words, *pairs)})
        starts.append(len(places))
    counts = np.repeat(np.diff(starts), np.diff(starts))
    return csr_matrix((1 / np.sqrt(counts), places, starts), shape=(len(talks), BUCKETS))


def vectors_of(talks: Sequence[Talk]) -> Floats:
    """The mean vector of the user's turns and that of the last one."""
    embedder = load("static")
    texts = [text for talk in talks for text in talk.said or [""]]
    vectors = np.asarray(embedder.embed(texts), dtype=float)
    ends = np.cumsum([len(talk.said or [""]) for talk in talks])
    parts = np.split(vectors, ends[:-1])
    return np.array([np.concatenate([part.mean(axis=0), part[-1]]) for part in parts])


def lines(records: Sequence[Record]) -> Iterator[str]:
    """The tables in Markdown."""
    pairs = [record for record in records if record["record"] == "left_out"]
    head = ("attacks", "against", "pairs", "AUROC", "recall at 1 %", "recall, alarms at the limit")
    yield from _head(*head, *BASELINES)
    for name in dict.fromkeys(record["attacks"] for record in pairs):
        own = [record for record in pairs if record["attacks"] == name]
        yield from map(_compared, own)
        sets = [record for record in own if not record["against"].endswith(OWN)]
        if len(sets) > 1:
            areas = [np.mean([record[key][0] for record in sets]) for key in ("auroc", "recall_at_1")]
            shares = [np.mean([record[f"{key}_at_limit"] for record in sets]) for key in ("recall", "alarms")]
            plain = [np.mean([record["baselines"][key] for record in sets]) for key in BASELINES]
            cells = [f"**{areas[0]:.2f}**", f"**{areas[1]:.2f}**", f"{shares[0]:.2f}, {shares[1]:.3f}"]
            count = str(sum(record["pairs"] for record in sets))
            yield _row(f"**`{name}`**", "mean of the sets", count, *cells, *(f"{mean:.2f}" for mean in plain))
    yield ""
    yield from _head("harmless set", "conversations", "SUSPECT of 1,000", "above the limit of the other sets")
    for record in records:
        if record["record"] == "left_out_alarms":
            low, high = record["suspect_interval"]
            suspect = f"{record['suspect_per_1000']:.0f} ({low:.0f} to {high:.0f})"
            above = f"{record['above_per_1000']:.0f}"
            yield _row(f"`{record['set']}`", f"{record['conversations']:,}", suspect, above)
    yield ""
    yield from _head("attacks", "slope of the log odds", "share of attacks at which it is a probability")
    for record in records:
        if record["record"] == "left_out_calibration":
            yield _row(f"`{record['attacks']}`", f"{record['slope']:.2f}", f"{record['rate']:.2%}")
    for record in records:
        if record["record"] == "left_out_recognised":
            yield ""
            yield (
                f"Guessing which of {record['sets']} harmless sets a conversation is from, by its risk after "
                f"three turns: right in {_within([record['right'], *record['interval']])}, by chance "
                f"{record['chance']:.2f}."
            )


def _compared(record: Record) -> str:
    against = record["against"]
    return _row(
        f"`{record['attacks']}`",
        "own harmless" if against.endswith(OWN) else f"`{against}`",
        str(record["pairs"]),
        _within(record["auroc"]),
        _within(record["recall_at_1"]),
        f"{record['recall_at_limit']:.2f}, {record['alarms_at_limit']:.3f}",
        *(f"{record['baselines'][key]:.2f}" for key in BASELINES),
    )


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*["---"] * len(names))


def _within(three: Sequence[float]) -> str:
    return f"{three[0]:.2f} ({three[1]:.2f} to {three[2]:.2f})"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
