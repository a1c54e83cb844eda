"""What the evaluator `local` says: in range, the same every time, and nothing that the text does not show."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from benchmarks.local_model.probes import HIGHER, PROBES
from ethogram.errors import BadUsage
from ethogram.evaluators.base import Answer, Evaluation, NotMeasured, Question, make_evaluator
from ethogram.evaluators.local import TOO_SHORT, UNKNOWN_LANGUAGE, Local
from ethogram.evaluators.local_model import SUPPORT, shipped
from ethogram.lexicon import scan
from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue
from waiting import PATIENCE_SECONDS, calls_of, ending

LOCAL = Local({})
ALL_PROBES = [text for texts in PROBES.values() for text in texts]
PRESSING = (
    "ACT NOW before it is too late! Everyone is joining, only 3 spots left, send $500 of SOL to my wallet. "
    "Trust me, you will regret it forever if you do not act now. WE ARE THE FUTURE, SUBMIT OR BE LEFT OUT!!!"
)


def ask(text: str) -> Question:
    return Question("test", "1", "ada", text, scan(text), "focused")


@cache
def alone(text: str) -> Answer:
    return LOCAL.evaluate(ask(text))


def test_it_is_found_by_its_name_and_takes_no_options():
    assert make_evaluator("local").scorer == "local@2"
    assert not LOCAL.paid
    assert not LOCAL.wants_context
    with pytest.raises(BadUsage, match="no option 'model'"):
        make_evaluator("local", {"model": "large"})


def test_the_scorer_names_the_version_of_the_weights():
    assert LOCAL.scorer == f"local@{shipped().version}"


def test_it_is_imported_without_numpy():
    code = "import sys, ethogram.evaluators.local; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_SECONDS).returncode == 0


def test_it_says_which_traits_it_does_not_measure():
    missing = set(TRAITS) - set(LOCAL.evaluate(ask(PRESSING)).traits)
    assert missing == {trait for trait in TRAITS if trait in Local.__doc__}


@given(some.text(max_size=400))
def test_any_text_gets_scores_within_range_or_none(text):
    said = LOCAL.evaluate(ask(text))
    if isinstance(said, Evaluation):
        assert set(said.traits) <= set(TRAITS)
        assert all(0 <= value <= 1 for value in said.traits.values())
        assert said.cost == 0
        assert said.width == 0


@settings(max_examples=10)
@given(some.permutations(ALL_PROBES))
def test_it_does_not_matter_with_which_others_a_message_comes(texts):
    together = LOCAL.evaluate_many([ask(text) for text in texts])
    assert together == [alone(text) for text in texts]


def test_another_process_says_the_same_to_the_last_digit():
    code = (
        "import sys; from ethogram.evaluators.local import Local\n"
        "from ethogram.evaluators.base import Question\nfrom ethogram.lexicon import scan\n"
        "t = sys.argv[1]; print(Local().evaluate(Question('s', '1', 'a', t, scan(t), 'focused')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, PRESSING], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert ran.stdout.strip() == str(LOCAL.evaluate(ask(PRESSING)))


def test_a_language_that_the_lexicon_does_not_know_is_not_measured():
    said = LOCAL.evaluate(ask("¿Por qué no lo dices con tu nombre, para todos los que están aquí?"))
    assert said is UNKNOWN_LANGUAGE
    assert said.final


@pytest.mark.parametrize("text", ["", " ", "ok", "Act now!", "!!! ??? ...", "\0\0\0"])
def test_a_text_of_fewer_than_three_words_is_not_measured(text):
    assert LOCAL.evaluate(ask(text)) is TOO_SHORT


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a b " * 250_000,
        "\u0301" * 1_000_000,
        "\0" * 1_000_000,
        "\ud800 is half of a pair " * 1_000,
        "ﷺ " * 10_000,
        "https://" * 20_000,
        "".join(map(chr, range(0x20, 0xD7FF))),
    ],
)
def test_hostile_texts_are_read_in_part(text):
    question = ask(text)
    LOCAL.evaluate(ask("to have the weights read first"))
    with ending("an evaluation"):
        assert isinstance(LOCAL.evaluate(question), Evaluation | NotMeasured)
        assert calls_of(lambda: LOCAL.evaluate(question)) < 50_000


def test_only_the_beginning_of_a_long_text_is_read():
    words = "We looked at the numbers together and talked about what they mean. " * 150
    other = "Send the coins now or else. " * 300
    question = ask(words)
    cut = Question("test", "1", "ada", words[:4_000] + other, question.scan, "focused")
    assert LOCAL.evaluate(question) == LOCAL.evaluate(cut)


def test_indicators_stand_on_words_of_the_text_that_count():
    found = 0
    for text in [PRESSING, *ALL_PROBES]:
        question = ask(text)
        said = LOCAL.evaluate(question)
        own = {(flag.start, flag.end) for flag in question.scan.flags if flag.counts}
        for indicator in said.indicators:
            assert (indicator.start, indicator.end) in own
            assert text[indicator.start : indicator.end].strip()
            assert 0 < indicator.confidence <= 1
            assert said.traits[indicator_catalogue()[indicator.id].trait] >= SUPPORT
            found += 1
        assert len({indicator.id for indicator in said.indicators}) == len(said.indicators)
    assert found


def test_a_quoted_phrase_is_no_indicator():
    said = LOCAL.evaluate(ask(PRESSING))
    assert "MAN_URGENCY" in {indicator.id for indicator in said.indicators}
    quoted = LOCAL.evaluate(ask('SEND $500 OF SOL TO MY WALLET!!! She said "act now" to everyone there.'))
    assert "MAN_URGENCY" not in {indicator.id for indicator in quoted.indicators}


CLEAR = {"manipulation": "pressing", "compassion": "warm", "dismissal": "insulting", "deception": "made up"}


@pytest.mark.parametrize(("trait", "kind"), CLEAR.items())
def test_on_the_whole_scores_are_higher_where_a_reader_would_say_so(trait, kind):
    assert (trait, kind) in HIGHER
    assert mean(trait, kind) > mean(trait, "plain")


def mean(trait: str, kind: str) -> float:
    said = [LOCAL.evaluate(ask(text)) for text in PROBES[kind]]
    return sum(item.traits[trait] for item in said) / len(said)
