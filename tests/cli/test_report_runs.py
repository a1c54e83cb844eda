"""`ethogram analyze` on runs of agents: sentences for a few, a table for many, records in JSON, a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from agent_runs import SAME_ERROR, Maker, four_failing_edits
from ethogram.cli.main import main
from ethogram.schemas import schema
from settings_files import trusted_settings
from small import write_events, write_patterns

SECRET = "sk-proj-4fT9aQ2LxW8zR7KdLm3Np6Qs"


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    """A folder with patterns of our own alone."""
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", SAME_ERROR)
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


@pytest.fixture
def said(folder, capsys):
    """What is printed about these lines."""

    def run(lines, *args: str) -> str:
        write_events(folder / "events.jsonl", lines)
        assert main(["analyze", "events.jsonl", *args]) == 0
        return capsys.readouterr().out

    return run


def section(text: str) -> str:
    """What is told of runs, up to the count of detections."""
    return re.split(r"\n\n(?=\d+ detections? )", text)[0]


def failing(thread: str, times: int, **how) -> list[dict]:
    one = Maker(thread, **how)
    for _ in range(times):
        one.did("bash", command="make", error="no rule")
    return one.lines


def test_one_run_is_told_with_its_steps_and_lanes(said):
    told = section(said(four_failing_edits()))
    failed = "failed 4 times with the same error (string not found)"
    spent = "4 of 9 steps, 400 tokens, 1 min 10 s, $1.00"
    lines = told.splitlines()
    assert lines[:7] == [
        "1 run, 1 stuck: 4 of 9 steps and 400 tokens lost.",
        "",
        "run-1 (fixer): 9 steps, 4 errors, 1 file changed, 900 tokens, 3 min, $1.00",
        "  Task: Mend the parser.",
        "  Lost: 4 of 9 steps (44%), 400 tokens",
        "  HIGH  The same error again",
        lines[6],
    ]
    assert lines[7:14] == [
        f"    Steps 3 to 6 ({spent}): `edit src/parse.py` {failed}.",
        "    Detectable from step 5. Progress resumed at step 7.",
        *(f"    step {n}  `edit src/parse.py` → string not found" for n in (3, 4, 5, 6)),
        "    What to do: Try something else.",
    ]
    assert lines[15:] == [
        "  Paths of fixer under src (one mark per step: r read, w changed, x failed, . other)",
        "    r-xxxxrw-  parse.py",
        "    -r-------  lex.py",
        "    --------.  (no path)",
        "      ^^^^     detected",
    ]


def test_runs_come_first_then_the_count_of_detections_then_what_was_quiet(said):
    told = said([*four_failing_edits(), *failing("untouched", 1)], "--patterns", "same_error")
    assert told.startswith("2 runs, 1 stuck: ")
    assert told.index("confidence") < told.index("1 detection (")


def test_what_was_tried_is_told(said):
    one = Maker()
    for look in ("a.py", "b.py", "c.py"):
        one.did("bash", command="make", error="no rule")
        one.did("read", path=look, new=False)
    told = said(one.lines)
    assert "  Tried in between: `read a.py`, `read b.py`\n" in told
    assert "It stopped at step 6, without progress." in told


def test_untimed_runs_have_no_times(said):
    told = said(failing("run-1", 3, timed=False))
    assert "run-1 (fixer): 3 steps, 3 errors, 300 tokens\n" in told
    assert (
        "Steps 1 to 3 (3 of 3 steps, 300 tokens): `bash make` failed 3 times with the same error (no rule)."
        in told
    )
    assert "It lasted until the run ended." in told
    assert "1970" not in told


def test_a_sub_agent_is_named_with_who_started_it(said):
    main_one = Maker(subject="agent")
    main_one.did("read", path="a.py")
    lines = main_one.lines + failing("run-1", 3, subject="agent/s1", parent="agent")
    told = said(lines)
    assert "run-1 (agent, agent/s1 (started by agent)): 4 steps" in section(told)
    assert "The same error again\n    agent/s1 (thread run-1) " in told


def test_a_card_about_paths_names_them(tmp_path, capsys):
    for run in range(4):
        one = Maker(f"run-{run}")
        for name in ("src/a.py", "src/b.py", "src/c.py", "src/d.py", "src/.env"):
            one.did("edit", path=name)
        (tmp_path / f"{run}.jsonl").write_text("\n".join(map(json.dumps, one.lines)), encoding="utf-8")
    assert main(["analyze", str(tmp_path), "--patterns", "scope_creep"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [first, *_] = [place for place, line in enumerate(lines) if "CRITICAL  Scope creep" in line]
    assert "src/.env" in lines[first + 1]
    assert "Detectable from step 5" in "".join(lines[first + 2 : first + 4])


def test_of_many_runs_the_worst_have_cards_and_the_others_a_row(said):
    lines = [line for k in range(30) for line in failing(f"run-{k:02d}", 4 if k == 17 else k % 4)]
    rows = section(said(lines)).splitlines()
    assert rows[0] == "22 runs, 8 stuck: 25 of 46 steps and 2,500 tokens lost."
    spent = "4 of 4 steps, 400 tokens, 1 min 10 s"
    failed = "`bash make` failed 4 times with the same error"
    assert rows[2:5] == [
        "run-17 (fixer): 4 steps, 4 errors, 400 tokens, 1 min 10 s",
        f"  HIGH  The same error again. Steps 1 to 4 ({spent}): {failed} (no rule).",
        "  Detectable from step 3. It lasted until the run ended.",
    ]
    assert rows[6].startswith("run-03")
    table = rows[-4:]
    assert table[0].split() == ["run", "agent", "steps", "errors", "worst", "repeated", "steps", "detections"]
    assert [re.split(r"  +", row)[0] for row in table[1:]] == ["run-19", "run-23", "run-27"]


def test_quiet_runs_take_one_line(said):
    told = said([*failing("a", 1), *failing("b", 2)])
    assert told.startswith("2 runs (3 steps, 3 errors).\n")


def test_an_error_and_the_loop_around_it_are_one_cause(said, folder):
    stuck = SAME_ERROR.replace("group_by:", "cause: stuck\ngroup_by:")
    again = stuck.replace("same_error", "again").replace("The same error again", "Again and again")
    write_patterns(Path("patterns"), stuck, again)
    trusted_settings(Path.cwd(), "patterns: [patterns]\n")
    told = said([line for thread in ("a", "b") for line in failing(thread, 3)])
    assert told.count("failed 3 times with the same error") == 2
    assert "Again and again (also The same error again)" in told


def test_where_nobody_acts_nothing_is_said_of_runs(said):
    talk = Maker()
    talk.says("Hello.")
    assert "Runs" not in said(talk.lines)


def test_json_has_a_record_for_each_run_with_detections(said):
    told = said([*four_failing_edits(), *failing("quiet", 1)], "--json")
    found = [json.loads(line) for line in told.splitlines()]
    kinds = [one["record"] for one in found]
    assert [one for one in kinds if one != "insufficient"] == ["detection", "run", "summary"]
    run = found[1]
    assert (run["thread"], run["steps"], run["lost_steps"], run["lost_share"]) == ("run-1", 9, 4, 0.4444)
    assert run["episodes"][0]["detection"] == found[0]["id"]
    assert not list(Draft202012Validator(schema("run")).iter_errors(run))


def test_what_is_muted_is_no_episode_unless_asked_for(said, folder, capsys):
    lines = failing("run-1", 3)
    write_events(folder / "events.jsonl", lines)
    args = ["mute", "add", "--pattern", "same_error", "--reason", "known", "--for", "30d"]
    assert main(args) == 0
    capsys.readouterr()
    assert "1 run (3 steps" in said(lines)
    assert "Steps 1 to 3" in said(lines, "--muted")


def test_a_page_has_a_chart_for_each_run_and_the_sentence_of_the_command_line(said, folder):
    # Five sessions of one agent at the same time, two of which fail three and four times.
    times = {"a": 0, "b": 3, "c": 0, "d": 4, "e": 0}
    makers = {name: Maker(f"session-{name}") for name in times}
    for name, one in makers.items():
        for _ in range(6 - times[name]):
            one.did("read", path=f"src/{name}.py")
        for _ in range(times[name]):
            one.did("bash", command=f"make {name}", error=f"no rule {name}")
    told = said([line for one in makers.values() for line in one.lines], "--html", "page.html")
    sentence = "5 runs, 2 stuck: 7 of 30 steps and 700 tokens lost."
    assert told.startswith(sentence)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert f"<h1>{sentence}</h1>" in page
    assert "2 detections in 60 events of 1 subject" in page
    cards = page.partition("</form>")[2].split('class="subject"')[1:]
    assert [re.findall(r"<bdi>(.*?)</bdi>", card)[0] for card in cards] == [
        "fixer (thread session-d)",
        "fixer (thread session-b)",
    ]
    for card, failures in zip(cards, (4, 3), strict=True):
        drawn = card.partition("</section>")[0]
        assert drawn.count('aria-label="12 events"') == 1
        assert drawn.count('class="point"') == failures


@pytest.mark.parametrize("how", [(), ("--json",), ("--html", "page.html")])
def test_no_text_of_a_run_is_obeyed_or_tells_a_secret(said, folder, how):
    hostile = f"\x1b[2J\x1b]0;x\x07\r\n<script>alert(1)</script> {SECRET} [bold]"
    one = Maker(f"run {hostile[:30]}")
    one.says(hostile)
    for _ in range(3):
        one.did(hostile, command=hostile, path=f"src/{hostile}", error=hostile)
        one.did("read", path=f"/home/{hostile}", new=False)
    for line in one.lines:
        line.get("readings", {}).pop("error_key", None)
    told = said(one.lines, *how)
    assert "\x1b" not in told
    assert SECRET not in told
    if "--html" in how:
        page = (folder / "page.html").read_text(encoding="utf-8")
        assert SECRET not in page
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert "style=" not in page
    elif not how:
        assert "failed 3 times with the same error" in told
        assert "[bold]" in told


def test_on_disk_the_output_is_the_same(folder, capsys, monkeypatch):
    lines = [line for k in range(6) for line in failing(f"run-{k}", k)] + four_failing_edits("four")
    write_events(folder / "events.jsonl", lines)
    told = []
    for memory in ("", "1000"):
        monkeypatch.setenv("ETHOGRAM_MEMORY", memory) if memory else None
        for how in ((), ("--json",)):
            assert main(["analyze", "events.jsonl", *how]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert '"record": "run"' in told[0]
