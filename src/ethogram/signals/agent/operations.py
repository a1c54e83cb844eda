"""Operations: what a tool call does: read, list, search, write, delete, test, wait, fetch, run or other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ...models.lazy_regex import Rule
from ..base import remember_last
from .shell_parser import SimpleCommand, simple_commands
from .step import Step, words

OPERATIONS = ("read", "list", "search", "write", "delete", "test", "wait", "fetch", "run", "other")

POLLERS = words("squeue nvidia-smi ps jobs")
POLLING_WORDS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gh": (("run", "view"), ("run", "watch"), ("run", "list"), ("pr", "checks")),
    "kubectl": (("get",), ("rollout", "status")),
    "docker": (("ps",), ("compose", "ps")),
    "docker-compose": (("ps",),),
    "systemctl": (("status",), ("is-active",)),
}
"""A program to the subcommands that query a status."""
POLLING_VERBS: Mapping[str, frozenset[str]] = {"gcloud": words("describe list"), "az": words("show")}
"""Programs whose verb comes after the names it applies to."""
OPTION_VALUES = 2
"""Values of options that may precede a subcommand."""
LOG_OPTIONS = words("--log --log-failed")

SHELLS = words(
    "bash shell sh zsh terminal execute_bash run_command run_shell execute_command run_terminal_cmd "
    "exec cmd powershell local_shell computer_terminal exec_command run_in_terminal shell_command "
    "container_exec"
)
CODE = words("python ipython code notebook jupyter repl javascript")
"""Words of tools whose command is code, not a shell command line."""
EDITORS: Mapping[str, str] = {
    **dict.fromkeys(words("create str_replace insert undo_edit write edit rename"), "write"),
    "view": "read",
    "delete": "delete",
}
"""Commands of editor tools such as str_replace_editor."""
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
"""Word in a tool's name -> operation; a write or delete word decides, else the first word listed."""

READERS = words(
    "cat head tail less more nl bat view open file stat wc od xxd strings jq column cut sort uniq"
)
LISTERS = words("ls tree du pwd dirname basename realpath readlink")
SEARCHERS = words(
    "grep egrep fgrep rg ag ack find fd locate which whereis type search_dir search_file find_file git-grep"
)
COMPARERS = words("diff cmp comm test [ [[")
WRITERS = words(
    "tee mv cp mkdir touch chmod chown ln dd install patch truncate rsync unzip tar edit create insert"
)
DELETERS = words("rm rmdir unlink shred")
TESTERS = words(
    "pytest py.test tox nox nosetests jest vitest mocha rspec phpunit ctest runtests.py unittest "
    "trial ruff flake8 mypy pylint pyright eslint tsc shellcheck rubocop golangci-lint clippy"
)
BUILDERS = words(
    "make npm yarn pnpm mvn mvnw gradle gradlew cargo go mix dotnet bazel rake composer bundle sbt ant"
)
INSTALL_VERBS = words("install add i ci uninstall remove update upgrade sync")
INSTALLERS = words("pip pip3 npm yarn pnpm apt apt-get brew gem cargo conda uv poetry apk dnf yum")
FETCHERS = words("curl wget http ping nslookup dig")
GIT_WRITES = words(
    "add apply am checkout cherry-pick clean clone commit init merge mv pull push rebase reset "
    "restore revert rm stash switch tag"
)
WAITING_TOOLS = words("bashoutput taskoutput agentoutputtool command_status read_terminal")
"""Tools that poll something started before."""
SLEEPERS = words("sleep wait watch")
SILENT = words("cd pushd popd echo printf export set source . true false : exit #")
PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys(FETCHERS, "fetch"),
    **dict.fromkeys(LISTERS, "list"),
    **dict.fromkeys(READERS | COMPARERS, "read"),
    **dict.fromkeys(SEARCHERS, "search"),
    **dict.fromkeys(WRITERS, "write"),
    **dict.fromkeys(DELETERS, "delete"),
}
_TEST_WORD = Rule(r"^(?:test|tests|check|verify|lint|runtests)(?:[:.\-_].*)?$|:test$|^run-tests|_test$")
_CODE_WRITES = Rule(
    r"open\([^()\n]{0,200},\s*['\"][wax]|\.write_text\(|\.write_bytes\(|writeFile(?:Sync)?\(|os\.(?:remove|rename|makedirs)\("
    r"|shutil\.(?:copy|move|rmtree)"
)
NO_FILES = ("/dev/null", "/dev/stderr", "/dev/stdout", "")
IN_PLACE = Rule(r"-[a-zA-Z]*i")
"""The option of sed and perl to edit files in place."""
_WORD = Rule(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_PRECEDENCE = ("other", "read", "list", "search", "fetch", "run", "wait", "test", "write", "delete")
RANK = {name: place for place, name in enumerate(_PRECEDENCE)}


@remember_last
def operation_of(step: Step) -> str:
    """Return what a call does."""
    editor = step.arguments.get("command")
    if isinstance(editor, str) and editor in EDITORS and len(step.arguments) > 1:
        return EDITORS[editor]
    return of_command(step.command) if step.command and is_shell(step) else of_tool(step.tool)


def is_shell(step: Step) -> bool:
    """Return whether a call runs a shell command line: its tool is a shell, or none known."""
    return step.tool.lower() in SHELLS or (bool(step.command) and of_tool(step.tool) in ("other", "run"))


def operations_of(step: Step) -> tuple[str, ...]:
    """Return everything a call does: the operation of each of its commands."""
    operations = [operation_of(step)]
    if step.command and is_shell(step) and not CODE & {word.lower() for word in _WORD.findall(step.tool)}:
        operations += [_of_simple(command) for command in simple_commands(step.command)]
    return tuple(dict.fromkeys(operations))


@lru_cache(maxsize=1024)
def of_tool(name: str) -> str:
    """Return what a tool does by its name.

    >>> of_tool("str_replace_editor"), of_tool("ReadFile"), of_tool("search_code_base"), of_tool("bash")
    ('write', 'read', 'search', 'other')
    """
    if name.lower() in SHELLS:
        return "other"
    if name.lower() in WAITING_TOOLS:
        return "wait"
    kinds = [WORDS[word.lower()] for word in _WORD.findall(name) if word.lower() in WORDS]
    if not kinds or kinds[0] == "search":
        return kinds[0] if kinds else "other"
    return next((kind for kind in kinds if kind in ("write", "delete")), kinds[0])


# The report on runs asks again for what was measured.
@lru_cache(maxsize=1 << 14)
def of_command(line: str) -> str:
    """Return what a command line does: the strongest operation of its commands.

    >>> [of_command(line) for line in ("cd a && grep x b | head", "sed -i s/a/b/ c", "pytest -q > log.txt")]
    ['search', 'write', 'test']
    """
    commands = simple_commands(line)
    kinds = [_of_simple(command) for command in commands]
    strongest = max(kinds, key=RANK.__getitem__, default="other")
    # A status query after running something is part of running it.
    polls = strongest == "wait" and not any(command.program in SLEEPERS for command in commands)
    if polls and "run" in kinds:
        return "run"
    # A program whose output goes to a file is first of all what the program does.
    saves = any(out not in NO_FILES for command in commands for out in command.outputs)
    if saves and (polls or strongest in ("other", "read", "list", "search", "fetch")):
        return "write"
    return strongest


def _of_simple(command: SimpleCommand) -> str:
    program, args = command.program, command.words
    first = next((word for word in args if not word.startswith("-")), "")
    if program in SILENT or not program:
        return "other"
    if program in ("sed", "perl"):
        return "write" if any(IN_PLACE.match(word) for word in args) else "read"
    if program == "git":
        return "search" if first == "grep" else "write" if first in GIT_WRITES else "read"
    if program in SLEEPERS or polls_status(program, args):
        return "wait"
    if program in TESTERS or any(_is_test_script(word) for word in (program, *args[:3])):
        return "test"
    if program in INSTALLERS and first in INSTALL_VERBS:
        return "write"
    if program in BUILDERS:
        return "test" if any(_TEST_WORD.search(word) for word in args) else "run"
    if program.startswith("python") or program in ("node", "ruby", "php", "deno", "bun"):
        return _of_script(command)
    return PROGRAMS.get(program, "run")


def polls_status(program: str, args: tuple[str, ...]) -> bool:
    """Return whether a command queries the status of something outside, which may stay the same for a while.

    The log of a finished run is reading, and `git status` changes only by what the agent does.

    >>> polls_status("kubectl", ("-n", "shop", "get", "pods")), polls_status("git", ("status",))
    (True, False)
    """
    if program in POLLERS:
        return True
    bare = [word for word in args if not word.startswith("-")]
    if program == "aws":
        return any(word.startswith("describe-") for word in bare[: OPTION_VALUES + 2])
    if program in POLLING_VERBS:
        return not POLLING_VERBS[program].isdisjoint(bare)
    if program not in POLLING_WORDS or not LOG_OPTIONS.isdisjoint(args):
        return False
    return any(
        tuple(bare[place : place + len(subcommand)]) == subcommand
        for subcommand in POLLING_WORDS[program]
        for place in range(OPTION_VALUES + 1)
    )


def _of_script(command: SimpleCommand) -> str:
    args = command.words
    if "-m" in args[:2]:
        module = args[args.index("-m") + 1 : args.index("-m") + 2]
        if module and module[0] in TESTERS:
            return "test"
        if module == ("pip",):
            return "write" if "install" in args else "read"
    if "test" in args[:3] or "--test" in args:
        return "test"
    return "write" if _CODE_WRITES.search(command.code or " ".join(args)[:2_000]) else "run"


def _is_test_script(word: str) -> bool:
    name = word.rpartition("/")[2]
    return name in TESTERS or name in ("runtests", "run_tests.sh", "run_tests.py", "test.sh")
