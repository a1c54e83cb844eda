"""Try a signal or an evaluator on sample texts; AssertionError where it breaks its contract."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..evaluators.base import Answer, Evaluation, Evaluator, NotMeasured, Question, make_evaluator
from ..lexicon.scanner import scan
from ..models import TRAITS, Event, Value
from ..patterns.catalogue import indicator_catalogue
from ..signals import Measurer, Options
from ..signals.base import lookup
from .events import numbered, says

Samples = Sequence[str | Event]
"""Texts, which become messages of one subject, or events."""


def measure(signal: str, samples: Samples, options: Options | None = None) -> list[Value | None]:
    """The readings of a registered signal at each sample, in order; None where it is not measured.

    It is measured twice: in one go, and saved and loaded before every event, as a watch would. Both must
    give the same.

    >>> measure("question", ["Is it late?", "It is late."])
    [1.0, 0.0]
    """
    lookup(signal)
    events = numbered([says(item) if isinstance(item, str) else item for item in samples])
    whole, values = Measurer([signal], options), list[Value | None]()
    saved: Mapping[str, Any] | None = None
    for event in events:
        value = whole.measure(event).readings.get(signal)
        part = Measurer([signal], options)
        if saved is not None:
            part.load(saved)
        again = part.measure(event).readings.get(signal)
        if again != value:
            raise AssertionError(f"signal {signal!r} at {event.id}: {value!r}, but {again!r} after a restart")
        saved = json.loads(json.dumps(part.save()))
        values.append(value)
    return values


def score(evaluator: str | Evaluator, texts: Sequence[str], tier: str = "focused") -> list[Answer]:
    """The answers of an evaluator to each text by itself, in order.

    Traits must be known and from 0 to 1, indicators known and within the text, and the scorer named.

    >>> [sorted(answer.traits)[:2] for answer in score("local", ["Act now or you will regret it."])]
    [['compassion', 'deception']]
    """
    item = make_evaluator(evaluator) if isinstance(evaluator, str) else evaluator
    questions = [
        Question("testing", f"e{n}", "sample", text, scan(text), tier)
        for n, text in enumerate(texts, start=1)
    ]
    answers = item.evaluate_many(questions)
    if len(answers) != len(questions):
        raise AssertionError(f"{item.name}: {len(answers)} answers to {len(questions)} questions")
    for question, answer in zip(questions, answers, strict=True):
        if fault := _fault(item, question, answer):
            raise AssertionError(f"{item.name or type(item).__name__} at {question.id}: {fault}")
    return answers


def _fault(evaluator: Evaluator, question: Question, answer: Any) -> str:
    """What is wrong with an answer; '' for nothing."""
    if isinstance(answer, NotMeasured):
        return "" if answer.reason else "NotMeasured needs a reason"
    if not isinstance(answer, Evaluation):
        return f"expected an Evaluation or NotMeasured, not {type(answer).__name__}"
    if not evaluator.scorer or answer.scorer != evaluator.scorer:
        return f"the scorer is {answer.scorer!r}: expected its own, {evaluator.scorer!r}, like mine@1"
    for trait, value in answer.traits.items():
        if trait not in TRAITS:
            return f"unknown trait {trait!r}: expected some of {', '.join(TRAITS)}"
        if not 0 <= value <= 1:
            return f"{trait} is {value!r}: expected 0 to 1"
    known = indicator_catalogue()
    for span in answer.indicators:
        if span.id not in known or not 0 <= span.start < span.end <= len(question.text):
            return f"the indicator {span.id!r} is unknown, or not within the text"
    return ""
