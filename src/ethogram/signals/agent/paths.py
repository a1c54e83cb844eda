"""Paths: which files a step names, for reading or for changing, in the shell or in its arguments."""

from __future__ import annotations

import posixpath
from functools import lru_cache

from ...models.lazy_regex import Rule
from .operations import DELETERS, IN_PLACE, WRITERS, operation_of
from .shell_parser import Simple, looks_like_path, simple_commands
from .step import Step, words

MOST_PATHS = 6
LONGEST = 160

Touched = tuple[tuple[str, int], ...]
"""Paths in the order they are named, what a copy or move writes first, each with 1 where it is to be
changed."""

PATTERN_FIRST = words("grep egrep fgrep rg ag ack sed awk gawk perl jq find_file search_dir search_file")
"""Programs whose first word is no path but what to look for."""
NO_PATHS = words(
    "echo printf export set cd pushd kill sleep alias which type man seq date expr tr git docker kubectl"
)
FILES = words(
    "cat head tail less more nl ls cp mv rm mkdir touch chmod chown wc sort uniq diff cmp stat file "
    "tee ln rmdir od xxd source . open create vim nano code tree du shred truncate view"
)
"""Programs whose words are all paths, options apart."""
WITH_VALUE = frozenset(
    (
        "-n",
        "-c",
        "-e",
        "-m",
        "-A",
        "-B",
        "-C",
        "-d",
        "-k",
        "-f",
        "-o",
        "--include",
        "--exclude",
        "-name",
        "-type",
    )
)


_FOLDER = Rule(r"[\w./~@+-]{1,200}")


def touched(step: Step) -> Touched:
    """The paths a call names; none where nothing says so clearly."""
    operation = operation_of(step)
    if step.path:
        return ((_cut(step.path), int(operation in ("write", "delete"))),)
    if step.command:
        return in_command(step.command)
    return ()


@lru_cache(maxsize=256)
def in_command(line: str) -> Touched:
    """The paths in a command line. A `cd` before them is taken into account.

    >>> in_command("cd app && sed -i 's/a/b/' x.py && cat /etc/hosts | grep -n 'lib/y'")
    (('app/x.py', 1), ('/etc/hosts', 0))
    """
    record: dict[str, int] = {}
    folder = ""
    for command in simple_commands(line):
        if command.program == "cd":
            folder = (
                joined(folder, command.words[0])
                if command.words and looks_like_folder(command.words[0])
                else folder
            )
            continue
        for path, changes in _in_simple(command):
            full = _cut(joined(folder, path))
            record[full] = max(changes, record.get(full, 0))
            if len(record) >= MOST_PATHS:
                return tuple(record.items())
    return tuple(record.items())


def looks_like_folder(word: str) -> bool:
    """Whether a word can be a folder to go to."""
    return _FOLDER.fullmatch(word) is not None and not word.startswith("-")


def joined(folder: str, path: str) -> str:
    """A path as seen from a folder, tidied up.

    >>> joined("/a/b", "../c/./d"), joined("", "x"), joined("/a", "/b"), joined("/a", "~/c")
    ('/a/c/d', 'x', '/b', '~/c')
    """
    whole = path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"
    return posixpath.normpath(whole) if whole else ""


def _in_simple(simple: Simple) -> list[tuple[str, int]]:
    pairs = [(out, 1) for out in simple.outputs if out.startswith("/") or looks_like_path(out)]
    pairs = [pair for pair in pairs if not pair[0].startswith("/dev/")]
    if simple.program in NO_PATHS:
        return pairs
    words = _bare_words(simple.words)
    if simple.program == "find":
        words = words[:1]
    elif simple.program in PATTERN_FIRST and not any(word.startswith("-e") for word in simple.words):
        words = words[1:]
    edits = simple.program in ("sed", "perl") and any(IN_PLACE.match(word) for word in simple.words)
    all_change = (
        edits
        or simple.program in DELETERS
        or (simple.program in WRITERS and simple.program not in ("cp", "tar", "unzip"))
    )
    paths = [
        word
        for word in words
        if looks_like_path(word) or (simple.program in FILES and looks_like_folder(word))
    ]
    paths, copies = _target_first(simple, paths), simple.program == "cp" and len(paths) > 1
    for place, word in enumerate(paths):
        pairs.append((word.partition("::")[0], int(all_change or (copies and place == 0))))
    return pairs


def _target_first(simple: Simple, paths: list[str]) -> list[str]:
    """The paths of a copy or a move with what is written before what it is made from."""
    if simple.program not in ("cp", "mv") or len(paths) < 2:
        return paths
    into = simple.words.index("-t") + 1 if "-t" in simple.words else len(simple.words)
    target = simple.words[into] if into < len(simple.words) and simple.words[into] in paths else paths[-1]
    return [target, *(path for path in paths if path != target)]


def _bare_words(words: tuple[str, ...]) -> list[str]:
    """Words without options and the values of options."""
    bare, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in WITH_VALUE
        else:
            bare.append(word)
    return bare


def _cut(path: str) -> str:
    """The path in at most LONGEST characters: what is critical may stand at its end, so the middle goes.

    >>> _cut("./" * 200 + ".env"), len(_cut("a/" * 200 + ".env")), _cut("a/" * 200 + ".env")[-6:]
    ('.env', 160, 'a/.env')
    """
    path = path.replace("\\", "/")
    if len(path) <= LONGEST:
        return path
    path = posixpath.normpath(path)
    return path if len(path) <= LONGEST else f"{path[:60]}/…/{path[63 - LONGEST :]}"
