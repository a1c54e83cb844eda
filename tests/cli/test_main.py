"""The frame of the command line: whatever happens, a plain message and the right exit code."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest

import ethogram
from ethogram import cli
from ethogram.cli import main as frame
from ethogram.cli.help import Argument, parameters
from ethogram.errors import BadEvents, Conflict, Fault, MissingExtra
from waiting import PATIENCE_SECONDS

FAULTS = [Fault("events.jsonl", 3, 7, "no subject"), Fault("events.jsonl", 9, 0, "bad time")]


def command(*args: str | bytes, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "ethogram", *args],
        stderr=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=False,
        **options,
    )


@pytest.fixture
def failing(monkeypatch):
    """Makes the next command raise this."""

    def fail_with(error: BaseException) -> None:
        def build() -> click.Command:
            raise error

        monkeypatch.setattr(frame, "build_app", build)

    return fail_with


def test_the_version_is_the_package_s(capsys):
    assert frame.main(["--version"]) == 0
    assert capsys.readouterr().out == f"ethogram {ethogram.__version__}\n"


def commands_of(command, path="ethogram"):
    """Every command with its path."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands_of(command.get_command(context, name), f"{path} {name}")


def test_help_lists_few_commands_by_task(capsys):
    assert frame.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(("Usage", " "))]
    assert titles == [
        "Options:", "Analyse:", "Scale:", "Live:", "Serve:", "Patterns:", "Store:", "Judge:", "Setup:",
    ]  # fmt: skip
    commands = frame.build_app().targets
    assert len(commands) <= 30
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in commands)


def test_every_help_text_is_one_short_imperative_line_and_no_option_is_without():
    for path, command in commands_of(frame.build_app()):
        first = (command.help or "").partition("\n")[0]
        assert 0 < len(first) < 70, path
        for param in command.params:
            text = param.text if isinstance(param, Argument) else param.help or ""
            assert 0 < len(text) < 70, (path, param.name)
            assert text[0].isupper(), (path, param.name)
            assert text.endswith("."), (path, param.name)


def test_analyze_shows_ten_options_first_and_the_rest_in_panels(capsys):
    assert frame.main(["analyze", "--help"]) == 0
    panels = dict(re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", capsys.readouterr().out, re.MULTILINE))
    names = "Arguments, Options, Input, Output, Scoring, Agent runs, Advanced, Scale"
    assert ", ".join(panels) == names
    assert len(re.findall(r"^  -", panels["Options"], re.MULTILINE)) == 10 + 1  # and --help


def test_every_function_with_options_is_a_command():
    listed = set()

    def add(group):
        for target in group.targets.values():
            if isinstance(target, str):
                listed.add(target)
            else:
                add(target)

    add(frame.build_app())
    defined = set()
    for path in Path(cli.__path__[0]).glob("*.py"):
        module = importlib.import_module(f"ethogram.cli.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                with suppress(NameError, TypeError, ValueError):  # it has parameters that are no options
                    if parameters(function):
                        defined.add(f"{path.stem}:{name}")
    assert defined == listed


def completions(words: str) -> list[bytes]:
    """What bash offers for the last of these words."""
    env = {
        **os.environ,
        "_ETHOGRAM_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    return command(stdout=subprocess.PIPE, env=env).stdout.split()


def test_a_shell_completes_commands_options_and_files():
    assert completions("ethogram an") == [b"plain,analyze"]
    assert completions("ethogram usage key r") == [b"plain,rotate"]
    assert completions("ethogram analyze --keep") == [b"plain,--keep-text"]
    assert completions("ethogram analyze ev") == completions("ethogram analyze --html ev") == [b"file,ev"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell):
    env = {**os.environ, "_ETHOGRAM_COMPLETE": f"{shell}_source"}
    script = command(stdout=subprocess.PIPE, env=env).stdout
    assert f"_ETHOGRAM_COMPLETE={shell}_complete".encode() in script


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from ethogram.cli.main import main; main(['--help']); "
        "print([one for one in ('numpy', 'rich', 'jinja2', 'sqlalchemy', 'yaml') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    assert done.stdout.endswith("[]\n")


def test_a_command_loads_no_other_command():
    code = (
        "import sys; from ethogram.cli.main import main; main(['config', 'path']); "
        "print(*sorted(name for name in sys.modules if name.startswith('ethogram.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    modules = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert modules == {"config", "errors", "help", "main", "options", "output"}


def test_no_command_at_all_shows_the_help_as_a_mistake(capsys):
    assert frame.main([]) == 2
    assert capsys.readouterr().err.startswith("Usage: ethogram")


def test_a_wrong_command_is_bad_usage_and_says_where_help_is(capsys):
    assert frame.main(["shcema"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ethogram: No such command 'shcema'")
    assert said.err.endswith("see ethogram --help\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("signals scan", "Missing argument 'PATH'; see ethogram signals scan --help"),
        ("store risk", "Missing option '--store'; see ethogram store risk --help"),
        ("analyze x --patterns", "Option '--patterns' requires an argument"),
        (
            "analyze --pattern x",
            "No such option: --pattern (Possible options: --patterns); see ethogram analyze",
        ),
        ("analyze x --budget -1", "Invalid value for '--budget': -1.0 is not in the range x>=0.0; see"),
        ("signals scan x --sample nan", "Invalid value for '--sample': 'nan' is not a valid number; see"),
        ("store risk --store s.db --limit x", "Invalid value for '--limit': 'x' is not a valid integer; see"),
        ("analyze x --source=", "Invalid value for --source: must not be empty; see"),
        ("bucket in out", "ethogram bucket was removed: run ethogram spark analyze, which gives the same"),
        ("merge 1.jsonl", "ethogram merge was removed: run ethogram spark analyze"),
        ("analyze x --bucket 1/2", "ethogram analyze --bucket was removed: run ethogram spark analyze"),
        ("sweep --store s.db --inside", "ethogram sweep --inside was removed: leave it out; sweep reads the"),
        ("patterns show darvo --cypher", "ethogram patterns show --cypher was removed: run ethogram sweep"),
    ],
)
def test_a_missing_or_bad_value_is_named(capsys, line, message):
    assert frame.main(line.split()) == 2
    assert capsys.readouterr().err.startswith(f"ethogram: {message}")


def test_every_fault_is_told_on_a_line_of_its_own(capsys, failing):
    failing(BadEvents(FAULTS, more=4))
    assert frame.main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "events.jsonl:3:7: no subject",
        "events.jsonl:9: bad time",
        "ethogram: ... and 4 more",
    ]


def test_with_json_faults_are_json_lines_on_standard_error(capsys, failing):
    failing(BadEvents(FAULTS))
    assert frame.main(["analyze", "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert [json.loads(line) for line in said.err.splitlines()] == [one.to_dict() for one in FAULTS]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Conflict("event 'a' came twice"), 2, "ethogram: event 'a' came twice"),
        (MissingExtra("pyarrow", "parquet", "reading Parquet"), 2, "ethogram: reading Parquet needs"),
        (FileNotFoundError(2, "No such file", "x.csv"), 2, "x.csv: No such file"),
        (KeyboardInterrupt(), 130, "ethogram: interrupted"),
        (ZeroDivisionError("by zero"), 1, "ethogram: internal error: ZeroDivisionError: by zero (set ETHO"),
        (click.exceptions.Exit(3), 3, ""),
        (click.exceptions.Exit(0), 0, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_goes_wrong_decides_the_exit_code(capsys, monkeypatch, failing, error, code, said):
    monkeypatch.delenv("ETHOGRAM_DEBUG", raising=False)
    failing(error)
    assert frame.main([]) == code
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == (1 if said else 0)


def test_the_traceback_is_there_for_who_asks(capsys, monkeypatch, failing):
    monkeypatch.setenv("ETHOGRAM_DEBUG", "1")
    failing(ZeroDivisionError("by zero"))
    assert frame.main([]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_control_characters_from_the_input_do_not_reach_the_terminal(capsys, failing):
    failing(BadEvents([Fault("a\x1b[2J\nb", 1, 0, "bad")]))
    assert frame.main([]) == 2
    assert capsys.readouterr().err == "a\\x1b[2J\\nb:1: bad\n"


@pytest.mark.skipif(os.name == "nt", reason="arguments are bytes on POSIX only")
def test_no_argument_and_no_terminal_encoding_makes_it_crash():
    for encoding in ("ascii", "latin-1", "utf-8"):
        env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        done = command("config", "schema", b"caf\xc3\xa9\xff", stdout=subprocess.PIPE, env=env)
        assert done.returncode == 2
        assert b"unknown schema" in done.stderr


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = command("config", "schema", "pattern", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # noqa: PTH110
@pytest.mark.parametrize(
    "args", [["config", "schema", "pattern"], ["demo"], ["--help"]], ids=lambda args: args[0]
)
def test_no_room_for_the_output_is_said_and_is_no_internal_error(args):
    with open("/dev/full", "wb") as full:
        done = command(*args, stdout=full)
    assert (done.returncode, done.stderr) == (1, b"ethogram: cannot write: No space left on device\n")


def closed(*which: int) -> dict[str, object]:
    """Starts a command with these streams closed."""
    return {"preexec_fn": lambda: [os.close(one) for one in which]}


@pytest.mark.skipif(os.name == "nt", reason="streams cannot be closed there")
@pytest.mark.parametrize(
    ("args", "which", "code", "said"),
    [
        (["config", "schema", "pattern"], (1,), 1, b"ethogram: cannot write: standard output is closed\n"),
        (
            ["analyze", "-"],
            (0,),
            2,
            b"ethogram: -: standard input is closed; send events into it, or name a file\n",
        ),
        (["analyze", "nosuch"], (2,), 2, b""),
        (["analyze", "nosuch"], (1, 2), 1, b""),
    ],
)
def test_a_closed_stream_is_no_crash(args, which, code, said):
    done = command(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **closed(*which))
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # noqa: PTH110
def test_no_room_for_the_error_leaves_its_code():
    line = [sys.executable, "-m", "ethogram", "config", "schema", "nosuch"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            line, stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE_SECONDS, check=False
        )
    assert (done.returncode, done.stdout) == (2, b"")


class Terminal(io.StringIO):
    """What looks like one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", ["", "1"])
def test_without_colour_there_are_no_codes_at_all(monkeypatch, no_color):
    from rich.text import Text

    from ethogram.cli.output import show

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", Terminal())
    show(Text("HIGH", "bold red"), Text("title", "bold"), Text("id", "dim"))
    assert ("\x1b" in sys.stdout.getvalue()) is (no_color == "")
