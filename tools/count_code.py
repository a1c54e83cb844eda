"""Counts the code lines of `src` per folder, SQL and templates included.

    python tools/count_code.py                    the working tree
    python tools/count_code.py --rev a128a680     that revision, the working tree, and the difference
    python tools/count_code.py --rev A --rev B    two revisions, and the difference

A line of Python counts if it is not blank and holds a token that is no comment and no docstring; texts below
the fields of a class are docstrings too. In SQL, Cypher and templates every line counts that is not blank.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = PurePosixPath("src/ethogram")
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip
TEMPLATES = {".cypher", ".html", ".j2", ".sql"}


def is_template(path: PurePosixPath) -> bool:
    """Whether a file is SQL, Cypher or a template; texts are templates only in a folder `templates`."""
    return path.suffix in TEMPLATES or (path.suffix == ".txt" and "templates" in path.parts)


def count_python(text: str) -> int:
    """Count the lines of Python that hold code."""
    left_out = docstring_lines(text)
    lines = text.splitlines()
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    return sum(bool(lines[number - 1].strip()) for number in held - left_out)


def docstring_lines(text: str) -> set[int]:
    """The lines of strings that stand alone: docstrings, and texts below assignments."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for before, statement in pairwise([None, *node.body]):
            is_text = (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            )
            if is_text and isinstance(before, ast.Assign | ast.AnnAssign | None):
                found.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return found


def count_files(files: Iterator[tuple[PurePosixPath, bytes]]) -> Counter[str]:
    """Count code lines by top folder of the package; files beside the folders are `(top)`."""
    counts: Counter[str] = Counter()
    for path, content in files:
        if path.suffix == ".py":
            lines = count_python(content.decode())
        elif is_template(path):
            lines = sum(bool(line.strip()) for line in content.decode().splitlines())
        else:
            continue
        parts = path.relative_to(PACKAGE).parts
        counts[parts[0] if len(parts) > 1 else "(top)"] += lines
    return counts


def working_tree() -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of the package as they are now."""
    for path in sorted((ROOT / PACKAGE).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield PurePosixPath(path.relative_to(ROOT).as_posix()), path.read_bytes()


def revision(name: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of the package in a revision of git."""
    command = ["git", "archive", "--format=tar", name, str(PACKAGE)]
    archive = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (content := tar.extractfile(member)):
                yield PurePosixPath(member.name), content.read()


def table(columns: dict[str, Counter[str]]) -> str:
    """A Markdown table of the folders, with the difference of the last two columns."""
    titles, counts = list(columns), list(columns.values())
    folders = sorted(set().union(*counts))
    rows: list[list[Any]] = [[folder, *(count[folder] for count in counts)] for folder in folders]
    rows.append(["all", *(count.total() for count in counts)])
    if len(titles) > 1:
        titles.append("difference")
        rows = [[*row, f"{row[-1] - row[-2]:+,}"] for row in rows]
    lines = [["folder", *titles], ["---", *("---:" for _ in titles)], *rows]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rev", action="append", default=[], help="count this revision of git (repeatable)")
    names: list[str] = parser.parse_args().rev
    columns = {name: count_files(revision(name)) for name in names}
    if len(columns) < 2:
        columns["now"] = count_files(working_tree())
    sys.stdout.write(table(columns))


if __name__ == "__main__":
    main()
