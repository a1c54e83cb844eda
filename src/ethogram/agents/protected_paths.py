"""Protected paths: calls to ask about before they run, on critical paths or on the monitoring itself.

The signal `critical_path` considers plainly named paths. Here a question is cheap and a miss is not, so
words given to programs, redirections and quoted code are examined as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..models.lazy_regex import Rule
from ..signals.agent.operations import operation_of
from ..signals.agent.path_scope import is_critical, matches
from ..signals.agent.paths import joined, touched
from ..signals.agent.shell_parser import MAX_COMMANDS, MAX_WORDS, SimpleCommand, simple_commands
from ..signals.agent.step import Step, words
from ..signals.options import Options

MENTIONERS = words("echo printf grep egrep fgrep rg ag ack sed awk")
"""Programs whose words often mention a path without touching it."""
READERS = words("echo printf grep egrep fgrep rg cat head tail diff cmp ls wc stat file jq cd")
"""Programs that change nothing, whatever their options."""
GIT_READERS = ("add", "blame", "commit", "diff", "log", "show", "status")
RUNNERS = Rule(r"(?:ba|z|da)?sh|python[\d.]*|node|ruby|perl|php|deno|bun")
LOOKS = ("read", "list", "search", "fetch")
CONTENT = words(
    "content contents file_text text new_string old_string new_str old_str new_source message description "
    "prompt query pattern todos thought"
)
"""Arguments that hold what is written or searched, not where."""
_RUNS_TEXT = Rule(r"(?:ba|z|da)?sh|eval|xargs|parallel|ssh|tmux|screen|script|watch")
"""Programs that run text they are given, also by a pipe."""
CONDITIONAL_READERS = Rule(r"sed|g?awk|find|tree|less|more|sort|git")
"""Programs that change nothing without an option or expression that says so."""
_WRITES = Rule(
    r"--output|--in-place|-o|-\w*i|.*\binplace\b.*|-delete|-exec(?:dir)?|-ok|-fprint\w*|.*(?:>|\bw\s+\S).*"
)
_MONITORING = Rule(
    r"(?:^|[^\w-])\.?ethogram(?:\.(?:learned|mutes))?\.yaml\b"
    r"|(?:^|[^\w.-])\.claude(?![\w.-])(?!/(?:plans|todos)/)"
    r"|\.(?:config|local/state)/ethogram(?![\w-])|\$\{?(?:ETHOGRAM_HOOK_DIR|CLAUDE_CONFIG_DIR|XDG_\w+_HOME)\b"
    r"|/bin/ethogram(?![\w-])|site-packages/ethogram(?![\w-])",
    re.IGNORECASE,
)
"""Settings of ethogram and of the agent, and ethogram itself, anywhere in a text."""
_NEXT = r"['\"]?,?(?:\s+-\S+)*\s+['\"]?"
_ETHOGRAM = rf"\bethogram(?:\.__main__)?{_NEXT}"
_COMMAND = Rule(
    rf"{_ETHOGRAM}(?:(?:config|store){_NEXT})?(?:trust|mute|learn|purge)\b"
    rf"|{_ETHOGRAM}hook\b(?!['\"]?,?\s+['\"]?(?:status|report|replay)\b)"
    r"|\b(?:uninstall|remove|disable|marketplace\s+rm)\s(?:[^\n;|&]{0,80}\s)?ethogram\b",
)
"""Commands of ethogram that change the monitoring or feed the hook; and its removal."""
_WORD = Rule(r"[^\s'\"`()\[\]{}<>|;&,=]{1,200}")
_INPUT = Rule(r"<\s*([^\s<>|;&()'\"]{1,200})")


def paths_to_ask(
    step: Step, options: Options, cwd: str, *, is_critical_step: bool
) -> Iterator[tuple[str, bool]]:
    """Yield the paths to ask about before a call, each with whether the settings deny it.

    `is_critical_step` is the signal critical_path, which knows what users named and settings allow.
    """
    named = [(joined(cwd, path), bool(changes)) for path, changes in touched(step)]
    paths: list[str] = []
    if is_critical_step:
        globs = options.critical_paths
        paths = [path for path, changes in named if is_critical(path, changes) or matches(path, globs, cwd)]
        paths = paths or [path for path, _ in named[:1]]
    known = {path for path, _ in named}
    for word in path_words(step.command) if step.command else ():
        path = joined(cwd, word)
        if path not in known and is_critical(path, False) and not matches(path, options.allow, cwd):
            paths.append(path)
    yield from ((path, False) for path in dict.fromkeys(paths))
    for path, _ in named:
        if options.deny and path not in paths and matches(path, options.deny, cwd):
            yield path, True


def monitoring_change(step: Step) -> str | None:
    """Return the command or path by which a call may change the monitoring; None where it does not.

    A name that a program composes is not recognized.
    """
    if step.command:
        return next(_changing_parts(step.command), None)
    if operation_of(step) in LOOKS:
        return None
    for text in _places(step.arguments):
        if match := _MONITORING.search(text) or _COMMAND.search(text):
            return match[0].strip(" /")
    return None


def _changing_parts(line: str) -> Iterator[str]:
    commands = simple_commands(line)
    # What is only printed or searched for changes nothing, unless something runs it.
    runs_text = any(_RUNS_TEXT.fullmatch(command.program.rpartition("/")[2]) for command in commands)
    for command in commands:
        text = " ".join((command.program, *command.words, command.code)).strip()
        shown = " > ".join((text, *command.outputs))
        reads = _only_reads(command) and not runs_text
        if (
            any(_MONITORING.search(output) for output in command.outputs)
            or (_COMMAND.search(text) and not reads)
            # ethogram's own commands that change settings are known.
            or (_MONITORING.search(text) and not reads and command.program.rpartition("/")[2] != "ethogram")
        ):
            yield shown
    is_cut = len(commands) >= MAX_COMMANDS or any(len(command.words) >= MAX_WORDS for command in commands)
    if is_cut and (match := _MONITORING.search(line) or _COMMAND.search(line)):
        yield match[0].strip(" /")


def _only_reads(command: SimpleCommand) -> bool:
    if CONDITIONAL_READERS.fullmatch(command.program):
        words = [word for word in command.words if command.program != "git" or word[:1] != "-"]
        known = command.program != "git" or (words[:1] and words[0] in GIT_READERS)
        return bool(known) and not any(_WRITES.fullmatch(word.partition("=")[0]) for word in command.words)
    return command.program in READERS


def _places(value: Any, name: str = "") -> Iterator[str]:
    """Texts in the arguments of a tool that may name a place."""
    if isinstance(value, str):
        if name not in CONTENT:
            yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _places(part, str(key))
    elif isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            yield " ".join(value)
        else:
            for part in value:
                yield from _places(part, name)


def path_words(line: str) -> Iterator[str]:
    """Yield the words of a command line that may be paths.

    >>> list(path_words("docker run --env-file .env x < $HOME/.netrc"))
    ['run', '', '.env', 'x', '~/.netrc']
    """
    for command in simple_commands(line):
        if command.program in MENTIONERS:
            continue
        runs_code = RUNNERS.fullmatch(command.program) is not None
        for word in command.words:
            if runs_code or not any(sign in word for sign in " \t\n"):
                yield from map(_plain, _WORD.findall(word) if runs_code else [word.rpartition("=")[2]])
    yield from map(_plain, _INPUT.findall(line))


def _plain(word: str) -> str:
    word = word.lstrip("@")
    for home in ("$HOME/", "${HOME}/"):
        if word.startswith(home):
            return "~/" + word[len(home) :]
    return word if not word.startswith("-") else ""
