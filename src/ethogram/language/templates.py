"""Explanations: a sentence with holes, `{warm.count}` or `{press.manipulation:.2f}`."""

from __future__ import annotations

import re
from typing import Any

from .ast import Slot
from .expressions import Scope
from .fields import FieldReader
from .yaml_source import Node, Scalar

FORM = re.compile(r"(,?(\.[0-9])?[f%eg]|,?d)?")
ABSENT = "not measured"


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
    if not FORM.fullmatch(form):
        _fault(read, node, offset, f"format {form[:20]!r} is not known; write .2f, .0%, d or nothing")
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

    >>> write(3.0, ""), write(0.125, ".0%"), write(None, ".2f"), write(0.5, "")
    ('3', '12%', 'not measured', '0.5')
    """
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
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
