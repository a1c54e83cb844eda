"""Operations: what kind of thing a tool call does: read, edit, run, search, poll."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ...models.lazy_regex import Rule
from .shell_parser import Simple, simple_commands
from .step import Step, words

# Polling: commands that ask how far something outside is, whose answer may stay the same for a while.

ALWAYS = words("squeue nvidia-smi ps jobs")
ASKING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gh": (("run", "view"), ("run", "watch"), ("run", "list"), ("pr", "checks")),
    "kubectl": (("get",), ("rollout", "status")),
    "docker": (("ps",), ("compose", "ps")),
    "docker-compose": (("ps",),),
    "systemctl": (("status",), ("is-active",)),
}
"""A program to the words by which it is asked."""
VERBS: Mapping[str, frozenset[str]] = {"gcloud": words("describe list"), "az": words("show")}
"""Programs whose verb stands behind the names of what it is about."""
BEFORE = 2
"""Values of options that may stand before the words."""
LOGS = ("--log", "--log-failed")


def asks_for_status(program: str, texts: tuple[str, ...]) -> bool:
    """Whether a program with these words asks for the status of something.

    A look at the log of a finished run is reading, and what git says of the working tree changes only by
    what the agent does.

    >>> asks_for_status("kubectl", ("-n", "shop", "get", "pods")), asks_for_status("git", ("status",))
    (True, False)
    """
    if program in ALWAYS:
        return True
    bare = [word for word in texts if not word.startswith("-")]
    if program == "aws":
        return any(word.startswith("describe-") for word in bare[: BEFORE + 2])
    if program in VERBS:
        return not VERBS[program].isdisjoint(bare)
    if program not in ASKING or any(word in LOGS for word in texts):
        return False
    return any(
        tuple(bare[place : place + len(asked)]) == asked
        for asked in ASKING[program]
        for place in range(BEFORE + 1)
    )


# Operations: what sort of thing a call does, by the name of its tool or by the command it runs.

OPERATIONS = ("read", "list", "search", "write", "delete", "test", "wait", "fetch", "run", "other")
"""What a call does, as far as its name tells."""

SHELLS = words(
    "bash shell sh zsh terminal execute_bash run_command run_shell execute_command run_terminal_cmd "
    "exec cmd powershell local_shell computer_terminal exec_command run_in_terminal shell_command "
    "container_exec"
)
CODE = words("python ipython code notebook jupyter repl javascript")
"""Words of tools whose command is a program, no line for a shell."""
EDITORS: Mapping[str, str] = {
    "view": "read",
    "create": "write",
    "str_replace": "write",
    "insert": "write",
    "undo_edit": "write",
    "write": "write",
    "edit": "write",
    "rename": "write",
    "delete": "delete",
}
WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        words(
            "write edit replace create insert patch apply append save modify fix put set add update rename "
            "move copy undo upload book cancel send post install commit multiedit notebookedit change submit"
        ),
        "write",
    ),
    **dict.fromkeys(words("delete remove rm unlink drop"), "delete"),
    **dict.fromkeys(words("read view open cat show load goto scroll extract inspect peek"), "read"),
    **dict.fromkeys(["ls", "list", "dir", "tree"], "list"),
    **dict.fromkeys(words("grep search find glob rg lookup query locate"), "search"),
    **dict.fromkeys(words("test tests pytest check lint"), "test"),
    **dict.fromkeys(["wait", "sleep", "poll"], "wait"),
    **dict.fromkeys(words("fetch browse visit download crawl navigate http web websearch webfetch"), "fetch"),
    **dict.fromkeys(words("run execute exec python ipython code terminal"), "run"),
}
"""A word of a tool's name, to what such tools do; the first word that is here decides, after `write` ones."""

READERS = words(
    "cat head tail less more nl bat view open file stat wc od xxd strings jq column cut sort uniq"
)
LISTERS = words("ls tree du pwd dirname basename realpath readlink")
SEARCHERS = words(
    "grep egrep fgrep rg ag ack find fd locate which whereis type search_dir search_file find_file git-grep"
)
COMPARERS = frozenset(["diff", "cmp", "comm", "test", "[", "[["])
WRITERS = words(
    "tee mv cp mkdir touch chmod chown ln dd install patch truncate rsync unzip tar edit create insert"
)
DELETERS = frozenset(["rm", "rmdir", "unlink", "shred"])
TESTERS = words(
    "pytest py.test tox nox nosetests jest vitest mocha rspec phpunit ctest runtests.py unittest "
    "trial ruff flake8 mypy pylint pyright eslint tsc shellcheck rubocop golangci-lint clippy"
)
BUILDERS = words(
    "make npm yarn pnpm mvn mvnw gradle gradlew cargo go mix dotnet bazel rake composer bundle sbt ant"
)
INSTALLERS = words("pip pip3 npm yarn pnpm apt apt-get brew gem cargo conda uv poetry apk dnf yum")
FETCHERS = words("curl wget http ping nslookup dig")
GIT_WRITES = words(
    "add apply am checkout cherry-pick clean clone commit init merge mv pull push rebase reset "
    "restore revert rm stash switch tag"
)
WAITING_TOOLS = frozenset(["bashoutput", "taskoutput", "agentoutputtool", "command_status", "read_terminal"])
"""Tools that ask how far something is that was started before."""
SLEEPERS = frozenset(["sleep", "wait", "watch"])
SILENT = frozenset(
    (
        "cd",
        "pushd",
        "popd",
        "echo",
        "printf",
        "export",
        "set",
        "source",
        ".",
        "true",
        "false",
        ":",
        "exit",
        "#",
    )
)
PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys(FETCHERS, "fetch"),
    **dict.fromkeys(LISTERS, "list"),
    **dict.fromkeys(READERS | COMPARERS, "read"),
    **dict.fromkeys(SEARCHERS, "search"),
    **dict.fromkeys(WRITERS, "write"),
    **dict.fromkeys(DELETERS, "delete"),
}
"""A program to what it does; of two the weightier."""
_TEST_WORD = Rule(r"^(?:test|tests|check|verify|lint|runtests)(?:[:.\-_].*)?$|:test$|^run-tests|_test$")
_CODE_WRITES = Rule(
    r"open\([^()\n]{0,200},\s*['\"][wax]|\.write_text\(|\.write_bytes\(|writeFile(?:Sync)?\(|os\.(?:remove|rename|makedirs)\("
    r"|shutil\.(?:copy|move|rmtree)"
)
IN_PLACE = Rule(r"-[a-zA-Z]*i")
"""The option by which sed and perl change the file itself."""
_WORD = Rule(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
RANK = {
    name: place
    for place, name in enumerate(
        ("other", "read", "list", "search", "fetch", "run", "wait", "test", "write", "delete")
    )
}


_last: tuple[Step, str] | None = None


def operation_of(step: Step) -> str:
    """What a call does."""
    # Several signals ask it of one step in turn.
    global _last
    known = _last
    if known is None or known[0] is not step:
        known = _last = (step, _operation_of(step))
    return known[1]


def _operation_of(step: Step) -> str:
    editor = step.arguments.get("command")
    if isinstance(editor, str) and editor in EDITORS and len(step.arguments) > 1:
        return EDITORS[editor]
    return of_command(step.command) if step.command and is_shell(step) else of_tool(step.tool)


def is_shell(step: Step) -> bool:
    """Whether a call hands a command line to a shell: by the name of its tool, or as the tool is none that
    is known to do something else with it."""
    return step.tool.lower() in SHELLS or (bool(step.command) and of_tool(step.tool) in ("other", "run"))


def operations_of(step: Step) -> tuple[str, ...]:
    """Everything a call does: of several commands, on one line or more, what each of them does."""
    found = [operation_of(step)]
    if step.command and is_shell(step) and not CODE & {item.lower() for item in _WORD.findall(step.tool)}:
        found += [_of_simple(command) for command in simple_commands(step.command)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1024)
def of_tool(name: str) -> str:
    """What a tool does by its name.

    >>> of_tool("str_replace_editor"), of_tool("ReadFile"), of_tool("search_code_base"), of_tool("bash")
    ('write', 'read', 'search', 'other')
    """
    if name.lower() in SHELLS:
        return "other"
    if name.lower() in WAITING_TOOLS:
        return "wait"
    found = [WORDS[word] for item in _WORD.findall(name) if (word := item.lower()) in WORDS]
    if not found:
        return "other"
    return (
        next((item for item in found if item in ("write", "delete")), found[0])
        if found[0] != "search"
        else "search"
    )


@lru_cache(maxsize=64)
def of_command(line: str) -> str:
    """What a command line does: the weightiest thing that one of its commands does.

    >>> [of_command(one) for one in ("cd a && grep x b | head", "sed -i s/a/b/ c", "pytest -q > log.txt")]
    ['search', 'write', 'test']
    """
    commands = simple_commands(line)
    kinds = [_of_simple(command) for command in commands]
    best = max(kinds, key=RANK.__getitem__, default="other")
    # To ask how far something is after running something is no waiting.
    asks = best == "wait" and not any(command.program in SLEEPERS for command in commands)
    if asks and "run" in kinds:
        return "run"
    # A program whose output goes to a file still does first of all what the program does.
    by_output = any(command.outputs and _is_kept(command) for command in commands)
    if by_output and (asks or best in ("other", "read", "list", "search", "fetch")):
        return "write"
    return best


def _of_simple(simple: Simple) -> str:
    program, words = simple.program, simple.words
    first = next((word for word in words if not word.startswith("-")), "")
    if program in SILENT or not program:
        return "other"
    if program == "sed" or program == "perl":
        return "write" if any(IN_PLACE.match(word) for word in words) else "read"
    if program == "git":
        return "search" if first == "grep" else "write" if first in GIT_WRITES else "read"
    if program in SLEEPERS or asks_for_status(program, words):
        return "wait"
    if program in TESTERS or any(_is_test_script(word) for word in (program, *words[:3])):
        return "test"
    if program in INSTALLERS and first in (
        "install",
        "add",
        "i",
        "ci",
        "uninstall",
        "remove",
        "update",
        "upgrade",
        "sync",
    ):
        return "write"
    if program in BUILDERS:
        return "test" if any(_TEST_WORD.search(word) for word in words) else "run"
    if program.startswith("python") or program in ("node", "ruby", "php", "deno", "bun"):
        return _of_script(simple)
    return PROGRAMS.get(program, "run")


def _of_script(simple: Simple) -> str:
    words = simple.words
    if "-m" in words[:2]:
        module = words[words.index("-m") + 1 : words.index("-m") + 2]
        if module and module[0] in TESTERS:
            return "test"
        if module == ("pip",):
            return "write" if "install" in words else "read"
    if "test" in words[:3] or "--test" in words:
        return "test"
    return "write" if _CODE_WRITES.search(simple.code or " ".join(words)[:2_000]) else "run"


def _is_test_script(word: str) -> bool:
    name = word.rpartition("/")[2]
    return name in TESTERS or name in ("runtests", "run_tests.sh", "run_tests.py", "test.sh")


def _is_kept(simple: Simple) -> bool:
    return any(out not in ("/dev/null", "/dev/stderr", "/dev/stdout", "") for out in simple.outputs)
