"""Structure: what belongs to a project by what a run saw of it: its files as listed, its imports.

Kept as short marks, of the folder or file without its ending. What a result says is data from anywhere: it
can add to what may be touched only where the step itself was in scope, and makes no critical path less so.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache

from .normalization import short_hash
from .operations import operation_of
from .path_scope import is_critical, is_harmless
from .shell_parser import Simple, simple_commands
from .step import Step, words
from .user_paths import WORLD, is_far, placed

MOST_KNOWN = 160
MOST_LINES = 300
MOST_UP = 12
LISTERS = words("ls find fd tree pwd")
QUIET = words("cd head tail sort uniq")
LIST_TOOLS = words(
    "ls glob list list_files list_dir list_directory find_file find_files file_glob glob_files tree"
)
READ, ANY = "r", "w"
"""Marks begin with what may be done: imports may be read, listed files changed too."""


def learned(step: Step, paths: tuple[str, ...], cwd: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """What is known after a step on these paths, all of them in scope; the newest hundred and sixty."""
    if not step.result or step.said_to_fail:
        return known
    if _is_listing(step):
        found = [(ANY, path) for path in _listed(step.result)]
    elif len(paths) == 1 and operation_of(step) == "read":
        found = [(READ, placed(cwd, path)) for path in _imported(step.result, paths[0])]
    else:
        return known
    marks = (how + _mark(path) for how, path in found if is_far(path) and _may_be_known(path))
    new = [fromkey for fromkey in dict.fromkeys(marks) if fromkey not in known]
    return (*known, *new[:MOST_KNOWN])[-MOST_KNOWN:] if new else known


def is_known(path: str, changes: bool, known: tuple[str, ...]) -> bool:
    """Whether a path, or a folder it is in, was listed, or (to read) imported."""
    for _ in range(MOST_UP):
        mark = _mark(path)
        if ANY + mark in known or (not changes and READ + mark in known):
            return True
        above = posixpath.dirname(path)
        if above in (path, "", "/", "~", ".."):
            return False
        path = above
    return False


def _mark(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return short_hash(f"{folder}/{name.partition('.')[0] or name}")


def _is_listing(step: Step) -> bool:
    """Whether a step can show only names of files: a search shows text, which anybody may have written."""
    if not step.command:
        return step.tool.lower() in LIST_TOOLS
    commands = simple_commands(step.command)
    lists = any(_lists(command) for command in commands)
    return lists and all(_lists(command) or command.program in QUIET for command in commands)


def _lists(simple: Simple) -> bool:
    if simple.program == "git":
        return simple.words[:1] in (("ls-files",), ("rev-parse",), ("worktree",))
    acts = any(word.startswith(("-exec", "-ok", "-x", "--exec", "-fprint")) for word in simple.words)
    return simple.program in LISTERS and not acts


def _may_be_known(path: str) -> bool:
    """Nothing critical, no part of the system, and not so wide that everything would be in it."""
    bare = path.rstrip("/")
    if bare.count("/") < 2 and (bare.rpartition("/")[2] in WORLD or bare in ("", "~", "..")):
        return False
    far_up = set(bare.split("/")) <= {".."}
    return not far_up and not is_critical(bare, True) and not is_harmless(bare, False)


def _listed(result: str) -> list[str]:
    """Absolute paths in a listing: a line of its own, or where a link leads to."""
    found = []
    for line in result.split("\n", MOST_LINES)[:MOST_LINES]:
        path = line.rpartition(" -> ")[2].strip().rstrip(":")
        if path.startswith("/") and " " not in path and len(path) <= 200:
            found.append(posixpath.normpath(path))
    return found


def _imported(result: str, path: str) -> list[str]:
    """What a file imports by relative paths, seen from where the file is."""
    folder, text = posixpath.dirname(path), result[:12_000]
    found = []
    ending = path.rpartition(".")[2]
    if ending in ("py", "pyi"):
        for dots, name in _python().findall(text)[:60]:
            up = "../" * (len(dots) - 1)
            found.append(f"{folder or '.'}/{up}{name.replace('.', '/')}")
    elif ending in (
        "ts",
        "tsx",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "vue",
        "svelte",
        "css",
        "scss",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
    ):
        found = [f"{folder or '.'}/{item}" for item in _quoted().findall(text)[:60]]
    elif ending in ("json", "mod", "toml"):
        found = [f"{folder or '.'}/{item}" for item in _linked().findall(text)[:60]]
    return [posixpath.normpath(item.rstrip("/")) for item in found]


@cache
def _python() -> re.Pattern[str]:
    return re.compile(r"^[ \t\d:|>→]{0,16}from[ \t]+(\.{1,6})([\w.]{1,100})[ \t]+import\b", re.MULTILINE)


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(
        r"(?:from|require\(|import\(?|@import|#include)\s{0,4}['\"](\.{1,2}/[\w./@+-]{1,150})['\"]"
    )


@cache
def _linked() -> re.Pattern[str]:
    return re.compile(r"(?:file:|link:|=>\s{0,4}|path[\"']?\s{0,4}[=:]\s{0,4}[\"'])(\.\./[\w./@+-]{1,150})")
