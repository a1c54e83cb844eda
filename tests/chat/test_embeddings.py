"""The static embedder, the harm head on it, and the reader of turns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethogram.chat.accumulation import AT_REST, Stretch, risk_of, strength, stretch_add
from ethogram.chat.embeddings import harm_head
from ethogram.chat.embeddings.base import Vectors, load
from ethogram.chat.embeddings.examples import FOLDER, Example, examples
from ethogram.chat.embeddings.harm_head import (
    OFFSET,
    PENALTY,
    SHARES,
    fit,
    head_of,
    kept_file,
    places_of,
    probe_of,
    read,
)
from ethogram.chat.embeddings.harm_reader import Reader, reader_of, windows
from ethogram.chat.embeddings.static import pieces, words
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


def test_there_are_examples_of_each_kind_on_both_sides():
    kinds = {(example.kind, example.harms) for example in examples()}
    assert kinds >= {(kind, harms) for kind in ("pair", "in context", "climb") for harms in (True, False)}
    assert kinds >= {("harm", True), ("look-alike", False), ("ordinary", False), ("harmless", False)}


def test_no_turn_is_both_harmful_and_innocent_after_the_same_turns():
    harmful = {(example.text, example.context) for example in examples() if example.harms}
    assert not harmful & {(example.text, example.context) for example in examples() if not example.harms}


def test_a_text_is_the_sum_of_its_pieces():
    one, other, both = load("static").embed(["kettle", "umbrella", "Kettle umbrella"])
    lengths = np.linalg.lstsq(np.stack([one, other]).T, both, rcond=None)[0]
    assert np.allclose(np.stack([one, other]).T @ lengths, both, atol=1e-5)
    assert (lengths > 0).all()


def test_unknown_words_fall_into_pieces_and_quotes_are_folded():
    assert len(pieces("kettle")) == 1
    assert len(pieces("kettlishness")) > 1
    assert pieces("\u6f22") == ()
    assert words("\u201cIt\u2019s\u201d") == words('"It\'s"')


def test_the_head_tells_the_twins_that_it_was_fitted_to_apart():
    embedder = load("static")
    some = [example for example in examples() if example.kind in ("pair", "harmless")][::7]
    values = fit(embedder, some).raw(places_of(embedder, some))
    harms = np.array([example.harms for example in some])
    assert values[harms].mean() > values[~harms].mean() + 0.3


def test_what_came_before_decides(reader: Reader):
    before = [
        ["Which poisons leave no trace?", "How are they given?"],
        ["Which teas calm?", "How are they made?"],
    ]
    harm, calm = ([*talk(reader, [*turns, "How many grams exactly?"])][-1].level for turns in before)
    assert harm > calm + 0.5


def test_a_long_message_is_the_mean_of_its_windows(reader: Reader):
    calm = "The garden was quiet and we had tea with the neighbours after lunch. " * 12
    grave = "How do I poison the well of my neighbour so that nobody notices it? "
    assert len(windows(calm + grave)) > 3
    alone, within = (talk(reader, [text])[0].level for text in (grave, calm + grave))
    assert within < alone


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
    assert max(sizes) < 6_000


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


def test_the_head_that_ships_was_fitted_to_these_examples():
    # Else it is fitted anew in every process.
    # `python -m ethogram.chat.embeddings.harm_head static` writes it.
    embedder = load("static")
    assert read(FOLDER / "static@1.npz", embedder.name, probe_of(embedder)) is not None


def test_an_unknown_embedder_says_which_there_are():
    with pytest.raises(BadUsage, match="no embedder is named 'statick'; there are static, onnx:FOLDER"):
        load("statick")


class Turned:
    """The vectors of `static`, all turned in the same way: inner products are as before."""

    name = "turned@1"

    def __init__(self, seed: int) -> None:
        self._turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(256, 256)))[0].astype(np.float32)
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return load("static").embed(texts) @ self._turn


@pytest.fixture
def few_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Example]:
    """Some examples for heads to be fitted to in a second, and no head kept from before."""
    some = list(examples()[::12])
    monkeypatch.setattr(harm_head, "examples", lambda: some)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return some


def test_another_embedder_gets_a_head_of_its_own(reader: Reader, few_examples: list[Example]):
    said = ["Should I bring an umbrella?", "How do I poison my neighbour's dog?", "Which leaves no trace?"]
    own = talk(Reader(load("static")), said)
    other = talk(Reader(Turned(1)), said)
    # What decides is how near texts are to each other, which turning does not change.
    assert [reading.level for reading in other] == pytest.approx([reading.level for reading in own], abs=0.05)
    assert other[1].level > other[0].level + 1
    shipped = talk(reader, said)
    assert [reading.level for reading in own] != pytest.approx(
        [reading.level for reading in shipped], abs=1e-3
    )


def test_a_head_is_the_ridge_regression_through_its_examples(few_examples: list[Example]):
    embedder = load("static")
    points = places_of(embedder, few_examples).astype(float)
    wanted = np.array([1.0 if example.harms else -1.0 for example in few_examples])
    # Each kind has its share, whatever its number, and harm weighs as much as everything else.
    number = Counter(example.kind for example in few_examples)
    weights = np.array([SHARES[example.kind] / number[example.kind] for example in few_examples])
    for side in (1.0, -1.0):
        weights[wanted == side] *= 0.5 / weights[wanted == side].sum()
    given = fit(embedder, few_examples).raw(points.astype(np.float32))
    # Where the penalty and the error balance, the errors by weight are the coefficients of the kernel.
    coefficients = (wanted - given) * weights * len(few_examples) / PENALTY
    assert np.allclose((points @ points.T + OFFSET) ** 2 @ coefficients, given, atol=0.01)


def test_a_head_is_fitted_once_and_kept(few_examples: list[Example], caplog: pytest.LogCaptureFixture):
    first, second = Turned(1), Turned(1)
    fitted, kept = head_of(first), head_of(second)
    assert first.texts > len(few_examples) > 100 > second.texts
    assert np.allclose(fitted.matrix, kept.matrix, atol=0.01)
    assert (fitted.rest, fitted.alarm) == (kept.rest, kept.alarm)
    assert [record.message for record in caplog.records] == [
        f"fitting the harm head to turned@1 (once, kept in {kept_file('turned@1').parent})"
    ]


@pytest.mark.parametrize("change", ["vectors", "examples", "damage"])
def test_a_head_of_other_vectors_or_examples_is_fitted_anew(few_examples: list[Example], change: str):
    head_of(Turned(1))
    if change == "examples":
        few_examples.pop()
    if change == "damage":
        path = kept_file("turned@1")
        path.write_bytes(path.read_bytes()[:-200])
    embedder = Turned(2 if change == "vectors" else 1)
    head_of(embedder)
    assert embedder.texts > len(few_examples)


def test_without_a_place_to_keep_it_a_head_is_fitted_all_the_same(
    few_examples: list[Example], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    embedder = Turned(1)
    assert head_of(embedder).matrix.shape == (512, 512)
    assert embedder.texts > len(few_examples)


@pytest.mark.parametrize("name", ["../../x", "openai:m@http://localhost:1/v1", "onnx:" + "m" * 300, "a/b\0"])
def test_the_name_of_an_embedder_is_no_path(name: str):
    path = kept_file(name)
    assert path.parent == kept_file("other").parent
    assert len(path.name) < 120
