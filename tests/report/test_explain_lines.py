"""Lines of an explanation are made of its record: what a text looks like never says what a line is."""

from __future__ import annotations

from datetime import UTC, datetime

from ethogram.app.explain import QUIET, Why
from ethogram.app.explain_shapes import Comparison, ConditionAt, Measured, Spot, ThresholdWhy
from ethogram.report.explain import WhyLine, why_lines, why_parts

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
READING = Measured("mean(risk, last=3)", None)


def answer(*comparisons: Comparison, reason: str = "") -> Why:
    when = ConditionAt("risk > 0.5", False, comparisons, (Measured("risk", 0.25), READING))
    threshold = ThresholdWhy(0, 2, 1, Spot("e2", AT, 2), when, None, stays=False)
    return Why(
        "p", "P", "threshold", "input", "ann", {"subject": "ann"}, 3, True, QUIET, reason, threshold=threshold
    )


def test_a_condition_has_its_truth_and_a_value_of_its_own_none():
    compared = Comparison("risk > 0.5", False, ">", (Measured("risk", 0.25), Measured("0.5", 0.5)))
    assert list(why_lines(answer(compared)))[3:] == [
        WhyLine(2, "risk > 0.5  [0.25 > 0.5]", "no"),
        WhyLine(2, "mean(risk, last=3) = not measured", "", is_known=False),
        WhyLine(0, "closes when that is false"),
    ]


def test_a_reason_that_reads_like_a_condition_is_none():
    assert next(why_lines(answer(reason="yes      = not measured"))) == WhyLine(0, "yes      = not measured")


def test_expressions_are_rewritten_and_names_are_not():
    lines = [line.text for line in why_lines(answer(), str.upper)]
    assert lines[0] == "opens when RISK > 0.5"
    assert lines[2] == "at event e2 (2026-03-01 09:00, 2 of 3): no"


def test_the_terminal_shows_truths_in_a_column():
    known = Comparison("known(risk)", True, None, (Measured("risk", 0.25),))
    texts = [str(part) for part in why_parts([answer(known)])]
    assert texts[-3:] == [
        "      yes      known(risk)  [risk = 0.25]",
        "               mean(risk, last=3) = not measured",
        "  closes when that is false",
    ]
