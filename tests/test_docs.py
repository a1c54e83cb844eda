"""Everything a reader may copy from README.md and docs/ works as it stands."""

from __future__ import annotations

import doctest
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

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


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    with warm_program(shell_environment()) as folder:
        yield folder


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_and_commands_of_a_page_run_from_top_to_bottom(page, warm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The README with the program as it is installed.
    environment = shell_environment(*([] if page.name == "README.md" else [warm]))
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    names: dict[str, object] = {"__name__": "__page__"}
    for block in blocks_of(page):
        if block.is_skipped:
            continue
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
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


def run_shell(block: Block, folder: Path, environment: dict[str, str]) -> None:
    commands = commands_of(block.text)
    assert commands, f"{block}: no line starts with '$ ', so nothing would ever be run"
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
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
