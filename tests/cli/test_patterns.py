"""`ethogram patterns`: each command in words and in JSON, and what makes it fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main
from ethogram.language.program import Program
from ethogram.patterns import library
from pattern_files import BUSY, examples, write
from settings_files import trusted_settings

SETTINGS = """
patterns: [mine]
parameters: {outburst: {jump: 0.7}}
status: {busy: retired}
signals: {noise: number}
"""


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch) -> Path:
    """The folder `mine` below the working directory, beside a library without patterns."""
    (tmp_path / "shipped").mkdir()
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.delenv("ETHOGRAM_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return Path("mine")


@pytest.fixture
def run(capsys):
    """(exit code, lines of output, lines of errors) of `ethogram patterns ...`."""

    def command(*args: str) -> tuple[int, list[str], list[str]]:
        code = main(["patterns", *args])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err.splitlines()

    return command


def records(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def with_parameter(folder: Path) -> Path:
    """The outburst with its threshold as a parameter."""
    steps = [{"calm": "noise < 0.3"}, {"loud": "noise > calm.noise + jump"}]
    return write(folder, shape={"sequence": steps}, parameters={"jump": 0.5})


def wrong(folder: Path) -> Path:
    return write(folder, examples=examples(fires=[{"story": "calm", "noise": [0.1, 0.1], "at": 2}]))


# --- new ------------------------------------------------------------------------------------


def test_new_writes_a_file_that_lints_and_proves(run):
    assert run("new", "pushy") == (0, ["wrote patterns/pushy.yaml"], [])
    assert run("lint", "patterns", "--strict") == (0, ["1 pattern, 0 warnings"], [])
    assert run("test", "patterns") == (0, ["1 pattern, 3 examples, 2 engines: all passed"], [])


def test_new_never_overwrites(run, mine):
    path = write(mine)
    before = path.read_text()
    code, out, err = run("new", "outburst", "--folder", "mine")
    assert (code, out) == (2, [])
    assert err == ["mine/outburst.yaml: already exists: nothing was written"]
    assert path.read_text() == before


def test_new_names_every_file_it_wrote(run):
    code, out, _ = run("new", "pair", "--shape", "all_of", "--folder", "mine", "--json")
    assert code == 0
    assert records(out) == [
        {"record": "written", "pattern": name, "path": f"mine/{name}.yaml"}
        for name in ("pair", "pair_first", "pair_second")
    ]


# --- list and show --------------------------------------------------------------------------


def test_list_shows_every_status_and_marks_what_is_off(run, mine):
    write(mine, status="experimental")
    write(mine, BUSY, status="retired")
    assert run("list", "mine") == (
        0,
        [
            "busy      retired (off)       threshold  low, high  Much at once",
            "outburst  experimental (off)  sequence   low        Calm, then loud",
        ],
        [],
    )


def test_what_no_real_data_supports_is_listed_and_shown_as_unproven(run, mine):
    write(mine, evidence="unproven")
    assert run("list", "mine")[1] == [
        "outburst  stable, unproven  sequence  low  Calm, then loud",
    ]
    assert "status: stable, unproven" in run("show", "mine/outburst.yaml")[1]
    assert [record["evidence"] for record in records(run("list", "mine", "--json")[1])] == ["unproven"]
    write(mine, evidence="unprooven")
    code, _, err = run("lint", "mine")
    assert code == 2
    assert any("unknown evidence 'unprooven': expected unproven" in line for line in err)


def test_list_takes_names_and_globs(run, mine):
    write(mine)
    write(mine, BUSY, status="retired")
    trusted_settings("", "patterns: [mine]")
    assert [line.split()[0] for line in run("list")[1]] == ["busy", "outburst"]
    assert [line.split()[0] for line in run("list", "b*")[1]] == ["busy"]


def test_list_as_json_has_stable_fields(run, mine):
    write(mine)
    code, out, _ = run("list", "mine", "--json")
    assert code == 0
    assert records(out) == [
        {
            "record": "pattern",
            "name": "outburst",
            "status": "stable",
            "on": True,
            "evidence": None,
            "shape": "sequence",
            "severities": ["low"],
            "title": "Calm, then loud",
            "path": "mine/outburst.yaml",
        }
    ]


def test_show_tells_a_person_what_it_means_and_what_it_misses(run, mine):
    write(mine, misses=["Noise at night."], false_positives=["A concert."], triage="Listen.")
    code, out, _ = run("show", "mine/outburst.yaml")
    assert code == 0
    assert out[:2] == ["outburst: Calm, then loud", "A calm event, then a loud one."]
    for line in ("  - Noise at night.", "  - A concert.", "triage: Listen.", "    - calm: noise < 0.3"):
        assert line in out


def test_show_says_where_each_parameter_comes_from(run, mine):
    with_parameter(mine)
    write(mine, BUSY)
    assert "  - jump: 0.5, from the pattern file" in run("show", "mine/outburst.yaml")[1]
    trusted_settings("", SETTINGS)
    out = run("show", "outburst")[1]
    assert "  - jump: 0.7, from ethogram.yaml:3:25 (0.5 in the pattern file)" in out
    assert "status: retired (off), from ethogram.yaml:4:10" in run("show", "busy")[1]


def test_show_as_json_holds_the_compiled_programs(run, mine):
    with_parameter(mine)
    (record,) = records(run("show", "mine/outburst.yaml", "--json")[1])
    (program,) = [Program.from_json(one) for one in record["programs"]]
    assert program.name == "outburst"
    assert record["versions"] == {"outburst": program.version}
    assert record["parameters"] == [{"name": "jump", "value": 0.5, "in_file": 0.5, "from": "pattern file"}]
    assert record["examples"] == {"fires": ["calm, then loud"], "quiet": ["loud all along", "calm all along"]}


def test_show_finds_the_file_of_an_early_telling(run, mine):
    write(mine, tell_at=1)
    trusted_settings("", "patterns: [mine]")
    assert run("show", "outburst@1")[1][0] == "outburst: Calm, then loud"


def test_an_unknown_pattern_is_answered_with_the_nearest(run, mine):
    write(mine)
    trusted_settings("", "patterns: [mine]")
    for command in ("show", "list", "lint", "test"):
        code, out, err = run(command, "outbrust")
        assert (code, out) == (2, [])
        assert err == ["ethogram: no pattern is named 'outbrust'; did you mean 'outburst'?"]


# --- lint -----------------------------------------------------------------------------------


def test_lint_tells_the_faults_of_all_files_at_once(run, mine):
    write(mine, severity="loud")
    write(mine, BUSY, title=None)
    code, out, err = run("lint", "mine")
    assert (code, out) == (2, [])
    assert [line.partition(": ")[0].partition(":")[0] for line in err] == [
        "mine/busy.yaml",
        "mine/outburst.yaml",
    ]


def test_a_warning_fails_only_where_that_is_asked_for(run, mine):
    write(mine, BUSY, shape={"threshold": {"when": "noise > 0"}})
    code, out, err = run("lint", "mine")
    assert (code, err) == (0, [])
    assert out[0].startswith("mine/busy.yaml:5:2: warning: the whole shape is one look at 'noise'")
    assert out[1:] == ["1 pattern, 1 warning"]
    assert run("lint", "mine", "--strict")[0] == 2


def test_lint_as_json_gives_warnings_and_a_summary(run, mine):
    write(mine, BUSY, shape={"threshold": {"when": "noise > 0"}})
    code, out, _ = run("lint", "mine", "--json", "--strict")
    warning, summary = records(out)
    assert code == 2
    assert {"record": "warning", "path": "mine/busy.yaml", "line": 5, "column": 2}.items() <= warning.items()
    assert summary == {"record": "summary", "patterns": 1, "warnings": 1}


def test_lint_of_a_file_that_is_not_there_fails(run):
    code, _, err = run("lint", "mine/none.yaml")
    assert code == 2
    assert err[0].startswith("mine/none.yaml: cannot be read")


# --- test -----------------------------------------------------------------------------------


def test_test_fails_with_the_place_of_every_example_that_fails(run, mine):
    wrong(mine)
    write(mine, BUSY)
    code, out, err = run("test", "mine")
    assert (code, out) == (2, ["2 patterns, 6 examples, 2 engines: 1 failed"])
    (line,) = err
    assert line.startswith("mine/outburst.yaml:")
    assert "outburst: 'calm' should fire at event 2, but it stayed quiet: step 'calm' stood last" in line


def test_prove_as_json_gives_every_proof_and_a_summary(run, mine):
    wrong(mine)
    code, out, _ = run("test", "mine", "--json")
    *proofs, summary = records(out)
    assert code == 2
    assert [proof["ok"] for proof in proofs] == [False, True, True]
    assert list(proofs[0]) == [
        "record", "pattern", "engine", "path", "line", "column", "story", "fires", "ok", "expected", "came",
    ]  # fmt: skip
    assert summary == {"record": "summary", "patterns": 1, "examples": 3, "engines": 2, "failed": 1}


def test_examples_are_proved_with_the_numbers_of_their_file_and_not_of_the_settings(run, mine):
    with_parameter(mine)
    write(mine, BUSY)
    trusted_settings("", SETTINGS.replace("0.7", "5"))
    assert run("test") == (0, ["2 patterns, 6 examples, 2 engines: all passed"], [])


# --- lock -----------------------------------------------------------------------------------


def test_lock_writes_beside_the_patterns_and_check_agrees(run, mine):
    write(mine)
    assert run("lock", "--folder", "mine") == (
        0,
        ["outburst: is new", "mine/patterns.lock.json written: 1 pattern"],
        [],
    )
    assert run("lock", "--folder", "mine", "--check") == (
        0,
        ["mine/patterns.lock.json is current: 1 pattern"],
        [],
    )


def test_check_names_each_change_and_writes_nothing(run, mine):
    write(mine)
    write(mine, BUSY)
    run("lock", "--folder", "mine")
    before = Path("mine/patterns.lock.json").read_text()
    write(mine, title="Other words")
    write(mine, BUSY, shape={"threshold": {"when": "count(noise > 0.5, last=5, at_least=3) >= 3"}})
    code, out, err = run("lock", "--folder", "mine", "--check")
    hint = "if that is meant: ethogram patterns lock --folder mine"
    assert (code, out) == (2, [])
    assert err == [
        f"mine/patterns.lock.json: busy: meaning changed; {hint}",
        f"mine/patterns.lock.json: outburst: only words changed; {hint}",
    ]
    assert Path("mine/patterns.lock.json").read_text() == before


def test_lock_as_json_lists_the_changes(run, mine):
    write(mine)
    expected = {
        "record": "lock",
        "path": "mine/patterns.lock.json",
        "patterns": 1,
        "changes": [{"pattern": "outburst", "change": "is new"}],
    }
    for more, exit_code in ((["--check"], 2), ([], 0)):
        code, out, _ = run("lock", "--folder", "mine", "--json", *more)
        assert (code, records(out)) == (exit_code, [expected])


def test_without_a_folder_the_library_is_locked_whatever_the_settings_say(run, mine):
    write(mine, BUSY)
    with_parameter(library.SHIPPED)
    run("lock")
    trusted_settings("", SETTINGS)
    assert run("lock", "--check")[0] == 0
    assert list(json.loads((library.SHIPPED / "patterns.lock.json").read_text())["patterns"]) == ["outburst"]


# --- the group ------------------------------------------------------------------------------


def test_no_command_shows_the_help_as_a_mistake(run):
    code, _, err = run()
    assert code == 2
    assert err[0].startswith("Usage: ethogram patterns")


def test_what_a_file_says_cannot_control_the_terminal(run, mine):
    write(mine, title="Calm\x1b[2J")
    for command in (["list", "mine"], ["show", "mine/outburst.yaml"]):
        assert "\x1b" not in "\n".join(run(*command)[1])
