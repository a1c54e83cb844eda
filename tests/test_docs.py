"""Everything a reader may copy from README.md and docs/ works as it stands."""

from __future__ import annotations

import doctest
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from ruamel.yaml import YAML

from demo_environment import demo_extras, make_environment
from ethogram.app.demo import examples
from ethogram.patterns.library import load_patterns
from markdown_blocks import (
    ROOT,
    SHELLS,
    Block,
    anchors_of,
    blocks,
    blocks_of,
    commands_of,
    is_shown_in,
    links_of,
    pages,
)
from warm_program import warm_program

TESTED = ("python", "yaml", "json", "jsonl", *SHELLS)
SKIPPED_AT_MOST = 0.10
FIRST_STEPS = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
"""Pages whose commands work in the environment that `make demo` leaves."""
SECONDS = 120


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    with warm_program(shell_environment()) as folder:
        yield folder


@pytest.fixture(scope="session")
def demo_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("demo") / "venv", demo_extras())


@pytest.fixture(scope="session")
def warm_demo(demo_programs: Path) -> Iterator[Path]:
    with warm_program(demo_environment(demo_programs), str(demo_programs / "python")) as folder:
        yield folder


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", FIRST_STEPS, ids=name_of)
def test_the_first_steps_work_in_the_environment_of_make_demo(page, demo_programs, warm_demo, tmp_path):
    # The README with the program as it is installed.
    programs = [demo_programs] if page.name == "README.md" else [warm_demo, demo_programs]
    run_first_steps(page, tmp_path, demo_environment(*programs))


@pytest.mark.parametrize("name", ["pytest", "pyarrow", "anthropic", "opentelemetry.sdk", "packaging"])
def test_what_only_the_development_tools_bring_is_not_in_the_environment_of_make_demo(name, demo_programs):
    program = [demo_programs / "python", "-c", f"import {name}"]
    done = subprocess.run(
        program, env=demo_environment(demo_programs), stderr=subprocess.PIPE, text=True, check=False
    )
    assert "ModuleNotFoundError" in done.stderr


def test_the_first_steps_begin_with_make_demo():
    for page in FIRST_STEPS:
        first = next(block for block in blocks_of(page) if block.language in SHELLS)
        lines = [command.line for command in commands_of(first.text)]
        assert lines[:2] == ["make demo", ". .venv/bin/activate"], page


@pytest.mark.long
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_make_demo_in_a_fresh_clone_leaves_what_the_readme_needs(tmp_path):
    clone = tmp_path / "clone"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    environment = demo_environment() | {"PYTHON": sys.executable}
    made = subprocess.run(
        ["make", "demo"],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout
    assert (clone / "build" / "ethogram-report.html").is_file()
    run_first_steps(ROOT / "README.md", clone, demo_environment(clone / ".venv" / "bin"))


@pytest.mark.parametrize("page", [page for page in pages() if page not in FIRST_STEPS], ids=name_of)
def test_the_code_and_commands_of_a_page_run_from_top_to_bottom(page, warm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = shell_environment(warm)
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    names: dict[str, object] = {"__name__": "__page__"}
    for block in blocks_of(page):
        if block.is_skipped:
            continue
        save(block, tmp_path)
        if block.language == "python":
            run_python(block, names)
        elif block.language in SHELLS:
            run_shell(block, tmp_path, environment)


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_parses_and_pattern_files_are_clean(block, tmp_path):
    content = YAML(typ="safe", pure=True).load(block.text)
    if not (isinstance(content, dict) and {"name", "shape"} <= content.keys()):
        return
    file = tmp_path / f"{content['name']}.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_patterns([file])


@pytest.mark.parametrize("block", blocks("json", "jsonl"), ids=str)
def test_json_parses(block):
    texts = block.text.splitlines() if block.language == "jsonl" else [block.text]
    for text in texts:
        json.loads(text)


INDEX = re.compile(
    r"\buvx\b|\b(pip3?|pipx|uv tool|uv pip) (install|run)( -\S+)* ['\"]?ethogram\b", re.IGNORECASE
)
"""Commands that take the package from an index."""


def test_nothing_is_installed_from_an_index():
    folders = ("docs", "examples", "plugins", "src/ethogram")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", ROOT / "action.yml"]
    texts = {
        str(path.relative_to(ROOT)): path.read_bytes().decode("utf-8", "ignore")
        for path in files
        if path.suffix not in (".pyc", ".png", ".npz", ".npy", ".gz")
    }
    assert [name for name, text in texts.items() if INDEX.search(text)] == []


def test_a_line_on_an_example_with_scores_written_by_hand_says_so():
    by_hand = "|".join(example.path.name for example in examples() if example.has_scores_by_hand)
    assert by_hand
    named = re.compile(rf"(examples|histories)/({by_hand})|^\$ ethogram (?!demo).*\bexamples(?![/\w.])")
    unsaid = [
        f"{name_of(page)}: {line}"
        for page in pages()
        for line in page.read_text(encoding="utf-8").splitlines()
        # `chat` scores the text itself, and the scan reads nothing else.
        if named.search(line)
        and "written by hand" not in line
        and not line.startswith(("$ ethogram chat ", "$ ethogram signals scan "))
    ]
    assert unsaid == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 800


def test_hardly_any_block_is_left_out():
    every = [item for page in pages() for item in blocks_of(page) if item.language in TESTED]
    skipped = [str(item) for item in every if item.is_skipped]
    assert len(skipped) <= SKIPPED_AT_MOST * len(every), f"marked {{.no-test}}: {', '.join(skipped)}"


def test_every_block_says_what_it_is():
    unnamed = [str(item) for page in pages() for item in blocks_of(page) if not item.language]
    assert not unnamed, f"write ```text where nothing is to be run: {', '.join(unnamed)}"


def test_links_lead_to_files_and_headings():
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in [*pages(), *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))]
        for link in links_of(page)
        if not leads_somewhere(page, link)
    ]
    assert not broken


def test_the_readme_and_the_changelog_count_the_patterns_there_are():
    shipped = [file for file in load_patterns(["*"]) if not file.in_code]
    on = [file for file in shipped if file.status == "stable"]
    unproven = sum(bool(file.words.get("evidence")) for file in on)
    off = len(shipped) - len(on)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"[the {len(shipped)} included]" in text
    assert f"- {off} of {len(shipped)} patterns are experimental and off; {unproven} that are on are" in text
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"- {len(shipped)} patterns are included, {len(on)} of them on by default." in changes


def test_output_is_compared_line_by_line_and_dots_stand_for_any_lines():
    output = "one\ntwo\nthree\n"
    assert is_shown_in(("two", "three"), output)
    assert is_shown_in(("one", "...", "three"), output)
    assert not is_shown_in(("one", "three"), output)
    assert not is_shown_in(("tw",), output)


def test_a_command_carries_its_exit_code_and_what_is_shown_under_it():
    first, second = commands_of("$ ethogram x \\\n    y  # exit 3\nfound\n\n$ ls\n")
    assert (first.line, first.code, first.output) == ("ethogram x y", 3, ("found",))
    assert (second.line, second.code, second.output) == ("ls", 0, ())


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not heading or heading in anchors_of(file))


def run_python(block: Block, names: dict[str, object]) -> None:
    """Run the block in the page's names; a block with prompts must also print what it shows."""
    where = str(block)
    if ">>> " in block.text:
        examples = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
        examples.globs = names  # the parser made a copy
        failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, clear_globs=False)
        assert not failures.failed, where
        return
    # Empty lines in front, so that a traceback names the line of the page.
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    exec(code, names)


def run_first_steps(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run a page as its reader does: what is saved as a file by name, and every command."""
    for block in blocks_of(page):
        if block.is_skipped:
            continue
        save(block, folder)
        if block.language == "python":
            assert block.file, f"{block}: no title says under which name to save it"
            run_shell(Block(page, block.line, "console", f"$ python {block.file}\n"), folder, environment)
        elif block.language in SHELLS:
            run_shell(block, folder, environment)


def save(block: Block, folder: Path) -> None:
    if block.file:
        (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.file).write_text(block.text, encoding="utf-8")


def run_server(block: Block, line: str, folder: Path, environment: dict[str, str]) -> None:
    """Start a server, on a port that is free, wait until it answers, and stop it as Ctrl-C does."""
    where, lines = f"{block}: {line}", queue.Queue[str]()
    program = Path(shutil.which("ethogram", path=environment["PATH"]) or "")
    assert not (program.parent / "socket").exists(), f"{where}: a fork of the warm program hears no Ctrl-C"
    with subprocess.Popen(
        ["bash", "-c", f"exec {line} --port 0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        out = server.stdout
        threading.Thread(target=lambda: list(map(lines.put, out)), daemon=True).start()
        try:
            told = lines.get(timeout=SECONDS)
            assert told.endswith("Ctrl-C stops it\n"), f"{where}\n{told}"
            assert answers(f"{told.split()[2].rstrip(',')}/"), f"{where}: no answer within {SECONDS} seconds"
            server.send_signal(signal.SIGINT)
            assert server.wait(SECONDS) == 130, f"{where}: exit {server.returncode} after Ctrl-C"
        except queue.Empty:
            raise AssertionError(f"{where}: said nothing within {SECONDS} seconds") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)  # and what it started


def answers(address: str) -> bool:
    """Whether a page is there, asked until it is; what the server prints comes before it listens."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(URLError), urlopen(address, timeout=SECONDS) as answer:
            return bool(answer.status == 200)
        time.sleep(0.05)
    return False


def run_shell(block: Block, folder: Path, environment: dict[str, str]) -> None:
    commands = commands_of(block.text)
    assert commands, f"{block}: no line starts with '$ ', so nothing would ever be run"
    for command in commands:
        if command.is_server:
            run_server(block, command.line, folder, environment)
            continue
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        text = f"{block}: {command.line}\n{done.stdout}"
        assert done.returncode == command.code, f"exit {done.returncode}, not {command.code}: {text}"
        assert is_shown_in(command.output, done.stdout), text


def shell_environment(*programs: Path) -> dict[str, str]:
    path = os.pathsep.join(
        [*map(str, programs), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    # From a clone: the benchmarks are not installed.
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": path,
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }


def demo_environment(*programs: Path) -> dict[str, str]:
    """The variables of somebody who follows the README: nothing of the development environment."""
    ours = Path(sys.executable).parent
    path = [name for name in os.environ.get("PATH", "").split(os.pathsep) if Path(name) != ours]
    environment = shell_environment() | {"PATH": os.pathsep.join([*map(str, programs), *path])}
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        environment.pop(name, None)
    return environment
