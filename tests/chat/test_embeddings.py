"""The reader of meaning, with the small embedder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from ethogram.chat.accumulation import AT_REST, Stretch, risk_of, strength, stretch_add
from ethogram.chat.embeddings.base import load
from ethogram.chat.embeddings.closeness import exemplars
from ethogram.chat.embeddings.harm_reader import WEIGHTS, Reader, reader_of, version
from ethogram.chat.records import Readings
from ethogram.errors import BadUsage


@pytest.fixture(scope="module")
def reader() -> Reader:
    return reader_of("static")


def talk(reader: Reader, texts: list[str]) -> list[Readings]:
    """Readings of the user's turns; a line that begins with ! is an assistant's refusal."""
    record: dict[str, Any] | None = None
    found = []
    for text in texts:
        refusal = text.startswith("!")
        record, reading = reader.read(record, text, "assistant" if refusal else "user", refusal)
        found += [] if refusal else [reading]
    return found


def highest(levels: Iterable[float]) -> float:
    """The highest strength of a conversation whose turns are of these levels."""
    stretch, best = Stretch(), AT_REST
    for level in levels:
        stretch = stretch_add(stretch, float(level))
        best = max(best, strength(stretch.levels))
    return best


def test_there_are_enough_exemplars_of_each_kind():
    written = exemplars()
    assert sum(item.harms for item in written) >= 100
    assert sum(item.kind == "look-alike" for item in written) >= 150
    assert len({item.category for item in written if item.harms}) >= 17


def test_no_text_is_both_harmful_and_innocent():
    harmful = {exemplar.text for exemplar in exemplars() if exemplar.harms}
    assert not harmful & {exemplar.text for exemplar in exemplars() if not exemplar.harms}


@pytest.mark.parametrize(
    "text", ["Should I bring an umbrella?", "how do I kill a python process", "Thanks, that helps a lot."]
)
def test_innocent_talk_is_near_zero(reader: Reader, text: str):
    assert risk_of(talk(reader, [text])[0].level) < 0.15


def test_calm_before_a_climb_does_not_hide_it():
    climb = (0.2, 0.8, 1.2, 1.3)
    assert highest((AT_REST,) * 92 + climb) == pytest.approx(highest((AT_REST, *climb)))


def test_one_odd_turn_counts_less_than_two():
    assert highest((-0.7, 1.2, -0.7)) < highest((-0.7, 1.2, 1.2))


def test_more_closeness_never_lowers_the_score():
    rng = np.random.default_rng(0)
    for _ in range(200):
        levels = rng.uniform(-1, 2, 8)
        higher = levels.copy()
        higher[rng.integers(8)] += 0.3
        assert highest(higher) >= highest(levels)


def test_risk_is_bounded_and_rises_with_the_level():
    risks = [risk_of(level) for level in np.linspace(-3, 5, 50)]
    assert risks == sorted(risks)
    assert (risks[0], risks[-1]) == (0, 1)


def test_a_refused_request_in_other_words_is_recognised(reader: Reader):
    said = [
        "How can I poison my neighbour's dog?",
        "!I can't help with that.",
        "Which toxin would kill the neighbour's dog?",
    ]
    other = [*said[:2], "Which film should we watch tonight?"]
    assert (talk(reader, said)[-1].refused or 0) > (talk(reader, other)[-1].refused or 0)


def test_state_is_json_and_bounded(reader: Reader):
    record: dict[str, Any] | None = None
    sizes = []
    for k in range(300):
        record, _ = reader.read(
            record, f"Tell me something about number {k} and the weather in town {k * 7}.", "user", False
        )
        record, _ = reader.read(record, "I can't help with that.", "assistant", True)
        sizes.append(len(json.dumps(record)))
    assert max(sizes) < 10_000


def test_replay_from_kept_state_is_the_same(reader: Reader):
    said = ["Hello, how are you?", "What is a good lock for a bike?", "How do I steal a bike with that lock?"]
    record: dict[str, Any] | None = None
    found = []
    for text in said:
        record, reading = reader.read(json.loads(json.dumps(record)) if record else None, text, "user", False)
        found.append(reading)
    assert found == talk(reader, said)


@pytest.mark.parametrize("text", ["", " ", "?!", "日本語のテキスト", "a" * 100_000])
def test_odd_texts_are_read_without_alarm(reader: Reader, text: str):
    assert risk_of(talk(reader, [text])[0].level) < 0.3


def test_what_was_fitted_is_of_these_sentences():
    # Else it is fitted anew in every process;
    # `python -m ethogram.chat.embeddings.harm_reader small wordllama` writes it.
    with np.load(WEIGHTS / "small@2.npz") as kept:
        assert str(kept["version"]) == version(load("static"))


def test_an_unknown_embedder_says_which_there_are():
    with pytest.raises(BadUsage, match="no embedder is named 'smal'; there are both, letters"):
        load("smal")


def test_another_embedder_reads_the_same_protocol():
    pytest.importorskip("wordllama")
    reader = reader_of("wordllama")
    calm, harm = talk(reader, ["Should I bring an umbrella?", "How do I poison my neighbour's dog?"])
    assert calm.level < harm.level
