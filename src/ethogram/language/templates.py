"""Explanations: a sentence with slots: `{warm.count}`, `{warm.count:time|times}`, `{use:.2f}`."""

from __future__ import annotations

import re
from typing import Any

from .ast import Slot
from .expressions import Scope
from .fields import FieldReader
from .yaml_source import Node, Scalar

NUMBER_FORM = re.compile(r"(,?(\.[0-9])?[f%eg]|,?d)?")
WORDS_FORM = re.compile(r"[^|]+\|[^|]+")
ABSENT = "not measured"
MARK = re.compile(r" #[0-9a-f]{8}(/[0-9a-f]{8})?$")
"""The hash at the end of a step_key, talk_key or exchange_key, which says nothing to a person."""


def parse_explanation(read: FieldReader, node: Node | None, scope: Scope) -> tuple[str | Slot, ...]:
    """The pieces of the sentence in order."""
    text = read.text(node, "explanation")
    if not isinstance(node, Scalar) or not text:
        return ()
    pieces: list[str | Slot] = []
    at = 0
    while at < len(text):
        char = text[at]
        if text.startswith(("{{", "}}"), at):
            pieces.append(char)
            at += 2
        elif char == "{":
            end = text.find("}", at)
            if end < 0:
                _fault(read, node, at, "a { has no }; write {{ for the sign itself")
                break
            pieces.append(_slot(read, node, text[at + 1 : end], at + 1, scope))
            at = end + 1
        elif char == "}":
            _fault(read, node, at, "a } has no {; write }} for the sign itself")
            at += 1
        else:
            end = min((i for i in (text.find("{", at), text.find("}", at)) if i >= 0), default=len(text))
            pieces.append(text[at:end])
            at = end
    return tuple(pieces)


def _slot(read: FieldReader, node: Scalar, inner: str, offset: int, scope: Scope) -> Slot:
    body, _, form = inner.partition(":")
    line, column = node.place(offset)
    number, words = _split(form)
    if not NUMBER_FORM.fullmatch(number) or not (words is None or words.strip() == words):
        known = ".2f, .0%, d, time|times, .0f day|days or nothing"
        _fault(read, node, offset, f"format {form[:20]!r} is not known; write {known}")
        form = ""
    expr, kind = read.expression(Scalar(body, line, column, None, body), scope, "any", "{...}")
    if kind in ("truth", "list"):
        _fault(read, node, offset, "a number or category is due in {...}")
    return Slot(expr, form)


def _fault(read: FieldReader, node: Scalar, offset: int, message: str) -> None:
    line, column = node.place(offset)
    read.fault(Scalar("", line, column), message)


def write(value: float | str | None, form: str) -> str:
    """A value as the sentence shows it: whole numbers without a point, absent ones in words.

    A form `one|many` puts the word that agrees with the number behind it.

    >>> write(3.0, ""), write(0.125, ".0%"), write(None, ".2f"), write(0.5, "")
    ('3', '12%', 'not measured', '0.5')
    >>> write(1.0, "time|times"), write(2.0, "time|times"), write(1.2, ".0f day|days")
    ('1 time', '2 times', '1 day')
    >>> write("bash pytest -x #0a1b2c3d", "")
    'bash pytest -x'
    """
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return MARK.sub("", value)
    number, words = _split(form)
    text = _number(value, number)
    if words is None:
        return text
    item, _, many = words.partition("|")
    return f"{text} {item if text == '1' else many}"


def _split(form: str) -> tuple[str, str | None]:
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
