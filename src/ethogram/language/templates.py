"""How values are written into the slots of an explanation: `{warm.count:time|times}`, `{use:.2f}`."""

from __future__ import annotations

import re
from typing import Any

NUMBER_FORM = re.compile(r"(,?(\.[0-9])?[f%eg]|,?d)?")
WORDS_FORM = re.compile(r"[^|]+\|[^|]+")
ABSENT = "not measured"
MARK = re.compile(r" #[0-9a-f]{8}$")
"""The hash at the end of a step_key or talk_key, which says nothing to a person."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


MOST_LISTED = 5
"""Values of a list that are written."""


def write(value: float | str | list[Any] | None, form: str) -> str:
    """A value as the sentence shows it: whole numbers without a point, absent ones in words.

    A form `one|many` puts the word that agrees with the number behind it; a count of 0 is written as "no".

    >>> write(3.0, ""), write(0.125, ".0%"), write(None, ".2f"), write(0.5, "")
    ('3', '12%', 'not measured', '0.5')
    >>> write(1.0, "time|times"), write(2.0, "time|times"), write(1.2, ".0f day|days")
    ('1 time', '2 times', '1 day')
    >>> write(0.0, "change|changes"), write(0.0, ".0f day|days")
    ('no changes', '0 days')
    >>> write("bash pytest -x #0a1b2c3d", ""), write("2026-03-07T05:00:00Z", "")
    ('bash pytest -x', '2026-03-07 05:00 UTC')
    >>> write(["a", "b"], ""), write(list("abcdefg"), "")
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    if isinstance(value, list):
        more = f" and {len(value) - MOST_LISTED} more" if len(value) > MOST_LISTED else ""
        return ", ".join(write(item, "") for item in value[:MOST_LISTED]) + more
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return f"{value[:10]} {value[11:16]} UTC" if TIME.fullmatch(value) else MARK.sub("", value)
    number, words = split_form(form)
    text = _number(value, number)
    if words is None:
        return text
    item, _, many = words.partition("|")
    if value == 0 and not number:
        return f"no {many}"
    return f"{text} {item if text == '1' else many}"


def write_within(value: float | str | list[Any] | None, form: str, most: int) -> str:
    """A value as `write` gives it, in at most so many characters, with no name cut in its middle.

    >>> write_within(["src/parser.py", "src/lexer.py", "src/tokens.py"], "", 30)
    'src/parser.py and 2 more'
    >>> write_within("agent_smith_22, agent_smith_23, agent_smith_24", "", 35)
    'agent_smith_22, agent_smith_23 …'
    """
    text = write(value, form)
    if len(text) <= most:
        return text
    if isinstance(value, list):
        names = [write(item, "") for item in value[:MOST_LISTED]]
        for count in range(len(names) - 1, 0, -1):
            shown = f"{', '.join(names[:count])} and {len(value) - count} more"
            if len(shown) <= most:
                return shown
    end = text.rfind(" ", 0, most - 1)
    if end < most // 2:  # one long word
        return f"{text[: most - 1]}…"
    return f"{text[:end].rstrip(' ,;')} …"


def split_form(form: str) -> tuple[str, str | None]:
    """The form of the number, and `one|many` where words follow it: '.0f day|days' -> ('.0f', 'day|days')."""
    first, _, rest = form.partition(" ")
    if NUMBER_FORM.fullmatch(first) and WORDS_FORM.fullmatch(rest):
        return first, rest
    return ("", form) if WORDS_FORM.fullmatch(form) else (form, None)


def _number(value: float, form: str) -> str:
    if form.endswith("d"):
        return format(round(value), form)
    if form:
        return format(value, form)
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"


def rounded(value: Any) -> Any:
    """A detail with its numbers rounded to 6 places."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value
