"""Every public name and every import path in the documentation, with signatures, read from the source."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import ethogram

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/*.md", "examples/*.py", "examples/*.ipynb", "plugins/**/*.md", "CONTRIBUTING.md")
FROM = re.compile(r"from (ethogram[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))")
DOTTED = re.compile(r"\bethogram(?:\.[A-Za-z_]\w*)+\b")
SPECIAL = {"__init__", "__call__", "__enter__", "__iter__"}
NEEDS_EXTRAS = ("ethogram.integrations.", "ethogram.spark")
"""Modules that import large packages at their top: they are only read."""


def documented() -> set[str]:
    """The import paths that the documentation shows."""
    paths: set[str] = set()
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            text = page.read_text(encoding="utf-8").replace("\\n", "\n")
            for module, several, line in FROM.findall(text):
                names = re.findall(r"[A-Za-z_]\w*", several or line.partition(" as ")[0])
                paths |= {f"{module}.{name}" for name in names}
            paths |= set(DOTTED.findall(text))
    return {path for path in paths if exists(path)}


def exists(path: str) -> bool:
    """Whether a dotted path leads to a module or to a name in one."""
    try:
        return find(path) is not None
    except (ImportError, AttributeError, KeyError):
        return False


def public() -> set[str]:
    """The names of the package itself, those of other designs included, and of its testing kit."""
    from ethogram import testing

    own = {*ethogram.__all__, *ethogram._OTHER_NAMES} - {"__version__"}
    return {f"ethogram.{name}" for name in own} | {f"ethogram.testing.{name}" for name in testing.__all__}


def golden(before: str) -> str:
    """All of them and those of the golden before: a name that is gone is missing, not left out."""
    recorded = set(re.findall(r"^(ethogram[\w.]*):", before, re.MULTILINE))
    return "".join(f"{path}: {described(path)}\n" for path in sorted(recorded | public() | documented()))


def described(path: str) -> str:
    """What a path leads to: its signature, or the members of a class or module."""
    try:
        kind, members = find(path)
    except (ImportError, AttributeError, KeyError):
        return "missing"
    return "\n    ".join([kind, *members])


def find(path: str) -> tuple[str, list[str]]:
    """The kind of what a path leads to, and lines about its members."""
    if path.startswith(NEEDS_EXTRAS):
        module, _, name = path.rpartition(".")
        if importlib.util.find_spec(path.rpartition(".")[0]) is not None and name in definitions(module):
            return describe_source(definitions(module)[name], module)
        if importlib.util.find_spec(path) is None:
            raise ImportError(path)
        return "module", sorted(name for name in definitions(path) if not name.startswith("_"))
    value = resolve(path)
    if isinstance(value, ModuleType):
        names = getattr(value, "__all__", None) or [
            name for name in definitions(value.__name__) if not name.startswith("_")
        ]
        return "module", sorted(names)
    if inspect.isclass(value):
        lines: dict[str, str] = {}
        for base in reversed(value.__mro__):
            if base.__module__.startswith("ethogram"):
                lines |= class_members(definitions(base.__module__)[base.__name__])
        return "class", list(lines.values())
    if inspect.isfunction(value):
        return describe_source(definitions(value.__module__)[value.__name__], value.__module__)
    return type(value).__name__, []


def resolve(path: str) -> Any:
    """The value a dotted path leads to."""
    parts = path.split(".")
    value: Any = importlib.import_module(parts[0])
    for end, name in enumerate(parts[1:], start=2):
        try:
            value = getattr(value, name)
        except AttributeError:
            value = importlib.import_module(".".join(parts[:end]))
    return value


@cache
def definitions(module: str) -> dict[str, ast.stmt]:
    """The classes, functions and assignments of a module by name."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    found: dict[str, ast.stmt] = {}
    for node in statements(ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under a condition."""
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from statements(node.body)
        else:
            yield node


def describe_source(node: ast.stmt, module: str) -> tuple[str, list[str]]:
    """A definition, as its source says."""
    if isinstance(node, ast.ClassDef):
        return "class", list(class_members(node).values())
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return signature(node), []
    return "value", []


def class_members(node: ast.stmt) -> dict[str, str]:
    """The public fields, methods and properties of a class by name, and how it is made."""
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            if not item.name.startswith("_") or item.name in (
                "__init__",
                "__call__",
                "__enter__",
                "__iter__",
            ):
                marks = [ast.unparse(mark) for mark in item.decorator_list if not isinstance(mark, ast.Call)]
                found[item.name] = " ".join([*(f"@{mark}" for mark in marks), signature(item)])
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if not item.target.id.startswith("_"):
                found[item.target.id] = ast.unparse(item)
        elif isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    found[target.id] = ast.unparse(item)
    return found


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function as one line: its name, parameters and result."""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{word} {node.name}({ast.unparse(node.args)}){result}"
