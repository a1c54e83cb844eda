"""Seed single faults into the source, one at a time, and list those that no test notices.

    python tools/mutate.py --seed 1 --faults 40

Faults are drawn evenly from six areas and seven kinds, and written into a copy of the repository, never into
the working tree. A second copy, without faults, shows which functions each test file executes. A fault is run
against the test files that execute its function, first those that name what is in its
module, until one fails.
Results are kept, one JSON object a line, in `--work`, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/ethogram"
AREAS = ("engine", "chat", "agents", "store", "service", "usage")
# These need database servers, which are not everywhere.
LEFT_OUT = ("store/graph/", "store/neo4j.py", "store/postgres.py")
# Folders of tests that measure, wait for servers or search at random.
NOT_RUN = ("benchmarks", "documents", "fuzz", "java", "spark", "streams")
TURNED = {"==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
TURNED |= {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
OPERATORS = "|".join(sorted(TURNED, key=len, reverse=True))
# What these functions say and these arguments set is wording, or changes no result.
WORDING = {"__repr__", "__str__", "log", "_log", "logger", "warnings"}
NO_RESULT = {
    "daemon",
    "description",
    "encoding",
    "frozen",
    "maxsize",
    "stacklevel",
    "strict",
    "slots",
    "title",
}
# A test that computes for longer than this (seconds of CPU) has met an endless loop.
TEST_CPU_S = 180
NO_TESTS = 5
"""Exit status of pytest."""
RECORDER = """
import builtins, os
_seen, _path = set(), os.environ.get("MUTATE_EXECUTED")
def _executes(name):
    if name not in _seen:
        _seen.add(name)
        if _path:
            with open(_path, "a") as file:
                file.write(name + "\\n")
builtins._executes = _executes
"""
PLUGIN = f"""
import pytest, signal
def stop(*_):
    raise RuntimeError("a test computed for {TEST_CPU_S} seconds")
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, {TEST_CPU_S})
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
"""


class Fault(NamedTuple):
    """One change of a file: bytes `start` to `end` become `text`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    text: str
    function: str
    """Where it is, as `path:line` of the function; empty outside of functions."""

    def applied(self, source: bytes) -> bytes:
        """The source of its file with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]


class _Faults(ast.NodeVisitor):
    """Collects the faults that can be seeded into one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source, self.function = path, source, ""
        self.faults: list[Fault] = []
        self.starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self.visit(ast.parse(source))

    def span(self, node: Any) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, start: int, end: int) -> str:
        return self.source[start:end].decode()

    def add(self, kind: str, node: Any, text: str) -> None:
        start, end = self.span(node)
        before = self.text(start, end)
        self.faults.append(Fault(self.path, node.lineno, kind, start, end, before, text, self.function))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in WORDING:
            return
        outer = self.function
        self.function = outer or f"{self.path}:{node.lineno}"
        # Not the annotations.
        for child in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if child is not None:
                self.visit(child)
        self.function = outer

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.deleted(node, node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.deleted(node, node.targets[0])
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add("statement deleted", node, "pass")
        self.visit(node.value)

    def deleted(self, node: ast.stmt, target: ast.expr) -> None:
        if isinstance(target, ast.Attribute | ast.Subscript):  # a name that is missing would be noticed
            self.add("statement deleted", node, "pass")

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add("statement deleted", node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        return

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        return  # Python 3.11 does not know the places in it

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if called is None or ast.unparse(called).split(".")[0] not in WORDING:
            self.add("statement deleted", node, "pass")
            self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and ast.unparse(node.value) != "None":
            self.add("return emptied", node, "return None")
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            (start, left), (right, end) = self.span(node.left), self.span(node.comparators[0])
            start, end = self.span(node)
            between = re.sub(OPERATORS, lambda match: TURNED[match[0]], self.text(left, right), count=1)
            text = self.text(start, left) + between + self.text(right, end)
            self.add("comparison turned", node, text)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        spans = [self.span(value) for value in node.values]
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        text = self.text(*spans[0])
        for (_, left), (right, end) in pairwise(spans):
            text += self.text(left, right).replace(old, new, 1) + self.text(right, end)
        self.add("and/or swapped", node, text)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.add("not dropped", node, f"({self.text(*self.span(node.operand))})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self.add("constant +1", node, str(node.value + 1))
        elif type(node.value) is float:
            self.add("constant +1", node, repr(round(node.value + (0.1 if node.value < 10 else 1), 9)))

    def visit_Call(self, node: ast.Call) -> None:
        arguments = [*node.args, *node.keywords]
        start, (_, called) = self.span(node)[0], self.span(node.func)
        droppable = [argument for argument in node.keywords if argument.arg and argument.arg not in NO_RESULT]
        # A last argument alone is what the call is about: without it, it fails at once.
        for dropped in [*droppable, *node.args[1:][-1:]]:
            rest = (self.text(*self.span(other)) for other in arguments if other is not dropped)
            if not isinstance(dropped, ast.Starred) and ast.unparse(node.func) not in ("isinstance", "cast"):
                self.add("argument dropped", node, f"{self.text(start, called)}({', '.join(rest)})")
        self.generic_visit(node)


def draw(seed: int, number: int, package: Path) -> list[Fault]:
    """Faults drawn by a seed: areas in turn, kinds alike."""
    chance, drawn = random.Random(seed), []
    faults = {area: list(_faults_of(area, package)) for area in AREAS}
    for index in range(number):
        left = [fault for fault in faults[AREAS[index % len(AREAS)]] if fault not in drawn]
        kind = chance.choice(sorted({fault.kind for fault in left}))
        alike = [fault for fault in left if fault.kind == kind]
        drawn.append(next(fault for fault in chance.sample(alike, len(alike)) if _parses(fault, package)))
    return drawn


def _faults_of(area: str, package: Path) -> Iterator[Fault]:
    for path in sorted((package / area).rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(LEFT_OUT):
            yield from _Faults(name, path.read_bytes()).faults


def _parses(fault: Fault, package: Path) -> bool:
    try:
        ast.parse(fault.applied((package / fault.path).read_bytes()))
    except SyntaxError:
        return False
    return True


class Runs:
    """Runs test files in the two copies, and remembers which functions a file executes."""

    def __init__(self, work: Path) -> None:
        self.sound, self.faulty, self.package = work / "sound", work / "faulty", work / "package"
        if not self.package.exists():
            for copy in (self.sound, self.faulty):
                shutil.rmtree(copy, ignore_errors=True)
                _copy(copy, instrumented=copy == self.sound)
            shutil.copytree(self.faulty / PACKAGE, self.package)
        # A run that was stopped may have left its fault.
        shutil.copytree(self.package, self.faulty / PACKAGE, dirs_exist_ok=True)
        self.log = work / "executed.jsonl"
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.executed: dict[str, dict[str, Any]] = {line["file"]: line for line in map(json.loads, lines)}
        self.files = [
            path.relative_to(self.sound).as_posix()
            for path in sorted((self.sound / "tests").rglob("test_*.py"))
            if path.relative_to(self.sound).parts[1] not in NOT_RUN
        ]

    def known(self, file: str) -> dict[str, Any]:
        """What a test file executes, which of its tests fail without a fault, and how long it takes."""
        if file not in self.executed:
            with tempfile.NamedTemporaryFile("r") as executed:
                began = time.monotonic()
                _, output = self.run(self.sound, [file, "--maxfail=20"], executed.name)
                functions = sorted(set(executed.read().split()))
            line = {"file": file, "functions": functions, "failed": _failed(output)}
            self.executed[file] = {**line, "seconds": round(time.monotonic() - began, 1)}
            with self.log.open("a") as log:
                log.write(json.dumps(self.executed[file]) + "\n")
        return self.executed[file]

    def run(self, copy: Path, arguments: list[str], executed: str = "") -> tuple[int, str]:
        """Pytest's exit status and output; an endless wait ends after ten minutes."""
        paths = os.pathsep.join((str(copy / "src"), str(copy / ".mutate")))
        options = ("-q", "-n", "0", "-p", "mutate_plugin", "-p", "no:cacheprovider", "--tb=no", "-rfE")
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": paths, "MUTATE_EXECUTED": executed},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -1, process.communicate()[0]
        return process.returncode, output

    def judge(self, fault: Fault, seconds: float, tried: list[str]) -> dict[str, Any]:
        """Whether a test notices a fault, and which, for at most so many seconds; not those tried before."""
        place = self.faulty / PACKAGE / fault.path
        source, began = (self.package / fault.path).read_bytes(), time.monotonic()
        result: dict[str, Any] = {"killed": False, "left": 0, "tried": tried}
        place.write_bytes(fault.applied(source))
        try:
            for file in (file for file in self.ordered(fault) if file not in tried):
                if time.monotonic() - began > seconds:
                    result["left"] += 1
                elif _executes(self.known(file), fault):
                    tried.append(file)
                    if by := self.failing(file):
                        return {**result, "killed": True, "by": by}
            return result
        finally:
            place.write_bytes(source)

    def failing(self, file: str) -> str:
        """The first test of a file that fails with the fault, also when it runs again; '' if none does."""
        unsteady = list(self.known(file)["failed"])
        while True:
            status, output = self.run(self.faulty, [file, "-x", *(f"--deselect={test}" for test in unsteady)])
            if status in (0, NO_TESTS):
                return ""
            if not (failed := _failed(output)):
                return f"{file}: {output.strip()[-200:]}"
            if self.run(self.faulty, failed[:1])[0] not in (0, NO_TESTS):
                return failed[0]
            unsteady += failed[:1]

    def ordered(self, fault: Fault) -> list[str]:
        """Test files: those known to execute the function, that name what is in its module, of its area."""
        area, module = fault.path.split("/")[0], (self.package / fault.path).read_text()
        names = set(re.findall(r"^(?:class|def|async def) ([a-zA-Z]\w{3,})", module, re.MULTILINE))
        names |= {"ethogram." + fault.path[:-3].replace("/", ".")}

        def rank(file: str) -> tuple[Any, ...]:
            known = self.executed.get(file, {"functions": (), "seconds": 0})
            named = min(3, len(names & _words(self.sound / file)))
            is_apart = not named and file.split("/")[1] != area
            return not _executes(known, fault), is_apart, -named, known["seconds"], file

        itself = [f"{PACKAGE}/{fault.path}"] if ">>> " in module else []
        return itself + sorted(self.files, key=rank)


def _executes(known: dict[str, Any], fault: Fault) -> bool:
    """Whether a test file executes the function of a fault, or, outside of functions, its module."""
    if fault.function:
        return fault.function in known["functions"]
    return any(name.startswith(f"{fault.path}:") for name in known["functions"])


@cache
def _words(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"[\w.]+", path.read_text()))


def _failed(output: str) -> list[str]:
    return [
        match[1]
        for match in re.finditer(r"^(?:FAILED|ERROR) (\S+::.+?|\S+)(?: - .*)?$", output, re.MULTILINE)
    ]


def _copy(copy: Path, instrumented: bool) -> None:
    """Copy the working tree; if instrumented, functions of the areas say that they are executed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / ".mutate").mkdir()
    (copy / ".mutate/sitecustomize.py").write_text(RECORDER)
    (copy / ".mutate/mutate_plugin.py").write_text(PLUGIN)
    if (ROOT / ".venv").exists():
        (copy / ".venv").symlink_to(ROOT / ".venv")
    for path in (path for area in AREAS for path in (copy / PACKAGE / area).rglob("*.py") if instrumented):
        lines = path.read_text().splitlines(keepends=True)
        name = path.relative_to(copy / PACKAGE).as_posix()
        for function, first in sorted(
            _bodies(ast.parse("".join(lines))), reverse=True, key=lambda body: body[1]
        ):
            indent = re.match(r" *", lines[first - 1])[0]  # type: ignore[index]
            lines.insert(first - 1, f"{indent}_executes({f'{name}:{function}'!r})\n")
        path.write_text("".join(lines))


def _bodies(tree: ast.AST, outer: int = 0) -> Iterator[tuple[int, int]]:
    """The lines of outermost functions, each with the line of a statement that runs in it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _bodies(node)
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if body and ast.unparse(body[0]) != "...":
            first = body[0]
            decorators = getattr(first, "decorator_list", [])
            yield node.lineno, min([first.lineno, *(decorator.lineno for decorator in decorators)])


def main() -> None:
    """Draw, run, and list the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=30, help="for one fault")
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / "build/mutate",
        help="copies and results: remove it after a change",
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    runs = Runs(options.work)
    log = options.work / f"seed-{options.seed}.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    results = {(line["path"], line["start"], line["text"]): line for line in lines}
    faults = draw(options.seed, options.faults, runs.package)
    for number, fault in enumerate(faults, 1):
        key = (fault.path, fault.start, fault.text)
        before = results.get(key, {"killed": False, "left": True, "tried": []})
        if not before["killed"] and before["left"]:
            judged = runs.judge(fault, options.minutes * 60, before["tried"])
            results[key] = {**fault._asdict(), **judged}
            with log.open("a") as file:
                file.write(json.dumps(results[key]) + "\n")
        print(f"{number:3} of {len(faults)} {_described(results[key])}", flush=True)
    survivors = [result for result in results.values() if not result["killed"]]
    print(f"{len(results) - len(survivors)} of {len(results)} noticed; survivors:")
    for result in survivors:
        print(f"  {_described(result)}\n    {' '.join(result['tried'])}")


def _described(result: dict[str, Any]) -> str:
    change = f"{result['before']!r:.150} -> {result['text']!r:.150}"
    by = result.get("by", f"{len(result['tried'])} test files, {result['left']} left")
    return (
        f"{'noticed ' if result['killed'] else 'SURVIVED'} {result['path']}:{result['line']} {change} ({by})"
    )


if __name__ == "__main__":
    main()
