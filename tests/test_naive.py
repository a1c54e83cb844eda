"""The plain reading against examples worked by hand: each rule of docs/language.md, each fussy sentence."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import naive
import strategies
from ethogram.language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Combination,
    Compare,
    Contrast,
    Cover,
    Difference,
    Duration,
    Elapsed,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Limits,
    Measure,
    Member,
    Never,
    Not,
    Number,
    Or,
    OrElse,
    Pattern,
    Result,
    Sequence,
    Signal,
    Silence,
    Spread,
    Step,
    StepCount,
    StepMean,
    StepValue,
    Text,
    Threshold,
    Trend,
    Window,
)
from ethogram.models import EPOCH, Event, detection_id, format_time
from naive import Found, Here, History, run, value
from sampling import seeds

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
X, Y, C = Signal("x"), Signal("y"), Signal("c")


def story(every: int = 60, timed: bool = True, at: list[int] | None = None, **lists: Any) -> list[Event]:
    """Events `every` seconds apart (or `at` these seconds); a list per reading or field, None is absent."""
    count = max(len(item) for item in lists.values() if isinstance(item, list))
    out = []
    for k in range(count):
        given = {name: item[k] if isinstance(item, list) else item for name, item in lists.items()}
        given = {name: item for name, item in given.items() if item is not None}
        known = ("subject", "target", "thread", "session", "kind", "reply_to", "source")
        own = {name: given.pop(name) for name in known if name in given}
        attributes = {name[2:]: given.pop(name) for name in list(given) if name.startswith("a_")}
        seconds = at[k] if at else every * k
        when = START + timedelta(seconds=seconds) if timed else EPOCH + timedelta(seconds=k)
        event = {"id": f"{own.get('source', '')}{k + 1}", "subject": "sam", "seq": k, "at": when, **own}
        out.append(Event(timed=timed, readings=given, attributes=attributes, **event))
    return out


def at_event(expr: Expr, events: list[Event], i: int = -1, cap: int = 512) -> Any:
    """The value of an expression at an event of the history of all these events."""
    history = History(tuple(events), tuple(events), cap)
    return value(expr, Here(history, i % len(events)))


def measure(
    name: str, of: Expr = X, *, condition: bool = False, window: Window | None = None, **own: Any
) -> Measure:
    options = tuple((key, item if isinstance(item, tuple) else (float(item),)) for key, item in own.items())
    return Measure(name, of, window or Window(), condition, options)


def of(xs: list[Any], name: str, **own: Any) -> Any:
    """A measure of a whole history of x."""
    return at_event(measure(name, **own), story(x=xs))


def last(*limits: Events | Duration, **others: Any) -> Window:
    return Window(last=limits, **others)


def over(x: float, signal: Expr = X) -> Compare:
    return Compare(">", signal, Number(x))


def letter(word: str) -> Compare:
    return Compare("==", C, Text(word))


def fires(shape: Any, events: list[Event], *, as_of: datetime | None = None, **others: Any) -> list[Found]:
    return run([Pattern("p", shape, **others)], events, as_of=as_of)[0]


def ids(founds: list[Found]) -> list[tuple[str, str]]:
    return [(item.first_event, item.last_event) for item in founds]


def word_sequence(steps: str, **others: Any) -> Sequence:
    """A sequence of one step per letter, named by it."""
    return Sequence(tuple(Step(word, letter(word)) for word in steps), **others)


# --- values and truth -----------------------------------------------------------------------


def test_comparisons_allow_for_the_last_digits():
    events = story(x=[0.1 + 0.2])
    assert at_event(Compare(">", X, Number(0.3)), events) is False
    assert at_event(Compare(">=", X, Number(0.3)), events) is True
    assert at_event(Compare("==", X, Number(0.3)), events) is True
    assert at_event(Compare("!=", X, Number(0.3)), events) is False
    assert at_event(Compare("<", X, Number(0.3 + 1e-6)), events) is True
    # Relative above 1: 1e-9 * 1e6 = 1e-3.
    assert at_event(Compare(">", Number(1e6 + 5e-4), Number(1e6)), events) is False
    assert at_event(Compare(">", Number(1e6 + 5e-3), Number(1e6)), events) is True


def test_truth_is_kleenes():
    events = story(x=[1.0])
    yes, no, unknown = over(0), over(2), over(0, Y)
    assert at_event(unknown, events) is None
    assert at_event(And((unknown, no)), events) is False
    assert at_event(And((unknown, yes)), events) is None
    assert at_event(Or((unknown, yes)), events) is True
    assert at_event(Or((unknown, no)), events) is None
    assert at_event(Not(unknown), events) is None
    assert at_event(Known(unknown), events) is False
    assert at_event(Known(no), events) is True
    assert at_event(OrElse(Y, Number(7.0)), events) == 7
    assert at_event(OrElse(unknown, yes), events) is True


def test_strings_are_equal_or_not_and_never_to_a_number():
    events = story(x=[1.0], c=["a"])
    assert at_event(letter("a"), events) is True
    assert at_event(Compare("==", C, X), events) is False
    assert at_event(Compare("!=", C, X), events) is True
    assert at_event(Compare("<", C, X), events) is None
    assert at_event(Arithmetic("+", C, X), events) is None
    assert at_event(Member(C, (Text("b"), Text("a"))), events) is True
    assert at_event(Member(C, (Text("b"),), negated=True), events) is True
    assert at_event(Member(Y, (Number(1.0),), negated=True), events) is None
    assert at_event(Member(X, (Y, Number(1.0))), events) is True
    assert at_event(Member(X, (Y, Number(2.0))), events) is None


def test_what_has_no_finite_value_is_absent():
    events = story(x=[1.0])
    zero = Arithmetic("-", Arithmetic("-", Number(0.3), Number(0.1)), Number(0.2))  # -2.8e-17
    assert at_event(Arithmetic("/", X, Number(0.0)), events) is None
    assert at_event(Arithmetic("/", X, zero), events) is None
    assert at_event(Arithmetic("*", Number(1e200), Number(1e200)), events) is None
    assert at_event(Function("log", (Number(0.0),)), events) is None
    assert at_event(Function("sqrt", (Number(-1.0),)), events) is None
    assert at_event(Function("sqrt", (zero,)), events) == 0
    assert at_event(Function("clip", (X, Number(0.0), Number(0.5))), events) == 0.5
    assert at_event(Function("min", (X, Y)), events) is None


def test_an_indicator_not_found_reads_0_where_the_event_was_evaluated():
    a = Indicator("MAN_A")
    assert at_event(a, story(compassion=[0.5])) == 0
    assert at_event(a, story(DEC_B=[1.0])) == 0
    assert at_event(a, story(x=[0.5])) is None
    assert at_event(AnyOf((a, Indicator("DEC_B"))), story(DEC_B=[1.0])) is True
    assert at_event(AnyOf((a, Indicator("DEC_B"))), story(x=[1.0])) is None


def test_attributes_are_fields_then_attributes_then_readings():
    events = story(x=[1.0], kind="call", a_tool="bash", a_flag=True, a_many=[1], topic="a")
    events = [Event(**{**_fields(events[0]), "attributes": {"tool": "bash", "flag": True, "many": [1]}})]
    assert at_event(Attribute("kind"), events) == "call"
    assert at_event(Attribute("tool"), events) == "bash"
    assert at_event(Attribute("flag"), events) == 1
    assert at_event(Attribute("many"), events) is None
    assert at_event(Attribute("topic"), events) == "a"
    assert at_event(Attribute("target"), events) is None


def _fields(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__dataclass_fields__}


def test_gap_and_age_are_seconds_and_absent_without_times():
    two = story(x=[1, 2], at=[0, 90])
    assert at_event(Elapsed("gap"), two, 0) is None
    assert at_event(Elapsed("gap"), two, 1) == 90
    assert at_event(Elapsed("age"), two, 0) == 0
    assert at_event(Elapsed("age"), two, 1) == 90
    assert at_event(Elapsed("age"), story(x=[1], timed=False)) is None


# --- windows --------------------------------------------------------------------------------


def values_in(window: Window, xs: list[Any], cap: int = 512, **others: Any) -> Any:
    result = at_event(Measure("values", X, window), story(x=xs, **others), cap=cap)
    return None if result is None else result[::-1]


def test_a_window_is_cut_in_its_seven_steps():
    xs = [1, 2, 3, 4, 5, 6]
    assert values_in(Window(), xs) == xs
    assert values_in(Window(), xs, cap=3) == [4, 5, 6]
    # The cap comes before skip: of the newest three, the newest one goes.
    assert values_in(Window(skip=Events(1)), xs, cap=3) == [4, 5]
    assert values_in(Window(skip=Events(9)), xs) == []
    assert values_in(last(Events(2), skip=Events(1)), xs) == [4, 5]
    # Events a minute apart, now at 300 s: (180, 300].
    assert values_in(last(Duration(2 * MINUTE)), xs) == [5, 6]
    # Now moves back to 240 s, and what is later goes: (120, 240].
    assert values_in(last(Duration(2 * MINUTE), skip=Duration(MINUTE)), xs) == [4, 5]
    # skip in events does not move now: (180, 300] less the newest.
    assert values_in(last(Duration(2 * MINUTE), skip=Events(1)), xs) == [5]
    assert values_in(last(Events(4), Duration(2 * MINUTE)), xs) == [5, 6]
    assert values_in(Window(since=Compare("==", X, Number(4.0))), xs) == [5, 6]
    # Nothing in the window meets since: no cut.
    assert values_in(last(Events(2), since=Compare("==", X, Number(4.0))), xs) == [5, 6]
    assert values_in(Window(since=over(3), where=over(0)), xs) == []
    assert values_in(Window(where=over(4)), xs) == [5, 6]
    # last counts events before where cuts them.
    assert values_in(last(Events(2), where=Compare("<", X, Number(6.0))), xs) == [5]
    # Events without a reading count in last.
    assert values_in(last(Events(3)), [1, 2, None, 4], y=[0, 0, 0, 0]) == [2, 4]
    assert values_in(last(Events(3), at_least=3), [1, 2, None, 4], y=[0, 0, 0, 0]) is None


def test_keep_looks_back_past_the_cap_for_what_has_a_reading():
    xs = [1, 2, None, 4, None, 6]
    ys = [0] * 6
    assert values_in(Window(keep=3), xs, cap=2, y=ys) == [2, 4, 6]
    assert values_in(Window(keep=2, skip=Events(1)), xs, cap=2, y=ys) == [2, 4]
    assert values_in(Window(keep=2, where=Compare("<", X, Number(5.0))), xs, y=ys) == [2, 4]
    assert values_in(Window(keep=9, at_least=5), xs, y=ys) is None


def test_over_subject_looks_at_all_of_the_subjects_events_up_to_this_one():
    events = story(x=[1, 2, 3, 4], target=["bo", "cy", None, "bo"])
    count = measure("count", window=Window(over_subject=True))
    gap = measure("sum", Elapsed("gap"), window=Window(over_subject=True))
    founds = fires(
        Threshold(over(0)), events, group_by=("subject", "target"), details=(("n", count), ("gap", gap)),
        confidence=X,
    )  # fmt: skip
    # bo: events 1 and 4, read at the last (x 4, the most confident: clipped to 1 like x 1; latest of equals).
    bo = next(item for item in founds if item.history == ("sam", "bo"))
    assert bo.details == {"n": 4, "gap": 180}
    cy = next(item for item in founds if item.history == ("sam", "cy"))
    assert cy.details == {"n": 2, "gap": 60}


def test_untimed_only_limits_in_events_count():
    events = story(x=[1, 2, 3], timed=False)
    assert at_event(measure("count", window=last(Duration(1), Events(2))), events) == 2
    assert at_event(measure("count", window=last(Duration(1))), events) is None
    assert at_event(measure("count", window=Window(skip=Duration(1))), events) is None
    assert at_event(measure("rate", window=last(Duration(1), Events(2))), events) is None
    assert at_event(measure("span"), events) is None
    assert at_event(measure("fading", half=HOUR), events) is None


# --- measures -------------------------------------------------------------------------------


def test_counting_measures():
    assert of([1, 0, 1], "count", of=over(0.5), condition=True) == 2
    assert of([1, 0, 1], "count") == 3
    assert of([1, 0, 1, 1], "share", of=over(0.5), condition=True) == 0.75
    assert at_event(measure("share", over(0, Y), condition=True), story(x=[1])) is None
    assert at_event(measure("count", Y), story(x=[1])) == 0
    assert at_event(measure("sum", Y), story(x=[1])) == 0
    assert at_event(measure("mean", Y), story(x=[1])) is None
    assert at_event(measure("run", Y), story(x=[1])) == 0


def test_plain_statistics():
    assert of([1, 2, 6], "sum") == 9
    assert of([1, 2, 6], "mean") == 3
    assert of([1, 2, 6], "min") == 1
    assert of([1, 2, 6], "max") == 6
    # Population: mean 4, squares 4 + 4, over 2.
    assert of([2, 6], "std") == 2
    assert of([5, 1, 2], "median") == 2
    assert of([5, 1, 2, 4], "median") == 3
    assert of([5, 1, 2], "oldest") == 5
    assert of([5, 1, 2], "newest") == 2
    # A category is no reading of a number.
    assert of([5, "a", 1], "mean") == 3
    assert of([5, "a", 1], "newest") == 1


def test_grouping_measures():
    assert of(["a", "b", "a"], "distinct") == 2
    assert of(["a", "b", "a"], "top_count") == 2
    assert of(["a", "b", "a"], "top") == "a"
    assert of(["a", "b", "b", "a", "c"], "top") == "a"
    assert of(["a", "b", "b", "a", "c"], "top", times=3) is None
    assert at_event(measure("top", Y), story(x=[1])) is None
    assert of(["a", "b", "b"], "run") == 2
    assert of(["b", "b"], "run") == 2
    # Six decimals count, and exactly so.
    assert of([0.3, 0.1 + 0.2], "distinct") == 1
    assert of([0.3, 0.300001], "distinct") == 2
    assert of([1, "1"], "distinct") == 2
    assert values_in(Window(), list(range(1, 26))) == list(range(6, 26))
    # Newest first, each once.
    assert of(["a", "b", "a", "c"], "values") == ["c", "a", "b"]


def test_cycle_is_the_longest_stretch_of_whole_repeats_at_the_end():
    assert (of(list("abab"), "cycle"), of(list("abab"), "cycle_length")) == (2, 2)
    # k=1: r=1. k=2 "ab": r=2, 4 values; the c before does not matter.
    assert (of(list("cabab"), "cycle"), of(list("cabab"), "cycle_length")) == (2, 2)
    # aaaa: k=1 r=4 (4), k=2 r=2 (4): of equals the smallest k.
    assert (of(list("aaaa"), "cycle"), of(list("aaaa"), "cycle_length")) == (4, 1)
    # aabaab: k=1 r=1; k=3 "aab" r=2: 6.
    assert (of(list("aabaab"), "cycle"), of(list("aabaab"), "cycle_length")) == (2, 3)
    # abcaa: k=1 r=2 is the only one.
    assert (of(list("abcaa"), "cycle"), of(list("abcaa"), "cycle_length")) == (2, 1)
    # k goes to 15: sixteen values in a row are no cycle.
    longest, too_long = list("abcdefghijklmno" * 2), list("abcdefghijklmnop" * 2)
    assert (of(longest, "cycle"), of(longest, "cycle_length")) == (2, 15)
    assert (of(too_long, "cycle"), of(too_long, "cycle_length")) == (1, None)
    assert at_event(measure("cycle", Y), story(x=[1])) == 0
    assert at_event(measure("cycle_length", Y), story(x=[1])) is None


def test_rise_tau_growth():
    # Slope of 0, 1, 5 on 0, 1, 2: (-1*-2 + 0 + 1*3) / 2 = 2.5, times 2.
    assert of([0, 1, 5], "rise") == pytest.approx(5)
    assert of([3], "rise") is None
    assert of([0, 1, 5], "tau") == 1
    # Pairs of 1, 1, 2: a tie and two rises: 2 / sqrt(3 * 2).
    assert of([1, 1, 2], "tau") == pytest.approx(2 / math.sqrt(6))
    assert of([1, 1], "tau") == 0
    assert of([1], "tau") is None
    assert of([1, 2, 4, 8], "growth") == pytest.approx(2)
    assert of([1, 0, 4], "growth") is None
    assert of([1], "growth") is None


def test_swings_count_turns_of_at_least_so_much():
    # Up 0..1, down 1..0.2, up 0.2..0.9: three legs, two swings.
    assert of([0, 0.5, 1, 0.8, 0.2, 0.9], "swings", by=0.5) == 2
    # First leg 1, last leg 0.7.
    assert of([0, 0.5, 1, 0.8, 0.2, 0.9], "swing_growth", by=0.5) == pytest.approx(0.7)
    # The first leg starts at the opposite extreme: the low is 0 (second value), not 0.3.
    assert of([0.3, 0, 0.6, 0], "swing_growth", by=0.5) == pytest.approx(1)
    assert of([0, 1], "swings", by=0.5) == 0
    assert of([0, 0.1, 0], "swings", by=0.5) == 0
    assert of([0, 1], "swing_growth", by=0.5) is None
    # Exactly by, up to the last digits (0.3 - 0.1 < 0.2 in floating point).
    assert of([0.1, 0.3, 0.1], "swings", by=0.2) == 1
    assert at_event(measure("swings", Y, by=0.5), story(x=[1])) == 0


def test_rate_divides_by_the_duration_unless_something_inside_was_left_out():
    events = story(x=[1, 1, 1, 1], every=1800)  # 0, 30, 60, 90 minutes

    def rate(window: Window, cap: int = 512, what: Expr = X, condition: bool = False) -> Any:
        return at_event(Measure("rate", what, window, condition), events, cap=cap)

    assert rate(last(Duration(2 * HOUR))) == 2  # four in two hours
    assert rate(last(Duration(HOUR))) == 2  # 60 and 90 lie in (30, 90]
    # The cap left out events inside the two hours: two from minute 60 to 90.
    assert rate(last(Duration(2 * HOUR)), cap=2) == 4
    # The cap left out only what lies outside the hour.
    assert rate(last(Duration(HOUR)), cap=2) == 2
    # A limit in events left out one: three from minute 30 to 90.
    assert rate(last(Duration(2 * HOUR), Events(3))) == 3
    assert rate(last(Duration(2 * HOUR), Events(4))) == 2
    # No duration: from the oldest event after step 3, whatever where and since cut later.
    assert rate(Window()) == pytest.approx(4 / 1.5)
    assert (
        rate(Window(since=Compare(">", Elapsed("age"), Number(3000.0)))) is None
    )  # nothing left, no duration
    assert rate(Window(where=Compare(">", Elapsed("age"), Number(3000.0)))) == pytest.approx(2 / 1.5)
    # Skipped events leave now where it is, and skip is no limit that leaves out.
    assert rate(last(Duration(2 * HOUR), skip=Events(2))) == 1
    assert rate(last(Events(1))) is None  # 0 hours
    assert rate(last(Duration(HOUR)), what=Y) == 0
    assert rate(Window(), what=Y) is None
    assert rate(last(Duration(2 * HOUR)), what=over(5), condition=True) == 0
    assert rate(Window(keep=2)) == 4  # from the oldest kept one


def test_usual_is_shrunk_towards_its_prior():
    # Skip the newest: (5 * 0.3 + 1 + 2) / 7.
    assert of([1, 2, 9], "usual", window=Window(skip=Events(1)), prior=(0.3, 5.0)) == pytest.approx(4.5 / 7)
    assert of([1, 2, 9], "usual", window=Window(skip=Events(1))) == 1.5
    assert of([9], "usual", window=Window(skip=Events(1))) is None
    assert of([9], "usual", window=Window(skip=Events(1)), prior=(0.3, 5.0)) == pytest.approx(0.3)


def test_surprise_is_the_tail_of_students_t():
    # Past 1, 3: N 2, mu 2, v 1; x 6: t = 4 / sqrt(1.5). With two degrees p = 1 - t / sqrt(2 + t²).
    t = 4 / math.sqrt(1.5)
    p = 1 - t / math.sqrt(2 + t * t)
    window = Window(skip=Events(1))
    assert of([1, 3, 6], "surprise", window=window) == pytest.approx(-math.log10(p))
    assert of([1, 3, -2], "surprise", window=window) == pytest.approx(math.log10(p))
    assert of([1, 3, 2], "surprise", window=window) == pytest.approx(0, abs=1e-10)
    # Prior (2, 1, 2) and nothing else: N 2, mu 2, v 1, the same.
    assert of([6], "surprise", window=window, prior=(2.0, 1.0, 2.0)) == pytest.approx(-math.log10(p))
    # The prior's distance counts too: N 2 of m 0 (n0 1, s 0) and reading 2: mu 1, v (0 + 1 + 1) / 2.
    assert of([2, 5], "surprise", window=window, prior=(0.0, 0.0, 1.0)) == pytest.approx(-math.log10(p))
    assert of([1, 6], "surprise", window=window) is None  # N 1
    assert of([0.1, 0.1, 0.1, 6], "surprise", window=window) is None  # v 0, but for the last digits
    assert of([1, 3, "a"], "surprise", window=window) is None
    assert of([0, 1] * 100 + [100], "surprise", window=window) == 12


def test_students_tail_against_known_values():
    # One-sided 97.5 % points from the tables.
    assert naive.student_tail(4.302653, 2) == pytest.approx(0.05, abs=1e-6)
    assert naive.student_tail(2.228139, 10) == pytest.approx(0.05, abs=1e-6)
    assert naive.student_tail(0, 7) == pytest.approx(1)
    # Four degrees: p = 1 - s * (3 - s²) / 2 with s = t / sqrt(4 + t²).
    s = 3 / math.sqrt(13)
    assert naive.student_tail(3, 4) == pytest.approx(1 - s * (3 - s * s) / 2)


def test_surprise_count_is_the_tail_of_a_negative_binomial():
    hourly = {"span": float(HOUR), "last": float(10 * HOUR)}
    true = over(0.5)

    def surprise(at: list[int], xs: list[int], cap: int = 512, **prior: Any) -> Any:
        item = measure("surprise_count", true, condition=True, **hourly, **prior)
        return at_event(item, story(x=xs, at=[60 * minute for minute in at]), cap=cap)

    # Now 120 min; the hour is (60, 120]: c = 3. Past from the first event, 0 to 60: one true one, at the
    # first event itself, in 1 h. r 1, one hour on one: P(X = x) = 2^-(x+1), P(X >= 3) = 1/8.
    assert surprise([0, 70, 80, 120], [1, 1, 1, 1]) == pytest.approx(-math.log10(2 / 8))
    # None true now: P(X <= 0) = 1/2, twice that is 1.
    assert surprise([0, 120], [1, 0]) == 0
    # The event on the border is past: c = 0 with r 2: P(X <= 0) = 1/4, below the mean 2.
    assert surprise([0, 60, 120], [1, 1, 0]) == pytest.approx(math.log10(2 / 4))
    # c equal to the mean 1: no sign.
    assert surprise([0, 120], [1, 1]) == 0
    assert surprise([0, 120], [0, 1]) is None  # k + n = 0
    assert surprise([0, 50], [1, 1]) is None  # h + H = 0
    # Prior (1, 1) on that: c 2, r 1, one hour on one: P(X >= 2) = 1/4.
    assert surprise([0, 50], [1, 1], prior=(1.0, 1.0)) == pytest.approx(-math.log10(2 / 4))
    # The cap leaves 60, 70 and 120; the one it cut, at 0, is outside the span. Past starts at 60: no hours.
    assert surprise([0, 60, 70, 120], [1, 1, 1, 1], cap=3) is None
    assert surprise([0, 60, 70, 120], [1, 1, 1, 1], cap=3, prior=(0.0, 1.0)) == pytest.approx(
        -math.log10(2 / 4)
    )
    # The cap cut at 70, inside the span.
    assert surprise([0, 70, 80, 120], [1, 1, 1, 1], cap=2, prior=(1.0, 1.0)) is None
    # Past is ten hours at most: (-10 h, 0] before the span; the first event, at its open end, is out.
    assert surprise([0, 660], [1, 1]) is None
    assert surprise([1, 660], [1, 0]) == 0


def test_jump_is_the_clearest_change():
    # 0 0 1 | 5 5 6: means 1/3 and 16/3, variances 1/3 each: 5 / sqrt(2/9).
    assert of([0, 0, 1, 5, 5, 6], "jump") == pytest.approx(5 / math.sqrt(2 / 9))
    assert of([5, 5, 6, 0, 0, 1], "jump") == pytest.approx(-5 / math.sqrt(2 / 9))
    assert of([0, 0, 0, 1, 1, 1], "jump") == 1000
    assert of([1, 1, 1, 1, 1, 1], "jump") == 0
    assert of([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], "jump") == 0
    assert of([0, 0, 0, 1, 1], "jump") is None
    # Up at 3 and down at 6 are of one size (0 0 0 | 1 1 1 0 0 0 turned round): the earliest.
    up_down = [0, 0, 1, 1, 1, 1, 0, 0]
    assert of(up_down, "jump") > 0
    assert of([1 - x for x in up_down], "jump") < 0


def test_excess_fading_span_cover():
    # Ends of 1, -3, 2, 1 above 0: 1, 3, 0, 1; the largest is 2 + 1.
    assert of([1, -3, 2, 1], "excess", over=0) == 3
    assert of([1, 1], "excess", over=2) == 0
    assert at_event(measure("excess", Y, over=0), story(x=[1])) is None
    # 4 an hour ago, 1 now, half an hour.
    assert at_event(measure("fading", half=HOUR / 2), story(x=[4, 1], every=3600)) == pytest.approx(2)
    # Now moved back half an hour by skip: 4 * 2^-1.
    moved = measure("fading", half=HOUR / 2, window=Window(skip=Duration(HOUR // 2)))
    assert at_event(moved, story(x=[4, 1], every=3600)) == pytest.approx(2)
    assert at_event(measure("fading", Y, half=HOUR), story(x=[1])) is None
    assert of([1, 1, 0], "span") == 120
    assert of([1, 1, 0], "span", of=over(0.5), condition=True) == 60
    assert of([0, 0], "span", of=over(0.5), condition=True) is None
    items = (Indicator("MAN_A"), Indicator("MAN_B"))
    events = story(MAN_A=[1, 0.5, None], compassion=[0, 0, 0])
    assert at_event(Cover(items, (3.0, 4.0)), events) == 3
    assert at_event(Cover(items, ()), story(MAN_A=[1, 0], MAN_B=[0, 1])) == 2
    assert at_event(Cover(items, (3.0, 4.0)), story(x=[1])) == 0
    assert at_event(Cover(items, (3.0, 4.0), Window(at_least=1)), story(x=[1])) is None


# --- sequence -------------------------------------------------------------------------------


def test_a_sequence_takes_the_latest_standing_start_and_fires_once_for_it():
    founds = fires(word_sequence("ab"), story(c=list("aabb")))
    # At 3 the chain is (2, 3). At 4 it is (2, 4), and 2 is not after 3, the last firing.
    assert ids(founds) == [("2", "3")]
    assert founds[0].evidence == (("a", "2"), ("b", "3"))
    assert (founds[0].opened_at, founds[0].detected_at) == (
        START + timedelta(minutes=1),
        START + timedelta(minutes=2),
    )
    assert (founds[0].closed_at, founds[0].state, founds[0].count) == (founds[0].detected_at, "closed", 2)
    assert founds[0].id == detection_id("p", "input", ("sam",), "3")
    assert ids(fires(word_sequence("ab"), story(c=list("abab")))) == [("1", "2"), ("3", "4")]


def test_no_other_start_is_tried_where_the_latest_fails():
    # within: 1 event, on the step. a at 1 and 3; b at 4 follows the latest a. In "aab..": b at 3, a at 2.
    near = Sequence((Step("a", letter("a")), Step("b", letter("b"), within=(Events(1),))))
    assert ids(fires(near, story(c=list("acb")))) == []
    assert ids(fires(near, story(c=list("ab")))) == [("1", "2")]
    # A reference: b must be above a's x. The latest a has x 5, so x 3 fails although the first a has 1.
    rising = And((letter("b"), Compare(">", X, StepValue("a", X))))
    shape = Sequence((Step("a", letter("a")), Step("b", rising)))
    assert fires(shape, story(c=list("aab"), x=[1, 5, 3])) == []
    assert ids(fires(shape, story(c=list("aab"), x=[1, 2, 3]))) == [("2", "3")]


def test_gaps_count_the_events_of_the_history_between():
    events = story(c=list("azzb"))
    assert fires(word_sequence("ab", max_gap=1), events) == []
    assert len(fires(word_sequence("ab", max_gap=2), events)) == 1
    assert len(fires(word_sequence("ab", max_gap=0), story(c=list("ab")))) == 1
    # An event without a reading of the shape's signals is not of the history.
    between = story(c=["a", None, "b"], x=[0, 0, 0])
    assert len(fires(word_sequence("ab", max_gap=0), between)) == 1


def test_soon_and_within_include_their_ends():
    def near(*limits: Events | Duration) -> Sequence:
        return Sequence((Step("a", letter("a")), Step("b", letter("b"), within=limits)))

    events = story(c=list("azb"))
    assert len(fires(near(Duration(2 * MINUTE)), events)) == 1
    assert fires(near(Duration(2 * MINUTE - 1)), events) == []
    assert len(fires(near(Events(2)), events)) == 1
    assert fires(near(Events(1)), events) == []
    assert fires(near(Duration(DAY), Events(1)), events) == []
    assert len(fires(word_sequence("ab", within=(Events(3),)), events)) == 1
    assert fires(word_sequence("ab", within=(Events(2),)), events) == []
    assert len(fires(word_sequence("ab", within=(Duration(2 * MINUTE),)), events)) == 1
    assert fires(word_sequence("ab", within=(Duration(2 * MINUTE - 1),)), events) == []


def test_soon_holds_inside_a_repeated_step_and_never_does_not():
    twice = Sequence((Step("a", letter("a"), times=2, within=(Events(1),)),))
    assert fires(twice, story(c=list("aza"))) == []
    assert len(fires(twice, story(c=list("aa")))) == 1
    guarded = Sequence((Step("a", letter("a"), times=2), Never(letter("n")), Step("b", letter("b"), times=2)))
    assert len(fires(guarded, story(c=list("anabnb")))) == 1
    assert fires(guarded, story(c=list("aanbb"))) == []
    # Strictly between: an event that is itself matched may meet the never.
    own = Sequence((Step("a", over(0)), Never(over(5)), Step("b", over(1))))
    assert len(fires(own, story(x=[9, 9]))) == 1
    # Unknown is not true.
    assert len(fires(guarded, story(c=["a", "a", None, "b", "b"], x=[0] * 5))) == 1


def test_standing_does_not_depend_on_firings_or_within():
    # ab fires at 2. Then b at 3 has the chain (1, 3): it stands, but does not fire. c after it needs a b:
    # abc at 4 has chain (1, 3, 4), first event 1 not after... there was no firing of abc, so it fires.
    assert ids(fires(word_sequence("abc"), story(c=list("abbc")))) == [("1", "4")]
    # The latest standing b counts even where its own start is too old: a at 1 is outside within at 4.
    assert fires(word_sequence("abc", within=(Events(3),)), story(c=list("abbc"))) == []


def test_times_and_at_least_are_places_and_only_at_least_collects():
    events = story(c=list("aaaab"), x=[1, 2, 3, 4, 0])
    times = Sequence((Step("a", letter("a"), times=2), Step("b", letter("b"))))
    assert fires(times, events)[0].evidence == (("a", "3"), ("a", "4"), ("b", "5"))
    many = Sequence((Step("a", letter("a"), times=2, collects=True), Step("b", letter("b"))))
    details = (("n", StepCount("a")), ("mean", StepMean("a", X)), ("last", StepValue("a", X)), ("x", X))
    fire = fires(many, events, details=details, confidence=StepMean("a", X))[0]
    assert fire.evidence == (("a", "1"), ("a", "2"), ("a", "3"), ("a", "4"), ("b", "5"))
    assert fire.details == {"n": 4, "mean": 2.5, "last": 4, "x": 0}
    # The first event stays the chain's; also counts as evidence.
    assert (fire.first_event, fire.count, fire.confidence) == ("3", 5, 1)


def test_also_stops_at_max_gap_within_the_step_before_and_the_last_firing():
    def collecting(**others: Any) -> Sequence:
        step = Step("a", letter("a"), times=2, collects=True, within=others.pop("near", ()))
        return Sequence((step, Step("b", letter("b"))), **others)

    def also(shape: Sequence, words: str) -> list[str]:
        return [event for step, event in fires(shape, story(c=list(words)))[-1].evidence if step == "a"]

    assert also(collecting(), "aazaab") == ["1", "2", "4", "5"]
    assert also(collecting(max_gap=0), "aazaab") == ["4", "5"]
    assert also(collecting(near=(Events(1),)), "aazaab") == ["4", "5"]
    assert also(collecting(within=(Events(4),)), "aaaab") == ["2", "3", "4"]
    # The second firing, at 8: not before the first at 4, although a stands at 1, 2 and 3.
    assert also(collecting(), "aaabaaab") == ["5", "6", "7"]
    # After the last matched event of the previous step.
    shape = Sequence((Step("z", letter("z")), Step("a", letter("a"), collects=True), Step("b", letter("b"))))
    assert also(shape, "zaazaab") == ["5", "6"]
    # Fifty at most.
    assert len(also(collecting(), "a" * 60 + "b")) == 52


def test_an_optional_step_takes_the_latest_event_between_its_neighbours():
    shape = Sequence((
        Step("a", letter("a")), Step("o", letter("o"), optional=True), Step("u", letter("u"), optional=True),
        Step("b", letter("b")),
    ))  # fmt: skip
    details = (("o", StepCount("o")), ("u", StepCount("u")), ("x", StepValue("u", X)))

    def filled(words: str) -> Found:
        return fires(shape, story(c=list(words), x=list(range(len(words)))), details=details)[0]

    # u is filled first, with 4; o then before it, with 3 (not 5).
    assert filled("aooub").evidence == (("a", "1"), ("o", "3"), ("u", "4"), ("b", "5"))
    assert filled("aouob").evidence == (("a", "1"), ("o", "2"), ("u", "3"), ("b", "5"))
    assert filled("aouob").details == {"o": 1, "u": 1, "x": 2}
    assert filled("aob").evidence == (("a", "1"), ("o", "2"), ("b", "3"))
    assert filled("aob").details == {"o": 1, "u": 0, "x": None}
    assert filled("oab").count == 2


def test_tell_at_tells_the_first_steps_with_a_last_firing_of_their_own():
    shape = Sequence((Step("a", letter("a")), Never(letter("n")), Step("b", letter("b")), Step("d", over(1))))
    pattern = Pattern("p", shape, tell_at=2, severities=(("high", None),), confidence=Number(1.0))
    # The event with x alone is in the history of p@2 too: it is the history of the whole shape.
    found, _ = run([pattern], story(c=["a", None, "b", None], x=[0, 0, 0, 2]))
    assert [(item.pattern, item.last_event, item.severity) for item in found] == [
        ("p@2", "3", "low"),
        ("p", "4", "high"),
    ]
    assert found[0].confidence == 0.666667
    narrow = Pattern("p", Sequence(shape.items, max_gap=0), tell_at=2)
    assert run([narrow], story(c=["a", None, "b"], x=[0, 0, 0]))[0] == []


def test_within_defaults_to_256_events():
    assert Sequence(()).within == (Events(256),)


# --- threshold, trend, contrast ----------------------------------------------------------------


def test_a_threshold_opens_closes_and_leaves_the_unknown_alone():
    events = story(x=[0, 1, None, 1, 0, 1], y=[0] * 6)
    shape = Threshold(And((over(0.5), Compare("==", Y, Number(0.0)))))
    founds = fires(shape, events)
    assert ids(founds) == [("2", "4"), ("6", "6")]
    assert (founds[0].count, founds[0].state, founds[0].closed_at) == (3, "closed", events[4].at)
    assert (founds[1].state, founds[1].closed_at) == ("opened", None)
    assert founds[0].opened_at == founds[0].detected_at == events[1].at
    assert founds[0].id == detection_id("p", "input", ("sam",), "2")


def test_clears_closes_it_and_keeps_it_from_opening():
    clears = Compare("==", Y, Number(1.0))
    events = story(x=[1, 0, 1, 1, 1], y=[0, 0, 1, 1, 0])
    assert ids(fires(Threshold(over(0.5), clears), events)) == [("1", "2"), ("5", "5")]
    assert ids(fires(Threshold(over(0.5), stays=True), events)) == [("1", "5")]
    # clears unknown: it opens.
    assert ids(fires(Threshold(over(0.5), clears), story(x=[1, 1]))) == [("1", "2")]


def test_an_episode_keeps_its_highest_and_reads_details_at_its_peak():
    events = story(x=[0.6, 0.9, 0.9, 0.7, 0.0], y=[0, 0, 0, 1, 1])
    severities = (("low", None), ("high", Compare("==", Y, Number(1.0))))
    fire = fires(Threshold(over(0.5)), events, confidence=X, severities=severities, details=(("x", X),))[0]
    # Highest confidence 0.9 at 2 and 3; highest severity at 4; the peak has the highest of both together.
    assert (fire.severity, fire.confidence, fire.details) == ("high", 0.9, {"x": 0.7})
    assert fire.evidence == (("opened", "1"), ("peak", "4"))
    flat = fires(Threshold(over(0.5)), events, confidence=X, details=(("age", Elapsed("age")),))[0]
    assert flat.details == {"age": 120}  # of equals the latest
    assert flat.evidence[-1] == ("peak", "3")


def test_severities_fall_back_to_the_lowest_listed():
    severities = (("medium", over(0.7)), ("high", over(0.8)))
    assert fires(Threshold(over(0)), story(x=[0.1]), severities=severities)[0].severity == "medium"
    assert fires(Threshold(over(0)), story(x=[0.75]), severities=severities)[0].severity == "medium"
    assert fires(Threshold(over(0)), story(x=[0.9]), severities=severities)[0].severity == "high"


def test_confidence_is_clipped_rounded_and_0_where_absent():
    assert fires(Threshold(over(0)), story(x=[3]), confidence=X)[0].confidence == 1
    assert fires(Threshold(over(0)), story(x=[3]), confidence=Y)[0].confidence == 0
    assert fires(Threshold(over(0)), story(x=[1 / 3]), confidence=X)[0].confidence == 0.333333


def counted(when: Expr, events: list[Event]) -> list[str]:
    fire = fires(Threshold(when), events)[0]
    return [event for step, event in fire.evidence if step == "counted"]


def test_evidence_of_a_threshold_is_what_its_measures_counted():
    def at_least(n: float, expr: Expr) -> Compare:
        return Compare(">=", expr, Number(float(n)))

    many = at_least(2, measure("count", over(0.5), condition=True, window=last(Events(4))))
    assert counted(many, story(x=[0, 1, 0, 1])) == ["2"]
    top = at_least(2, measure("top_count", C))
    assert counted(top, story(c=list("abca"))) == ["1"]
    # Two a and two b: the value counted is the one of equals seen last.
    assert counted(And((top, over(0))), story(c=list("aacbb"), x=[0, 0, 0, 0, 1])) == ["4"]
    running = at_least(2, measure("run", C))
    assert counted(running, story(c=list("abb"))) == ["2"]
    # Two measures, each event once; the newest twenty.
    both = And((at_least(30, measure("count")), at_least(1, measure("sum"))))
    assert counted(both, story(x=[1] * 30)) == [str(k) for k in range(10, 30)]
    # Trend and contrast: their own measure, not those in `and`.
    shape = Trend(X, 1.0, 0.5, last(Events(2)), further=at_least(1, measure("count")))
    assert fires(shape, story(x=[0, 0, 1]))[0].evidence == (("counted", "2"), ("opened", "3"))
    # In surprise_count: the true ones in the span.
    odd = measure("surprise_count", over(0), condition=True, span=HOUR, last=DAY, prior=(1.0, 1.0))
    events = story(x=[1, 1, 1, 1], at=[0, 7200, 7300, 7400])
    assert counted(Compare(">", odd, Number(0.5)), events) == ["2", "3"]


def test_trend_rises_or_falls():
    window = last(Events(3), at_least=3)
    details = (("rise", Result("rise")), ("tau", Result("tau")))
    founds = fires(Trend(X, 1.0, 0.9, window), story(x=[0, 0.5, 1, 1]), details=details)
    # At 3: rise 1, tau 1. At 4: 0.5, 1, 1: rise 0.5, false.
    assert ids(founds) == [("3", "3")]
    assert founds[0].details == {"rise": 1, "tau": 1}
    assert ids(fires(Trend(X, 1.0, 0.9, window, falling=True), story(x=[1, 0.5, 0, 0]))) == [("3", "3")]
    assert fires(Trend(X, 1.0, 0.9, window, falling=True), story(x=[0, 0.5, 1, 1])) == []


def contrast(name: str, events: list[Event], at_least: int = 2, each: Expr | None = None) -> Any:
    difference = Difference(
        name, X, Compare("==", Y, Number(0.0)), Compare("==", Y, Number(1.0)), each, at_least
    )
    return at_event(difference, events)


def test_contrast_compares_two_sides():
    events = story(x=[4, 6, 1, 3], y=[0, 0, 1, 1])
    assert contrast("difference", events) == 3
    # Sample variances 2 and 2: 3 / sqrt(1 + 1).
    assert contrast("t", events) == pytest.approx(3 / math.sqrt(2))
    assert (contrast("n_where", events), contrast("n_against", events)) == (2, 2)
    assert contrast("difference", events, at_least=3) is None
    assert contrast("n_where", events, at_least=3) == 2
    assert contrast("t", story(x=[4, 4, 1, 1], y=[0, 0, 1, 1])) == 1000
    assert contrast("t", story(x=[1, 1, 4, 4], y=[0, 0, 1, 1])) == -1000
    assert contrast("t", story(x=[1, 3, 2, 2], y=[0, 0, 1, 1])) == 0
    # An event that meets both counts on both sides.
    both = Difference("n_against", X, over(0), over(2), None, 2)
    assert at_event(both, story(x=[1, 3, 4])) == 2


def test_contrast_within_each_takes_out_the_strata():
    # Stratum a: where 10, 12 (mean 11), against 9 (9): midpoint 10: 0, 2 | -1.
    # Stratum b: where 1, against 0, 0: midpoint 0.5: 0.5 | -0.5, -0.5. c lacks a side; the last has none.
    events = story(
        x=[10, 12, 9, 1, 0, 0, 50, 70],
        y=[0, 0, 1, 0, 1, 1, 0, 1],
        c=["a", "a", "a", "b", "b", "b", "c", None],
    )
    assert contrast("difference", events, each=C) == pytest.approx(2.5 / 3 - (-2 / 3))
    assert (contrast("n_where", events, each=C), contrast("n_against", events, each=C)) == (3, 3)
    # Without strata: mean of 10, 12, 1, 50 minus mean of 9, 0, 0, 70.
    assert contrast("plain_difference", events, each=C) == pytest.approx(73 / 4 - 79 / 4)
    left, right = [0, 2, 0.5], [-1, -0.5, -0.5]
    variances = [sum((x - sum(xs) / 3) ** 2 for x in xs) / 2 for xs in (left, right)]
    expected = (2.5 / 3 + 2 / 3) / math.sqrt(sum(variances) / 3)
    assert contrast("t", events, each=C) == pytest.approx(expected)


def test_a_contrast_is_a_threshold():
    where, against = Compare("==", Y, Number(0.0)), Compare("==", Y, Number(1.0))
    shape = Contrast(X, where, against, 3.0, 2.0, Window())
    details = (("difference", Result("difference")), ("n", Result("n_where")))
    fire = fires(shape, story(x=[4, 6, 1, 3], y=[0, 0, 1, 1]), details=details)[0]
    assert fire.evidence == (("counted", "1"), ("counted", "2"), ("counted", "3"), ("opened", "4"))
    assert fire.details == {"difference": 3, "n": 2}


# --- silence --------------------------------------------------------------------------------


def test_a_silence_opens_at_its_deadline_and_the_next_event_closes_it():
    events = story(x=[1, 1, 1], at=[0, 60, 200])
    founds = fires(Silence(Number(100.0)), events, details=(("deadline", Result("deadline")),), confidence=X)
    assert len(founds) == 1
    item = founds[0]
    assert item.opened_at == item.detected_at == START + timedelta(seconds=160)
    assert (item.closed_at, item.state, item.count) == (events[2].at, "closed", 1)
    assert (item.first_event, item.last_event, item.evidence) == ("2", "2", (("before", "2"),))
    assert item.details == {"deadline": format_time(item.opened_at)}
    assert (item.id, item.confidence) == (detection_id("p", "input", ("sam",), "2"), 1)
    # Exactly at the deadline is not later.
    assert fires(Silence(Number(140.0)), events) == []
    late = fires(Silence(Number(140.0)), events, as_of=events[2].at + timedelta(seconds=141))
    assert [(item.first_event, item.state, item.closed_at) for item in late] == [("3", "opened", None)]


def test_a_silence_waits_only_after_what_it_asks_for():
    events = story(x=[1, 0, 1, 0], every=100)
    founds = fires(Silence(Number(50.0), after=over(0.5)), events, as_of=START + timedelta(days=1))
    assert ids(founds) == [("1", "1"), ("3", "3")]
    assert ids(fires(Silence(Number(50.0), at_least=3), events)) == [("3", "3")]
    assert fires(Silence(Number(-1.0)), events) == []
    # The first event has no gap, so longer_than is absent there.
    assert ids(fires(Silence(Arithmetic("-", Elapsed("gap"), Number(50.0))), events)) == [
        ("2", "2"),
        ("3", "3"),
    ]
    # Every event of the key is in the history of a silence.
    mixed = story(x=[1, None], at=[0, 10])
    assert fires(Silence(Number(50.0), after=over(0.5)), mixed, as_of=START + timedelta(days=1)) == []


# --- all_of, in_order, any_of, spread -------------------------------------------------------


def at_letters(name: str, word: str, **others: Any) -> Pattern:
    """A pattern that fires at each such letter."""
    return Pattern(name, Sequence((Step("s", letter(word)),)), **others)


def combined(kind: str, words: str, *, parts: str = "ab", **others: Any) -> list[Found]:
    patterns = [at_letters(part, part, confidence=Number(0.5)) for part in parts]
    shape = Combination(kind, tuple(parts), **{"within": HOUR, **others})
    found, _ = run([Pattern("p", shape), *patterns], story(c=list(words)))
    return [item for item in found if item.pattern == "p"]


def test_all_of_takes_the_newest_of_each_since_the_last_firing():
    founds = combined("all_of", "aabb")
    # Fires at 3 with a of 2; b at 4 finds no a after that.
    assert [item.evidence for item in founds] == [(("a", "2"), ("b", "3"))]
    item = founds[0]
    assert item.opened_at == item.detected_at == item.closed_at == START + timedelta(minutes=2)
    assert (item.first_event, item.last_event, item.count, item.state) == ("2", "3", 2, "closed")
    assert item.parts == (
        detection_id("a", "input", ("sam",), "2"),
        detection_id("b", "input", ("sam",), "3"),
    )
    assert item.id == detection_id("p", "input", ("sam",), item.parts[-1])
    assert [item.evidence[0] for item in combined("all_of", "baab")] == [("b", "1"), ("a", "3")]
    assert len(combined("all_of", "azb", within=2 * MINUTE)) == 1
    assert combined("all_of", "azb", within=2 * MINUTE - 1) == []


def test_overlapping_parts_were_open_together():
    def overlap(xs: list[int], ys: list[int]) -> list[Found]:
        parts = [Pattern("x", Threshold(over(0.5))), Pattern("y", Threshold(over(0.5, Y)))]
        shape = Combination("all_of", ("x", "y"), None, overlapping=True)
        return [
            item for item in run([*parts, Pattern("p", shape)], story(x=xs, y=ys))[0] if item.pattern == "p"
        ]

    assert len(overlap([1, 1, 0], [0, 1, 0])) == 1
    # x closes at the very event at which y opens: not after, so it holds.
    assert len(overlap([1, 0, 0], [0, 1, 0])) == 1
    assert overlap([1, 0, 0], [0, 0, 1]) == []


def test_in_order_wants_strictly_rising_times():
    assert [item.evidence for item in combined("in_order", "aab")] == [(("a", "2"), ("b", "3"))]
    assert combined("in_order", "ba") == []
    assert len(combined("in_order", "abb")) == 1
    assert len(combined("in_order", "abab")) == 2
    assert combined("in_order", "azb", within=MINUTE) == []
    # At one time: the b at 3 shares the time of the a at 2, so the a at 1 is the latest before it.
    patterns = [at_letters("a", "a"), at_letters("b", "b")]
    shape = Combination("in_order", ("a", "b"), HOUR)
    found, _ = run([*patterns, Pattern("p", shape)], story(c=list("aab"), at=[0, 60, 60]))
    assert [item.evidence for item in found if item.pattern == "p"] == [(("a", "1"), ("b", "3"))]


def test_any_of_is_each_detection_of_a_part():
    founds = combined("any_of", "abza", within=None)
    assert [item.evidence for item in founds] == [(("a", "1"),), (("b", "2"),), (("a", "4"),)]


def test_confidence_of_a_combination():
    # Odds of 0.5 are 1, times 3 is 3: 0.75.
    assert combined("all_of", "ab", multiplier=3.0)[0].confidence == 0.75
    assert combined("all_of", "ab")[0].confidence == 0.5
    parts = [at_letters("a", "a", confidence=Number(0.5)), at_letters("b", "b", confidence=Number(0.25))]
    both = Arithmetic("*", Result("a.confidence"), Result("b.confidence"))
    shape = Combination("all_of", ("a", "b"), HOUR)
    found, _ = run([*parts, Pattern("p", shape, confidence=both)], story(c=list("ab")))
    assert found[-1].confidence == 0.125


def test_combinations_join_on_their_history_and_on_names():
    narrow = ("subject", "target")
    parts = [at_letters("a", "a", group_by=narrow), at_letters("b", "b")]
    events = story(c=list("ab"), target=["bo", "bo"])

    def joined(history: tuple[str, ...]) -> list[str]:
        shape = Combination("all_of", ("a", "b"), HOUR)
        found, _ = run([*parts, Pattern("p", shape, group_by=history)], events)
        return [item.pattern for item in found if item.pattern == "p"]

    assert joined(("subject",)) == ["p"]
    assert joined(narrow) == []  # b lacks a target
    assert naive.is_part("spiral.tokens", "spiral")
    assert naive.is_part("spiral.tokens", "spiral.tokens")
    assert not naive.is_part("spiral@3", "spiral")
    assert not naive.is_part("spiral.tokens@3", "spiral")
    assert naive.is_part("spiral.tokens@3", "spiral@3")


def test_combinations_of_combinations():
    parts = [at_letters(item, item) for item in "abc"]
    inner = Pattern("ab", Combination("all_of", ("a", "b"), HOUR))
    outer = Pattern("abc", Combination("in_order", ("ab", "c"), HOUR))
    found, _ = run([outer, inner, *parts], story(c=list("abc")))
    assert [(item.pattern, item.first_event) for item in found if len(item.pattern) > 1] == [
        ("ab", "1"),
        ("abc", "1"),
    ]
    with pytest.raises(ValueError, match="circle"):
        run([Pattern("p", Combination("any_of", ("p",)))], story(c=["a"]))


def spreading(events: list[Event], within: int = HOUR, at_least: int = 1, as_of: Any = None) -> list[Found]:
    parts = [at_letters("a", "a", confidence=Number(0.5)), at_letters("b", "b", confidence=Number(0.8))]
    shape = Spread("a", "b", within, at_least)
    return [
        item for item in run([*parts, Pattern("p", shape)], events, as_of=as_of)[0] if item.pattern == "p"
    ]


def test_spread_goes_from_one_subject_to_those_it_met():
    events = story(c=["a", "z", "b"], subject=["ann", "ann", "bo"], target=[None, "bo", None])
    item = spreading(events)[0]
    assert (item.history, item.count, item.state, item.confidence) == (("ann",), 1, "opened", 0.8)
    assert (item.opened_at, item.detected_at) == (events[0].at, events[2].at)
    assert item.evidence == (("a", "1"), ("b", "3"))
    assert item.id == detection_id("p", "input", ("ann",), detection_id("a", "input", ("ann",), "1"))
    # It ends an hour after a's detection.
    later = spreading(events, as_of=START + timedelta(hours=1, seconds=1))[0]
    assert (later.state, later.closed_at) == ("closed", START + timedelta(hours=1))
    assert spreading(events, as_of=START + timedelta(hours=1))[0].state == "opened"
    # b's own event to ann is a meeting too, at b's time; so is a reply.
    assert len(spreading(story(c=["a", "b"], subject=["ann", "bo"], target=[None, "ann"]))) == 1
    assert len(spreading(story(c=["a", "b"], subject=["ann", "bo"], reply_to=[None, "1"]))) == 1
    assert spreading(story(c=["a", "b"], subject=["ann", "bo"])) == []
    # A meeting before a's time does not count, one at it does.
    early = story(c=["z", "a", "b"], subject=["ann", "ann", "bo"], target=["bo", None, None])
    assert spreading(early) == []
    assert len(spreading(story(c=["a", "b"], subject=["ann", "bo"], target=["bo", None]))) == 1
    # b later than a, at most within after it, in another subject.
    assert spreading(story(c=["a", "b"], subject=["ann", "bo"], target=["bo", None], every=0)) == []
    assert len(spreading(story(c=["a", "b"], subject=["ann", "bo"], target=["bo", None]), within=MINUTE)) == 1
    assert spreading(story(c=["a", "b"], subject=["ann", "bo"], target=["bo", None]), within=MINUTE - 1) == []


def test_spread_waits_for_so_many_and_grows_with_each_further_one():
    events = story(
        c=["a", "z", "b", "b", "b", "b"], subject=["ann", "ann", "bo", "bo", "cy", "dan"],
        target=["bo", "cy", None, None, None, "ann"],
    )  # fmt: skip
    item = spreading(events, at_least=2)[0]
    assert (item.count, item.detected_at) == (3, events[4].at)
    # The first b of each.
    assert item.evidence == (("a", "1"), ("b", "3"), ("b", "5"), ("b", "6"))
    assert spreading(events, at_least=4) == []


# --- histories, order, sources --------------------------------------------------------------


def test_a_history_holds_what_carries_a_signal_of_the_shape():
    events = story(x=[1, None, 1], y=[0, 1, 0], target=["bo", "bo", None])
    assert fires(Threshold(over(0)), events)[0].count == 2
    # Names in severities, details and confidence do not count; attributes neither.
    assert fires(Threshold(over(0)), events, confidence=Y, details=(("y", Y),))[0].count == 2
    assert fires(Threshold(Compare("==", Attribute("kind"), Text("event"))), events)[0].count == 3
    assert [fire.count for fire in fires(Threshold(over(0)), events, group_by=("target",))] == [1]
    assert fires(Threshold(over(0)), events, group_by=("target",))[0].history == ("sam", "bo")
    # An indicator: every evaluated event.
    shown = story(compassion=[0.1, None, 0.2], x=[0, 0, 0])
    assert fires(Threshold(Compare("==", Indicator("MAN_A"), Number(0.0))), shown)[0].count == 2


def test_the_last_key_may_be_a_category_reading_or_an_attribute():
    events = story(x=[1, 1, 1], topic=["a", "b", None])
    founds = fires(Threshold(over(0)), events, group_by=("subject", "topic"))
    assert {item.history for item in founds} == {("sam", "a"), ("sam", "b")}


def test_events_come_in_any_order_and_ties_go_by_seq_then_id():
    events = story(c=list("abz"), at=[0, 0, 5])
    assert len(fires(word_sequence("ab"), events[::-1])) == 1
    assert fires(word_sequence("ba"), events) == []
    assert fires(word_sequence("ab"), events, as_of=START - timedelta(seconds=1)) == []
    assert len(fires(word_sequence("ab"), events, as_of=START)) == 1
    assert len(fires(word_sequence("ab"), [*events, *events])) == 1
    other = Event(**{**_fields(events[0]), "readings": {"c": "q"}})
    with pytest.raises(ValueError, match="id '1'"):
        fires(word_sequence("ab"), [*events, other])


def test_a_name_belongs_to_its_source():
    events = story(c=list("ab"), source=["one", "two"])
    assert fires(word_sequence("ab"), events) == []


def test_output_is_in_order_of_detection_then_subject():
    events = story(x=[1, 1, 1], subject=["bo", "ann", "cy"], at=[0, 0, 0])
    assert [fire.history for fire in fires(Threshold(over(0)), events)] == [("ann",), ("bo",), ("cy",)]


def untimed(shape: Any, **others: Any) -> tuple[int, int]:
    found, insufficient = run([Pattern("p", shape, **others)], story(c=list("ab"), x=[1, 1], timed=False))
    return len(found), len(insufficient)


def test_a_duration_alone_is_insufficient_data_without_times():
    assert untimed(word_sequence("ab")) == (1, 0)
    assert untimed(word_sequence("ab", within=(Duration(1),))) == (0, 1)
    assert untimed(word_sequence("ab", within=(Duration(1), Events(2)))) == (1, 0)
    limits: Limits = (Duration(1),)
    assert untimed(Sequence((Step("a", letter("a"), within=limits), Step("b", letter("b"))))) == (0, 1)
    for item in (
        measure("count", window=last(Duration(1))),
        measure("count", window=Window(skip=Duration(1))),
        measure("fading", half=1),
        measure("surprise_count", over(0), condition=True, span=1, last=1),
    ):
        assert untimed(Threshold(Or((over(0), Compare(">", item, Number(0.0)))))) == (0, 1)
        # Outside the shape such a measure is only absent.
        assert untimed(Threshold(over(0)), details=(("d", item),)) == (1, 0)
    assert untimed(Silence(Number(1.0))) == (0, 1)
    # No duration stands in rate, gap or age; they are absent.
    assert untimed(Threshold(Known(Elapsed("age")))) == (0, 0)
    assert untimed(Threshold(Known(measure("rate")))) == (0, 0)
    # Combinations within a duration.
    parts = [at_letters("a", "a"), at_letters("b", "b")]
    together = Pattern("p", Combination("all_of", ("a", "b"), HOUR))
    found, insufficient = run([*parts, together], story(c=list("ab"), timed=False))
    assert ([item.pattern for item in found], insufficient) == (["a", "b"], {("p", ("sam",))})


# --- the random cases -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", strategies.KINDS)
def test_random_cases_are_a_function_of_their_seed_and_much_of_them_fires(kind: str):
    fired = 0
    cases = seeds(8, 24)
    for seed in cases:
        case = strategies.random_case(seed, kind)
        assert case == strategies.random_case.__wrapped__(seed, kind)
        found, insufficient = run(case.patterns, case.events, as_of=case.as_of, cap=case.cap)
        # Whatever the order of patterns and events.
        assert (found, insufficient) == case.expected
        fired += bool(found)
        moved = strategies.near_miss(case, random.Random(seed))
        run(moved.patterns, moved.events, as_of=moved.as_of, cap=moved.cap)
    assert fired >= len(cases) / 3
