"""Seed single faults into the source, one at a time, and list those that no test notices.

    python tools/mutate.py --seed 1 --faults 40

Faults are drawn evenly from six areas and seven kinds, and written into a copy of the repository, never into
the working tree. A second copy, without faults, shows which functions each test file executes. A fault is
run against the test files that execute its function, until one fails that passes without it. Copies and
results, one JSON object a line, are kept in `--work`: a run that was stopped goes on. Remove it after a
change of the source.
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
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/ethogram"
AREAS = ("engine", "chat", "agents", "store", "service", "usage")
LEFT_OUT = ("store/graph/", "store/neo4j.py", "store/postgres.py")
"""Source that only runs where there are database servers."""
NOT_RUN = ("benchmarks", "fuzz", "java", "spark", "streams")
"""Folders of tests that measure, need servers or search at random."""
SEEDED = "test_seeded_faults"
"""Files of tests that look for lines of the source, so that they fail at any change of these."""
TURNED: dict[str, ast.cmpop] = {
    "Eq": ast.NotEq(), "NotEq": ast.Eq(), "Is": ast.IsNot(), "IsNot": ast.Is(), "In": ast.NotIn(),
    "NotIn": ast.In(), "Lt": ast.GtE(), "GtE": ast.Lt(), "Gt": ast.LtE(), "LtE": ast.Gt(),
}  # fmt: skip
WORDING = {"__repr__", "__str__", "log", "_log", "logger", "warnings"}
"""Functions and objects whose calls are wording."""
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
"""Arguments that change no result."""
TIMEOUT_S = 900
"""Test files that run for longer have met an endless loop."""
BATCH = 6
"""Test files that run in one process."""
LIKELIEST = 3
"""Test files, the first in order, that are run whether or not they are known to execute a function."""
DOCTESTS = "tests/test_doctests.py::test_the_examples_of_a_module_print_what_they_show"
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
Functions = ast.FunctionDef | ast.AsyncFunctionDef


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
    """`path:line` of the outermost function that it is in; empty outside of functions."""


# --- drawing --------------------------------------------------------------------------------


def draw(seed: int, number: int, package: Path) -> list[Fault]:
    """Faults drawn by a seed: areas in turn, kinds alike."""
    chance, drawn = random.Random(seed), []
    faults = {area: list(_faults_of(area, package)) for area in AREAS}
    for index in range(number):
        left = [fault for fault in faults[AREAS[index % len(AREAS)]] if fault not in drawn]
        kind = chance.choice(sorted({fault.kind for fault in left}))
        drawn.append(chance.choice([fault for fault in left if fault.kind == kind]))
    return drawn


def _faults_of(area: str, package: Path) -> Iterator[Fault]:
    for path in sorted((package / area).rglob("*.py")):
        name, source = path.relative_to(package).as_posix(), path.read_bytes()
        if name.startswith(LEFT_OUT):
            continue
        starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        for node, line in _nodes(ast.parse(source)):
            for kind, text in _changes(node):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                function = f"{name}:{line}" if line else ""
                before = source[start:end].decode()
                yield Fault(name, node.lineno, kind, start, end, before, text, function)


def _nodes(node: ast.AST, function: int = 0) -> Iterator[tuple[Any, int]]:
    """Nodes that may be changed, each with the line of its outermost function."""
    yield node, function
    children = list(ast.iter_child_nodes(node))
    match node:
        # Python 3.11 does not know the places in f-strings.
        case ast.JoinedStr() | ast.Assert() | ast.Raise():
            return
        case ast.If(test=test) if ast.unparse(test) == "TYPE_CHECKING":
            return
        case ast.Expr(value=ast.Call(func=called)) if ast.unparse(called).split(".")[0] in WORDING:
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [value for value in (*node.args.defaults, *node.args.kw_defaults) if value is not None]
            children = [] if node.name in WORDING else [*defaults, *node.body]
            function = function or node.lineno
        case ast.AnnAssign(value=value):
            children = [] if value is None else [value]
    for child in children:
        yield from _nodes(child, function)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The kinds and texts of what a node can be replaced by."""
    match node:
        case ast.Compare(left, [operator], right):
            turned = TURNED[type(operator).__name__]
            yield "comparison turned", f"({ast.unparse(ast.Compare(left, [turned], right))})"
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and/or swapped", f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield "not dropped", f"({ast.unparse(operand)})"
        case ast.Constant(int(value)) if not isinstance(value, bool):
            yield "constant +1", repr(value + 1)
        case ast.Constant(float(value)):
            yield "constant +1", repr(round(value + (0.1 if value < 10 else 1), 9))
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield "return emptied", "return None"
        case ast.Raise(exc) if exc is None or "NotImplementedError" not in ast.unparse(exc):
            yield "statement deleted", "pass"
        # A name that is missing would be noticed at once.
        case ast.AugAssign() | ast.Assign([ast.Attribute() | ast.Subscript(), *_]):
            yield "statement deleted", "pass"
        case ast.AnnAssign(ast.Attribute()):
            yield "statement deleted", "pass"
        case ast.Expr(ast.Call(called)) if ast.unparse(called).split(".")[0] not in WORDING:
            yield "statement deleted", "pass"
        case ast.Expr(ast.Await() | ast.Yield() | ast.YieldFrom()):
            yield "statement deleted", "pass"
        case ast.Call(called, args, keywords) if ast.unparse(called) not in ("isinstance", "cast"):
            for dropped in keywords:
                if dropped.arg and dropped.arg not in NO_RESULT:
                    rest = [other for other in keywords if other is not dropped]
                    yield "argument dropped", ast.unparse(ast.Call(called, args, rest))
            # Without its only argument a call fails at once.
            if len(args) > 1 and not isinstance(args[-1], ast.Starred):
                yield "argument dropped", ast.unparse(ast.Call(called, args[:-1], keywords))


# --- running --------------------------------------------------------------------------------


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
        self.executed: dict[str, dict[str, Any]] = {line["file"]: line for line in _read(self.log)}
        paths = (path.relative_to(self.sound) for path in sorted((self.sound / "tests").rglob("test_*.py")))
        self.files = [
            path.as_posix() for path in paths if path.parts[1] not in NOT_RUN and SEEDED not in path.name
        ]

    def judge(self, fault: Fault, seconds: float, tried: list[str]) -> dict[str, Any]:
        """Whether a test notices a fault, and which, for so many seconds; not those tried before."""
        place, source = self.faulty / PACKAGE / fault.path, (self.package / fault.path).read_bytes()
        result: dict[str, Any] = {"killed": False, "left": 0, "tried": tried}
        files, began = [file for file in self.ordered(fault) if file not in tried], time.monotonic()
        place.write_bytes(source[: fault.start] + fault.text.encode() + source[fault.end :])
        try:
            batch: list[str] = []
            for number, file in enumerate(files):
                if time.monotonic() - began > seconds:
                    result["left"] += 1
                # The likeliest are run as they are: to look what they execute would take as long.
                elif (file not in self.executed and number < LIKELIEST) or _executes(self.known(file), fault):
                    batch.append(file)
                # The likeliest one by one, then several in one process.
                if batch and (len(batch) >= (1 if len(tried) < 2 else BATCH) or file == files[-1]):
                    tried += batch
                    if by := self.failing(batch):
                        return {**result, "killed": True, "by": by}
                    batch = []
            return result
        finally:
            place.write_bytes(source)

    def ordered(self, fault: Fault) -> list[str]:
        """Test files: those known to execute the function, then those that name what is in its module."""
        area, module = fault.path.split("/")[0], (self.package / fault.path).read_text()
        names = set(re.findall(r"^(?:class|def|async def) ([a-zA-Z]\w{3,})", module, re.MULTILINE))
        names |= {"ethogram." + fault.path[:-3].replace("/", ".")}

        def rank(file: str) -> tuple[Any, ...]:
            known = self.executed.get(file, {"functions": (), "seconds": 0})
            named = min(3, len(names & _words(self.sound / file)))
            is_apart = not named and file.split("/")[1] != area
            return not _executes(known, fault), is_apart, -named, known["seconds"], file

        itself = "ethogram." + fault.path[:-3].replace("/", ".").removesuffix(".__init__")
        return [f"{DOCTESTS}[{itself}]"] * (">>> " in module) + sorted(self.files, key=rank)

    def known(self, file: str) -> dict[str, Any]:
        """What a test file executes, which of its tests fail without a fault, and how long it takes."""
        if file not in self.executed:
            with tempfile.NamedTemporaryFile("r") as executed:
                began = time.monotonic()
                _, output = self.run(self.sound, [file, "--maxfail=20"], executed.name)
                functions = sorted(set(executed.read().split()))
            line = {"file": file, "functions": functions, "failed": _failed(output)}
            self.executed[file] = {**line, "seconds": round(time.monotonic() - began, 1)}
            _append(self.log, self.executed[file])
        return self.executed[file]

    def failing(self, files: list[str]) -> str:
        """The first test of some files that fails with the fault, twice, and not without; '' if none."""
        known = [self.executed[file] for file in files if file in self.executed]
        unsteady = [test for line in known for test in line["failed"]]
        while True:
            status, output = self.run(
                self.faulty, [*files, "-x", *(f"--deselect={test}" for test in unsteady)]
            )
            if status in (0, NO_TESTS):
                return ""
            if not (failed := _failed(output)):
                return f"{files}: {output.strip()[-200:]}"
            without_fault, with_fault = (self.run(copy, failed[:1])[0] for copy in (self.sound, self.faulty))
            if without_fault in (0, NO_TESTS) and with_fault not in (0, NO_TESTS):
                return failed[0]
            unsteady += failed[:1]

    def run(self, copy: Path, arguments: list[str], executed: str = "") -> tuple[int, str]:
        """Pytest's exit status and output."""
        paths = os.pathsep.join((str(copy / "src"), str(copy / ".mutate")))
        options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE")
        command = [sys.executable, "-m", "pytest", *options, *arguments]
        environment = {**os.environ, "PYTHONPATH": paths, "MUTATE_EXECUTED": executed}
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command, cwd=copy, env=environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                process.wait(timeout=TIMEOUT_S)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
            output.seek(0)
            return process.returncode, output.read()


def _copy(copy: Path, instrumented: bool) -> None:
    """Copy the working tree; if instrumented, functions of the areas say that they are executed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in (name for name in names if (ROOT / name).is_file()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    (copy / ".mutate").mkdir()
    (copy / ".mutate/sitecustomize.py").write_text(RECORDER)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    for path in (path for area in AREAS for path in (copy / PACKAGE / area).rglob("*.py") if instrumented):
        lines, name = path.read_text().splitlines(keepends=True), path.relative_to(copy / PACKAGE).as_posix()
        bodies = sorted(_bodies(ast.parse("".join(lines))), key=lambda body: -body[1])
        for function, first in bodies:
            indent = " " * (len(lines[first - 1]) - len(lines[first - 1].lstrip()))
            lines.insert(first - 1, f"{indent}_executes({f'{name}:{function}'!r})\n")
        path.write_text("".join(lines))


def _bodies(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """The lines of outermost functions, each with the line of the first statement that runs in it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, Functions):
            yield from _bodies(node)
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if body and ast.unparse(body[0]) != "...":
            decorators = getattr(body[0], "decorator_list", [])
            yield node.lineno, min(item.lineno for item in (body[0], *decorators))


def _executes(known: dict[str, Any], fault: Fault) -> bool:
    """Whether a test file executes the function of a fault, or, outside of functions, its module."""
    if fault.function:
        return fault.function in known["functions"]
    return any(name.startswith(f"{fault.path}:") for name in known["functions"])


@cache
def _words(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"[\w.]+", path.read_text()))


def _failed(output: str) -> list[str]:
    """The tests that failed, by pytest's summary."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+::.+?|\S+)(?: - .*)?$", output, re.MULTILINE)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as file:
        print(json.dumps(line), file=file)


def _described(result: dict[str, Any]) -> str:
    change = f"{result['before']!r:.150} -> {result['text']!r:.150}"
    by = result.get("by", f"{len(result['tried'])} test files, {result['left']} left")
    return (
        f"{'noticed ' if result['killed'] else 'SURVIVED'} {result['path']}:{result['line']} {change} ({by})"
    )


def main() -> None:
    """Draw, run, and list the survivors."""
    parser = argparse.ArgumentParser(description="Seed single faults and list those that no test notices.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=30, help="for one fault")
    parser.add_argument("--work", type=Path, default=ROOT / "build/mutate", help="copies and results")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options.work.mkdir(parents=True, exist_ok=True)
    runs, log = Runs(options.work.resolve()), options.work / f"seed-{options.seed}.jsonl"
    earlier = {(line["path"], line["start"], line["text"]): line for line in _read(log)}
    results = []
    for number, fault in enumerate(draw(options.seed, options.faults, runs.package), 1):
        result = earlier.get((fault.path, fault.start, fault.text), {"killed": False, "left": 1, "tried": []})
        if not result["killed"] and result["left"]:
            result = fault._asdict() | runs.judge(fault, options.minutes * 60, result["tried"])
            _append(log, result)
        results.append(result)
        print(f"{number:3} of {options.faults} {_described(result)}", flush=True)
    survivors = [result for result in results if not result["killed"]]
    print(f"{len(results) - len(survivors)} of {len(results)} noticed; survivors:")
    for result in survivors:
        print(f"  {_described(result)}\n    {' '.join(result['tried'])}")


if __name__ == "__main__":
    main()
