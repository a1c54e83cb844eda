"""Bad pattern files: refused at once, in milliseconds, every fault with its place and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ethogram.errors import BadPattern
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.pattern_file import read_pattern_file
from pattern_files import read_pattern_text
from waiting import calls_of

GOOD = """\
name: warm
title: Warm
description: Warmth.
shape:
  sequence:
    - first: compassion > 0.5
    - then: manipulation > first.manipulation + 0.2
confidence: then.manipulation
severity: high
examples:
  fires:
    - story: it rises
      compassion: [0.9, 0.1]
      manipulation: [0.1, 0.9]
      at: 2
  quiet:
    - story: it does not
      compassion: [0.9, 0.1]
      manipulation: [0.1, 0.1]
    - story: cold
      compassion: [0.1, 0.1]
      manipulation: [0.1, 0.9]
"""


MOST_CALLS = 200_000
"""To read a file of faults; a fiftieth of a second on an idle machine."""


def faults(text: str) -> list[str]:
    """What is said about a pattern file, line by line."""
    vocabulary = load_vocabulary()
    return [
        str(fault) for fault in refused(lambda: read_pattern_text(text, vocabulary, path="p.yaml")).faults
    ]


def refused(read: Callable[[], object]) -> BadPattern:
    """The error with which a pattern is refused, before a person would have noticed that it takes time."""
    errors = []

    def attempt() -> None:
        with pytest.raises(BadPattern) as raised:
            read()
        errors.append(raised.value)

    calls = calls_of(attempt)
    assert calls < MOST_CALLS
    return errors[0]


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_the_pattern_that_the_others_spoil_is_good():
    assert read_pattern_text(GOOD, load_vocabulary()).name == "warm"


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("compassion > 0.5", "compasion > 0.5", "p.yaml:6:14", "did you mean 'compassion'"),
        ("compassion > 0.5", "meen(compassion) > 0.5", "p.yaml:6:14", "did you mean 'mean'"),
        ("compassion > 0.5", "mean(compassion, lst=3) > 0", "p.yaml:6:35", "did you mean 'last'"),
        ("compassion > 0.5", "compassion > MAN_LOVEBOM", "p.yaml:6:27", "did you mean 'MAN_LOVEBOMB'"),
        ("first.manipulation", "frist.manipulation", "p.yaml:7:28", "did you mean 'first'"),
        ("first.manipulation", "first.manipulatoin", "p.yaml:7:28", "did you mean 'manipulation'"),
        ("title: Warm", "titel: Warm", "p.yaml:2:1", "did you mean 'title'"),
        ("  sequence:", "  sequense:", "p.yaml:5:3", "did you mean 'sequence'"),
        ("confidence: then.manipulation\n", "", "p.yaml:1:1", "confidence is missing"),
        ("severity: high", "severity: hihg", "p.yaml:8:11", "did you mean 'high'"),
        ("severity: high", "severity: severe", "p.yaml:8:11", "one of low, medium, high, critical"),
        ("      at: 2", "      at: 3", "p.yaml:15:11", "from 1 to 2"),
        ("      compassion: [0.9, 0.1]\n", "      compasion: [0.9, 0.1]\n", "p.yaml:13:7", "did you mean"),
    ],
)
def test_a_slip_is_found_with_its_place_and_the_nearest_right_word(old, new, place, says):
    texts = faults(changed(old, new))
    expected = place if "severity" not in old else "p.yaml:9:11"
    assert any(fault.startswith(expected) and says in fault for fault in texts), texts


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("confidence:", "history: [subject]\nconfidence:", "p.yaml:8:1: 'history' is now 'group_by'"),
        ("severity: high", "level: high", "p.yaml:9:1: 'level' is now 'severity'"),
        ("severity: high", "levels: {high: compassion > 0}", "p.yaml:9:1: 'levels' is now 'severity'"),
        ("confidence:", "  gaps: false\nconfidence:", "p.yaml:8:3: 'gaps' is now 'max_gap'"),
        ("confidence:", "      soon: 2 events\nconfidence:", "p.yaml:8:7: 'soon' is now 'within'"),
        (
            "  sequence:",
            "  level: {when: age > 0}\n  other:",
            "p.yaml:5:3: 'level' is now 'threshold'",
        ),
        ("      at: 2", "      level: high", "p.yaml:15:7: 'level' is now 'severity'"),
        ("confidence:", "status: test\nconfidence:", "p.yaml:8:9: status 'test' is now 'shadow'"),
    ],
)
def test_a_former_key_is_refused_with_what_it_is_called_now(old, new, says):
    texts = faults(changed(old, new))
    assert any(fault == says for fault in texts), texts


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("__import__('os').system('true')", "only functions of the language"),
        ("__import__('os')", "unknown function"),
        ("open('x') > 1", "unknown function 'open'"),
        ("compassion.real.imag > 1", "only step.signal"),
        ("(compassion).__class__ > 1", "no step"),
        ("[x for x in (1, 2)]", "a comprehension"),
        ("(lambda: 1)() > 0", "only functions"),
        ("lambda: 1", "a lambda"),
        ("10**10**10 > 1", "only + - * /"),
        ("compassion % 2 > 1", "only + - * /"),
        ("compassion[0] > 1", "an index"),
        ("f'{compassion}' == 'x'", "f-string"),
        ("compassion if 1 else 2", "if ... else"),
        ("(x := 3) > 1", "assignment"),
        ("compassion > 1e999", "too large"),
        ("compassion > " + "9" * 400, "too large"),
        ("compassion = 1", "write == to compare"),
        ("compassion", "expected a condition"),
        ("compassion > 'high'", "expected a number"),
        ("kind > 3", "expected a number"),
        ("compassion is 3", "write =="),
        ("compassion > True", "compare with 1 or 0"),
        ("compassion > None", "is not a value"),
        ("compassion >", "cannot be read"),
        ("'a' 'b' in kind", "behind `in` stands a list"),
        ("mean(mean(compassion)) > 0", "no measure inside"),
        ("mean(compassion, where=count(compassion) > 1) > 0", "no measure inside"),
        ("mean(compassion > 0) > 0", "share"),
        ("mean(compassion, last=0) > 0", "from 1 to 512"),
        ("mean(compassion, last='7 parsecs') > 0", "not a duration"),
        ("mean(compassion, last=3, at_least=4) > 0", "can never be met"),
        ("mean(compassion, keep=3, last=4) > 0", "instead of last"),
        ("cover((MAN_LOVEBOMB,), weights=nothing) > 0", "unknown table"),
        ("values(kind) == 'a'", "for details only"),
        ("swings(compassion) > 1", "needs by="),
        ("any(compassion)", "takes indicators"),
        ("mean(*compassion) > 0", "star"),
        ("first.count > 0", "no step"),
        ("not " * 300 + "compassion > 1", "nested"),
        ("(" * 500 + "compassion" + ")" * 500 + " > 1", "nested"),
        ("-" * 4000 + "1 > 1", "nested"),
        ("compassion > 0 and " * 2000 + "1 > 0", "longer than"),
        ("\x00", "not YAML"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_place(condition, says):
    quoted = "'" + condition.replace("'", "''") + "'"
    texts = faults(changed("compassion > 0.5", quoted))
    assert any(fault.startswith("p.yaml:6:") and says in fault for fault in texts), texts


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("confidence:", "    - never: compassion > 0.9\nconfidence:", "between two steps"),
        ("    - first", "    - never: compassion > 0.9\n    - first", "between two steps"),
        (
            "    - first",
            "    - may: compassion > 0.9\n      optional: true\n    - first",
            "between two others",
        ),
        ("    - then:", "    - first:", "two steps are named"),
        ("    - then:", "    - compassion:", "the name of a signal"),
        ("confidence:", "  within: 1 events\nconfidence:", "can never hold 2"),
        ("confidence:", "  max_gap: 0\n  within: 7 days\nconfidence:", "is not a duration"),
        ("confidence:", "  max_gap: maybe\nconfidence:", "a number or the name of a parameter"),
        ("    - then:", "    - never: compassion > 0.9\n    - then:", ""),
        ("confidence:", "group_by: [subject, tarject]\nconfidence:", "did you mean 'target'"),
        ("confidence:", "tell_at: 2\nconfidence:", "from 1 to 1"),
        ("confidence:", "define: {a: b + 1, b: a + 1}\nconfidence:", "in a circle"),
        ("confidence:", "parameters: {x: high}\nconfidence:", "takes a number"),
        ("confidence:", "confirms: [MAN_LOVEBOM]\nconfidence:", "did you mean 'MAN_LOVEBOMB'"),
        ("confidence:", "explanation: '{warm'\nconfidence:", "has no }"),
        ("confidence:", "explanation: '{first.compassion!r}'\nconfidence:", "cannot be read"),
        ("confidence:", "explanation: '{first.compassion:>9999999}'\nconfidence:", "format"),
        ("confidence:", "status: on\nconfidence:", "unknown status"),
        ("confidence:", "id: 7\nconfidence:", "UUID"),
        ("name: warm", "name: warm\nname: warm", "stands twice"),
        ("name: warm", "name: &a warm", "aliases"),
        ("name: warm", "name: !!python/name:os.system warm", "not allowed"),
        ("name: warm", "name: ../../warm", "plain word"),
        ("title: Warm", "title: [1, 2]", "takes a text"),
        ("  quiet:", "  queit:", "did you mean 'quiet'"),
        ("      manipulation: [0.1, 0.9]\n      at", "      manipulation: [0.1]\n      at", "same length"),
    ],
)
def test_a_pattern_that_makes_no_sense_says_why(old, new, says):
    text = changed(old, new)
    if says == "":
        assert read_pattern_text(text, load_vocabulary()).patterns
        return
    assert any(says in fault for fault in faults(text)), faults(text)


def test_all_faults_of_a_file_come_at_once():
    text = changed("compassion > 0.5", "compasion > 0.5").replace("severity: high", "severity: hihg")
    text = text.replace("title: Warm", "titel: Warm").replace("first.manipulation", "frst.manipulation")
    texts = faults(text)
    assert [fault.split(":")[1] for fault in texts if "missing" not in fault] == ["2", "6", "7", "9"]


def test_a_fault_inside_folded_text_points_at_its_own_line():
    text = changed("compassion > 0.5", ">-\n        compassion > 0.5\n        and compasion > 0.1")
    assert faults(text)[0].startswith("p.yaml:8:13: unknown signal 'compasion'")


def test_defines_that_double_again_and_again_are_refused():
    lines = "".join(f"  d{i}: d{i - 1} + d{i - 1}\n" for i in range(1, 60))
    text = GOOD.replace("shape:", "define:\n  d0: compassion\n" + lines + "shape:", 1)
    assert any("larger than" in fault for fault in faults(text))


def test_a_file_that_cannot_be_a_pattern_is_refused_by_name(tmp_path: Path):
    vocabulary = load_vocabulary()
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"name: warm\ntitle: \xff\xfe")
    (tmp_path / "large.yaml").write_text("x: " + "y" * 10_000_000)
    (tmp_path / "deep.yaml").write_text("[" * 100_000)
    (tmp_path / "bomb.yaml").write_text("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n")
    (tmp_path / "list.yaml").write_text("- a\n- b\n")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "other.yaml").write_text(GOOD)
    expected = {
        "folder": "is a folder",
        "bytes": "bytes.yaml:2:8: is not UTF-8",
        "large": "larger than",
        "deep": "nested deeper",
        "bomb": "aliases",
        "list": "a pattern is a mapping",
        "empty": "name is missing",
        "other": "differs from the file's name 'other'",
        "absent": "cannot be read: No such file",
    }
    for name, says in expected.items():
        error = refused(lambda: read_pattern_file(tmp_path / f"{name}.yaml", vocabulary))  # noqa: B023
        assert says in str(error)


def test_a_fault_in_the_shape_does_not_hide_those_after_it():
    text = changed("    - then: manipulation", "    - then: manipulaton")
    text = text.replace(
        "\nconfidence: then.manipulation", "\n      son: 3 events\nconfidence: mean(frst.compassion)"
    )
    text = text.replace("severity: high", "severity: hihg")
    texts = faults(text)
    assert [fault.split(":")[1] for fault in texts] == ["7", "8", "9", "10"], texts


@pytest.mark.parametrize("value", ["high", ".nan", "'0.9'"])
def test_a_word_where_an_example_gives_a_number_is_a_fault(value):
    texts = faults(changed("      compassion: [0.9, 0.1]\n", f"      compassion: [{value}, 0.1]\n"))
    assert any("p.yaml:13:7: expected a number" in fault for fault in texts), texts


@pytest.mark.parametrize("name", ["subject", "kind", "compassion", "gap"])
def test_a_parameter_may_not_take_the_name_of_something_else(name):
    assert any("choose another" in fault for fault in faults(f"parameters: {{{name}: 1}}\n" + GOOD))


def test_a_fault_does_not_repeat_long_values():
    every = faults(GOOD.replace("confidence:", f"status: {'x' * 5000}\nconfidence:"))
    (found,) = [item for item in every if "unknown status 'xxx" in item]
    assert "one of experimental, shadow, stable, retired" in found
    assert len(found) < 300


CONTRAST = """\
name: warmer_at_night
title: Warmer at night
description: Warmer in the one half than in the other.
shape:
  contrast: {of: compassion, where: error > 0, against: error < 1, difference: 0.2, t: 2, at_least: AT_LEAST}
confidence: 0.5
severity: low
examples: {fires: [], quiet: []}
"""


@pytest.mark.parametrize("number", ["0", "2.5", "1000", "many"])
def test_a_number_of_readings_that_cannot_be_is_a_fault(number: str):
    assert any(
        fault.startswith("p.yaml:5:") and "at_least" in fault
        for fault in faults(CONTRAST.replace("AT_LEAST", number))
    )


def test_a_text_has_at_most_four_thousand_characters():
    longest = changed("description: Warmth.", f"description: {'x' * 4000}")
    assert read_pattern_text(longest, load_vocabulary()).words["description"] == "x" * 4000
    (fault,) = faults(longest.replace("description: x", "description: xx"))
    assert fault == "p.yaml:3:14: description is longer than 4000 characters"
