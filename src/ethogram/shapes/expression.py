"""Expressions: a whitelist of Python's grammar turned into a tree. Nothing is ever evaluated as Python.

Every fault of a text is collected with its offset, so a person sees all of them at once.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping

from ..errors import did_you_mean
from . import calls
from .scope import Scope, Typed
from .tree import (
    And,
    Arithmetic,
    Compare,
    Expr,
    Member,
    Negative,
    Not,
    Number,
    Or,
    Signal,
    StepCount,
    StepValue,
    Text,
)
from .tree import Result as ResultNode
from .truth import equal
from .walk import is_larger

MAX_CHARACTERS = 4096
MAX_DEPTH = 60
MAX_NODES = 2000
BROKEN: Typed = (Number(0.0), "any")
"""Stands in for what could not be read, so that reading goes on and finds the other faults."""

_SINGLE_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")
_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_EQUAL = {ast.Eq: "==", ast.NotEq: "!="}
_REFUSED = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Subscript: "an index",
    ast.IfExp: "if ... else",
    ast.Dict: "a mapping",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment",
    ast.Starred: "a star",
    ast.Await: "await",
    ast.Yield: "yield",
}


class Reader:
    """Reads one expression. `faults` are (offset, message); `kinds` what use says of untyped signals."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.faults: list[tuple[int, str]] = []
        self.kinds: dict[str, str] = {}
        self.tables: dict[str, Mapping[str, float]] = {}
        self._depth = 0

    def read(self, want: str = "any") -> Typed:
        """The tree and its kind; look at `faults` before using it. `want`: number, truth or any."""
        tree = self._parse()
        if tree is None:
            return BROKEN
        typed = self.visit(tree.body)
        if want != "any" and not self.faults:
            typed = (self.need(tree.body, typed, want), want)
        if is_larger(typed[0], MAX_NODES):
            self.faults.append((0, f"is larger than {MAX_NODES} parts once its defines are put in place"))
            return BROKEN
        return typed

    def _parse(self) -> ast.Expression | None:
        if len(self.text) > MAX_CHARACTERS:
            self.faults.append((0, f"is longer than {MAX_CHARACTERS} characters; use define"))
            return None
        flat = self.text.replace("\n", " ").replace("\t", " ").replace("\f", " ").replace("\r", " ")
        lead = len(flat) - len(flat.lstrip())
        if not flat.strip():
            self.faults.append((0, "is empty; write a condition such as compassion > 0.5"))
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(flat.strip(), mode="eval")
        except SyntaxError as fault:
            offset = max(0, (fault.offset or 1) - 1) + lead
            reason = (fault.msg or "invalid syntax").split("(")[0].strip()
            if _SINGLE_EQUALS.search(self.text):
                reason += " (write == to compare)"
            if "leading zeros" in reason:
                reason = "a number with a leading zero"
            self.faults.append((min(offset, len(self.text)), f"cannot be read: {reason}"))
        except (ValueError, RecursionError, MemoryError, OverflowError):
            self.faults.append((0, "is nested too deeply or holds a character that is not allowed"))
        return None

    # --- helpers used by calls.py too ---

    def offset(self, node: ast.AST) -> int:
        """Character offset of a node in the text as given."""
        column = getattr(node, "col_offset", 0)
        lead = len(self.text) - len(self.text.lstrip())
        if self.text.isascii():
            return int(column) + lead
        return len(self.text.strip().encode()[:column].decode(errors="ignore")) + lead

    def fault(self, node: ast.AST, message: str) -> Typed:
        self.faults.append((self.offset(node), message))
        return BROKEN

    def need(self, node: ast.AST, typed: Typed, want: str) -> Expr:
        """The expression, after making sure it is a number, text or truth."""
        expr, kind = typed
        if kind == want or typed is BROKEN:
            return expr
        if kind == "any":
            self._learn(node, expr, want)
            return expr
        hints = {
            ("truth", "number"): "a number is due here; share(...) or count(...) make one of a condition",
            ("number", "truth"): "a condition is due here; compare it: ... > 0",
            ("text", "truth"): "a condition is due here; compare it: ... == 'word'",
            ("text", "number"): "a number is due here, and this is a category",
            ("number", "text"): "a category is due here, and this is a number",
            ("list", "number"): "a number is due here; values(...) is a list, for details only",
        }
        return self.fault(node, hints.get((kind, want), f"a {want} is due here, and this is a {kind}"))[0]

    def _learn(self, node: ast.AST, expr: Expr, want: str) -> None:
        if want == "truth":
            self.fault(node, "a condition is due here; compare it: ... > 0")
        elif isinstance(expr, Signal):
            kind = "category" if want == "text" else "number"
            if self.kinds.setdefault(expr.name, kind) != kind:
                self.fault(node, f"{expr.name!r} is used as a number and as a category")

    # --- the grammar ---

    def visit(self, node: ast.AST) -> Typed:
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                if not any("nested deeper" in message for _, message in self.faults):
                    self.fault(node, f"is nested deeper than {MAX_DEPTH} levels")
                return BROKEN
            return self._visit(node)
        finally:
            self._depth -= 1

    def _visit(self, node: ast.AST) -> Typed:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                found = self.scope.resolve(node.id)
                return self.fault(node, found) if isinstance(found, str) else found
            case ast.Attribute():
                return self._attribute(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.BoolOp():
                items = tuple(self.need(value, self.visit(value), "truth") for value in node.values)
                return (And(items) if isinstance(node.op, ast.And) else Or(items)), "truth"
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return calls.read_call(self, node)
            case ast.Tuple() | ast.List():
                return self.fault(node, "a list stands only behind `in`, in prior=, last= or cover(...)")
        name = _REFUSED.get(type(node), f"{type(node).__name__.lower()}")
        return self.fault(node, f"{name} is not part of the language")

    def _constant(self, node: ast.Constant) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return self.fault(node, f"{value} is not a value; readings are numbers: compare with 1 or 0")
        if isinstance(value, str):
            return Text(value), "text"
        if isinstance(value, (int, float)):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isfinite(number):
                return self.fault(node, "the number is too large")
            return Number(number), "number"
        return self.fault(node, f"{value!r} is not a value; write a number or 'word'")

    def _attribute(self, node: ast.Attribute) -> Typed:
        if not isinstance(node.value, ast.Name):
            return self.fault(node, "only step.signal may be written with a dot")
        owner, item = node.value.id, node.attr
        if owner in self.scope.parts:
            if item != "confidence":
                return self.fault(node, f"of a part only its confidence is known: {owner}.confidence")
            return ResultNode(f"{owner}.confidence"), "number"
        if owner not in self.scope.steps:
            near = did_you_mean(owner, (*self.scope.steps, *self.scope.parts))
            known = ", ".join(self.scope.steps or self.scope.parts)
            tail = near or (f"; steps that can be named: {known}" if known else "; no step can be named")
            return self.fault(node, f"{owner!r} is no step that can be named {self.scope.here}{tail}")
        if item == "count":
            if not self.scope.gathers:
                return self.fault(node, f"{owner}.count is for confidence, levels, details, explanation")
            return StepCount(owner), "number"
        found = self.scope.at(self.scope.here, steps=(), details={}).resolve(item)
        if isinstance(found, str):
            return self.fault(node, found)
        return StepValue(owner, found[0]), found[1]

    def _unary(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Not(self.need(node.operand, self.visit(node.operand), "truth")), "truth"
        if not isinstance(node.op, (ast.USub, ast.UAdd)):
            return self.fault(node, "of Python's signs only - and not are part of the language")
        value = self.need(node.operand, self.visit(node.operand), "number")
        if isinstance(node.op, ast.UAdd):
            return value, "number"
        return (Number(-value.value) if isinstance(value, Number) else Negative(value)), "number"

    def _arithmetic(self, node: ast.BinOp) -> Typed:
        op = _ARITHMETIC.get(type(node.op))
        if op is None:
            return self.fault(node, "of arithmetic only + - * / are part of the language")
        left = self.need(node.left, self.visit(node.left), "number")
        right = self.need(node.right, self.visit(node.right), "number")
        return fold(Arithmetic(op, left, right)), "number"

    def _comparison(self, node: ast.Compare) -> Typed:
        operands = [node.left, *node.comparators]
        pairs = [self._pair(op, operands[i], operands[i + 1]) for i, op in enumerate(node.ops)]
        return (pairs[0] if len(pairs) == 1 else And(tuple(pairs))), "truth"

    def _pair(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Expr:
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._member(left, right, isinstance(op, ast.NotIn))
        if type(op) in _ORDER:
            a = self.need(left, self.visit(left), "number")
            return Compare(_ORDER[type(op)], a, self.need(right, self.visit(right), "number"))
        if type(op) not in _EQUAL:
            return self.fault(left, "`is` is not part of the language; write ==")[0]
        a, b = self._alike((left, self.visit(left)), (right, self.visit(right)))
        return Compare(_EQUAL[type(op)], a, b)

    def _member(self, left: ast.expr, right: ast.expr, negated: bool) -> Expr:
        first = self.visit(left)
        if not isinstance(right, (ast.Tuple, ast.List)):
            return self.fault(right, "behind `in` stands a list: kind in ('message', 'action')")[0]
        options = tuple(self._alike((left, first), (item, self.visit(item)))[1] for item in right.elts)
        return Member(first[0], options, negated)

    def _alike(self, one: tuple[ast.expr, Typed], other: tuple[ast.expr, Typed]) -> tuple[Expr, Expr]:
        """Both sides, after making sure that a number is not compared with a category."""
        (left, (a, a_kind)), (right, (b, b_kind)) = one, other
        for node, typed in ((left, one[1]), (right, other[1])):
            if typed[1] in ("truth", "list"):
                self.fault(node, "only numbers and categories can be compared")
                return a, b
        if a_kind == "any" and b_kind != "any":
            self.need(left, one[1], b_kind)
        elif a_kind != b_kind:
            self.need(right, other[1], a_kind)
        return a, b


def fold(expr: Arithmetic) -> Expr:
    """The expression, or its number where both sides are numbers already."""
    if not (isinstance(expr.left, Number) and isinstance(expr.right, Number)):
        return expr
    a, b = expr.left.value, expr.right.value
    if expr.op == "/" and equal(b, 0.0):
        return expr
    results: Mapping[str, float] = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}
    return Number(results[expr.op]) if math.isfinite(results[expr.op]) else expr
