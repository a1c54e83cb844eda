"""Project files: what belongs to a project, learned from listings and imports that a run has shown.

Stored as short hashes of the path without its ending. Results are untrusted: they can widen the scope only
where the step itself was in scope, and never make a critical path less so.
"""

from __future__ import annotations

import posixpath
import re

from ...models.lazy_regex import Rule
from .normalization import short_hash
from .operations import operation_of
from .path_scope import WORLD, is_critical, is_harmless, leads_outside, resolve
from .shell_parser import SimpleCommand, simple_commands
from .step import Step, words

MAX_FILES = 160
MAX_LINES = 300
MAX_IMPORTS = 60
MAX_DEPTH = 12
LISTERS = words("ls find fd tree pwd")
FILTERS = words("cd head tail sort uniq")
LIST_TOOLS = words(
    "ls glob list list_files list_dir list_directory find_file find_files file_glob glob_files tree"
)
READ, ANY = "r", "w"
"""Prefixes of the hashes: imports may be read, listed files also changed."""

_PYTHON_IMPORT = Rule(r"^[ \t\d:|>→]{0,16}from[ \t]+(\.{1,6})([\w.]{1,100})[ \t]+import\b", re.MULTILINE)
_QUOTED_IMPORT = Rule(
    r"(?:from|require\(|import\(?|@import|#include)\s{0,4}['\"](\.{1,2}/[\w./@+-]{1,150})['\"]"
)
_LINKED_FILE = Rule(r"(?:file:|link:|=>\s{0,4}|path[\"']?\s{0,4}[=:]\s{0,4}[\"'])(\.\./[\w./@+-]{1,150})")
_QUOTED_ENDINGS = words("ts tsx js jsx mjs cjs vue svelte css scss c h cc cpp hpp")


def learn_files(step: Step, paths: tuple[str, ...], cwd: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hashes known after a step on these paths, all of them in scope; the newest 160."""
    if not step.result or step.reports_failure:
        return known
    if _is_listing(step):
        files = [(ANY, path) for path in _listed(step.result)]
    elif len(paths) == 1 and operation_of(step) == "read":
        files = [(READ, resolve(cwd, path)) for path in _imported(step.result, paths[0])]
    else:
        return known
    hashes = (prefix + _hash(path) for prefix, path in files if leads_outside(path) and _may_be_known(path))
    new = [item for item in dict.fromkeys(hashes) if item not in known]
    return (*known, *new[:MAX_FILES])[-MAX_FILES:] if new else known


def is_known(path: str, changes: bool, known: tuple[str, ...]) -> bool:
    """Return whether a path, or a folder it is in, was listed or (for reading) imported."""
    for _ in range(MAX_DEPTH):
        hashed = _hash(path)
        if ANY + hashed in known or (not changes and READ + hashed in known):
            return True
        above = posixpath.dirname(path)
        if above in (path, "", "/", "~", ".."):
            return False
        path = above
    return False


def _hash(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return short_hash(f"{folder}/{name.partition('.')[0] or name}")


def _is_listing(step: Step) -> bool:
    """Whether a step can print only file names: a search prints text, which anybody may have written."""
    if not step.command:
        return step.tool.lower() in LIST_TOOLS
    commands = simple_commands(step.command)
    lists = any(_lists(command) for command in commands)
    return lists and all(_lists(command) or command.program in FILTERS for command in commands)


def _lists(command: SimpleCommand) -> bool:
    if command.program == "git":
        return command.words[:1] in (("ls-files",), ("rev-parse",), ("worktree",))
    acts = any(word.startswith(("-exec", "-ok", "-x", "--exec", "-fprint")) for word in command.words)
    return command.program in LISTERS and not acts


def _may_be_known(path: str) -> bool:
    """Whether a path is not critical, not the system's, and not so wide that it contains everything."""
    bare = path.rstrip("/")
    if bare.count("/") < 2 and (bare.rpartition("/")[2] in WORLD or bare in ("", "~", "..")):
        return False
    is_up = set(bare.split("/")) <= {".."}
    return not is_up and not is_critical(bare, True) and not is_harmless(bare, False)


def _listed(result: str) -> list[str]:
    """Absolute paths in a listing: on a line of their own, or the target of a link."""
    paths = []
    for line in result.split("\n", MAX_LINES)[:MAX_LINES]:
        path = line.rpartition(" -> ")[2].strip().rstrip(":")
        if path.startswith("/") and " " not in path and len(path) <= 200:
            paths.append(posixpath.normpath(path))
    return paths


def _imported(result: str, path: str) -> list[str]:
    """What a file imports by relative paths, relative to the file."""
    text, ending = result[:12_000], path.rpartition(".")[2]
    if ending in ("py", "pyi"):
        names = [
            f"{'../' * (len(dots) - 1)}{name.replace('.', '/')}"
            for dots, name in _PYTHON_IMPORT.findall(text)
        ]
    elif ending in _QUOTED_ENDINGS:
        names = _QUOTED_IMPORT.findall(text)
    elif ending in ("json", "mod", "toml"):
        names = _LINKED_FILE.findall(text)
    else:
        return []
    folder = posixpath.dirname(path) or "."
    return [posixpath.normpath(f"{folder}/{name}".rstrip("/")) for name in names[:MAX_IMPORTS]]
