"""Critical paths: which path or command a call is to be asked about before it is made.

The signal `critical_path` goes by paths that are plainly named. Here a question is cheap and a miss is not,
so words that programs are given, redirections and code in quotes are looked through as well.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from ..records.rule import Rule
from ..signals.options import Options
from ..signals.steps.paths import joined, touched
from ..signals.steps.scope import is_critical, is_guarded, matches
from ..signals.steps.shell import simple_commands
from ..signals.steps.step import Step

TALKERS = frozenset("echo printf grep egrep fgrep rg ag ack sed awk".split())  # noqa: SIM905 (a list of words)
"""Programs whose words are often about a path and do not touch it."""
READERS = TALKERS | frozenset("cat head tail less more diff ls wc stat file jq tree find".split())  # noqa: SIM905
"""Programs that change nothing they are given; where their output goes is seen elsewhere."""
GIT_READERS = tuple((name,) for name in ("add", "blame", "commit", "diff", "log", "show", "status"))
CHANGING = ("trust", "mute", "learn", "purge", "hook install", "hook uninstall", "hook purge")
"""Commands of ours that change what is watched, or forget it."""
RUNNERS = Rule(r"(?:ba|z|da)?sh|python[\d.]*|node|ruby|perl|php|deno|bun")
_WORD = Rule(r"[^\s'\"`()\[\]{}<>|;&,=]{1,200}")
_INPUT = Rule(r"<\s*([^\s<>|;&()'\"]{1,200})")


def path_to_ask(step: Step, options: Options, cwd: str, *, is_critical_step: bool) -> tuple[str, bool] | None:
    """The path a call should be asked about, and whether it is one that the settings deny; None: no question.

    `is_critical_step`: the signal says so, who named the path and what is allowed being known to it.
    """
    named = [(joined(cwd, path), bool(changes)) for path, changes in touched(step)]
    for path, _ in named:
        if options.deny and matches(path, options.deny, cwd):
            return path, True
    if is_critical_step:
        for path, changes in named:
            if is_critical(path, changes) or matches(path, options.critical_paths, cwd):
                return path, False
        return (named[0][0], False) if named else None
    for word in _changed_words(step.command) if step.command else ():
        if is_guarded(joined(cwd, word)):
            return joined(cwd, word), False
    known = {path for path, _ in named}
    for word in words_in(step.command) if step.command else ():
        path = joined(cwd, word)
        if path not in known and is_critical(path, False) and not matches(path, options.allow, cwd):
            return path, False
    return None


def command_to_ask(step: Step) -> str | None:
    """A command of ours that changes what is watched, such as `ethogram trust`; None where there is none."""
    for command in simple_commands(step.command) if step.command else ():
        words = [word for word in (posixpath.basename(command.program), *command.words) if word[:1] != "-"]
        while words and RUNNERS.fullmatch(words[0]):
            words = words[1:]
        if words[:1] == ["ethogram"] and " ".join(words[1:3]).startswith(CHANGING):
            return " ".join(words[:3])
    return None


def _changed_words(line: str) -> Iterator[str]:
    """Words of a command line that may be paths, of programs that may change what they are given."""
    for command in simple_commands(line):
        if command.program in READERS or (command.program == "git" and command.words[:1] in GIT_READERS):
            continue
        for word in (*command.words, command.code):
            yield from map(_plain, _WORD.findall(word))


def words_in(line: str) -> Iterator[str]:
    """Words of a command line that may be paths.

    >>> list(words_in("docker run --env-file .env x < $HOME/.netrc"))
    ['run', '', '.env', 'x', '~/.netrc']
    """
    for one in simple_commands(line):
        if one.program in TALKERS:
            continue
        runs_code = RUNNERS.fullmatch(one.program) is not None
        for word in one.words:
            if runs_code or not any(sign in word for sign in " \t\n"):
                yield from map(_plain, _WORD.findall(word) if runs_code else [word.rpartition("=")[2]])
    yield from map(_plain, _INPUT.findall(line))


def _plain(word: str) -> str:
    word = word.lstrip("@")
    for home in ("$HOME/", "${HOME}/"):
        if word.startswith(home):
            return "~/" + word[len(home) :]
    return word if not word.startswith("-") else ""
