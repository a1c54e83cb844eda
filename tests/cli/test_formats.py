"""Formats for CI: text of the input stays inside its place in each of them, and exit codes stay."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from ruamel.yaml import YAML

from ethogram.cli.main import main
from ethogram.report import ci
from settings_files import trusted_settings
from small import GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = [
    "a\n::error::owned",
    "::set-output name=x::y",
    "##[add-path]/tmp",
    "]]><script>alert(1)</script>",
    "a|b|c",
    "[x](http://evil.example) www.evil.example",
    "<img src=x onerror=y> & `code` *b* @admin $x$",
    "\x1b[2J\x01\x08\r",
    "\u2028\u202e\ufffe",
    "a,b:c%0A%25",
    "| --- |\n# heading",
]
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE)
    write_events(tmp_path / "events.jsonl", warm_messages())
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


@pytest.fixture
def analyze(capsys):
    """The output of `ethogram analyze ...`."""

    def run(*args: str, code: int = 0) -> str:
        assert main(["analyze", *args]) == code
        return capsys.readouterr().out

    return run


def hostile_events(folder: Path) -> list[str]:
    events = [
        {**event, "id": f"{number}-{event['id']}", "subject": name, "target": name}
        for number, name in enumerate(HOSTILE)
        for event in warm_messages()
    ]
    write_events(folder / "hostile.jsonl", events)
    return HOSTILE


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


# --- GitHub ---------------------------------------------------------------------------------


def test_github_gets_one_command_for_each_detection(analyze):
    first, last = analyze("events.jsonl", "--format", "github").splitlines()
    level, properties, text = COMMAND.fullmatch(first).groups()
    assert (level, properties) == ("error", "file=events.jsonl,title=Love bombing%3A ann → bo")
    assert unescaped(text).splitlines()[1:] == [
        "ann was warm to bo 3 times, then pressed (0.80).",
        "What to do: Ask the target whether they felt free to say no.",
    ]
    assert last == "  1 detection (1 high) in 4 events of 1 subject, as of 2026-01-04 12:00 UTC."


def test_a_detection_below_fail_on_is_a_warning(analyze):
    assert analyze("events.jsonl", "--format", "github", "--fail-on", "critical").startswith("::warning ")


def test_github_obeys_no_text_of_the_input(analyze, folder):
    hostile_events(folder)
    lines = analyze("hostile.jsonl", "--format", "github").split("\n")
    commands = [line for line in lines if line.lstrip().startswith("::")]
    assert len(commands) == ci.ANNOTATIONS
    assert all(COMMAND.fullmatch(line) for line in commands)
    assert all(len(COMMAND.fullmatch(line)[2].split(",")) == 2 for line in commands)
    assert not any("##[" in line for line in lines)
    assert len(lines) == len(HOSTILE) + 2  # the headline, and the end of the last line


def test_github_obeys_no_text_of_an_error(analyze, folder, capsys):
    names = ["::error::pwn.jsonl", "a ##[stop-commands]x.jsonl", " ::add-mask::.jsonl"]
    for name in names:
        (folder / name).write_text('{"id": "##[error]"}\n')
        for chosen in (("--format", "github"), ("--format=github=out.txt",)):
            assert main(["analyze", *chosen, name, "--skip-bad"]) in (0, 2)
            assert main(["analyze", *chosen, name]) == 2
            lines = capsys.readouterr().err.splitlines()
            assert lines
            assert not any("##[" in line or line.lstrip().startswith("::") for line in lines)
    assert main(["analyze", "::error::pwn.jsonl"]) == 2
    assert capsys.readouterr().err.startswith("::error::pwn.jsonl:1: ")


def test_what_exceeds_the_limit_of_annotations_is_in_the_log(analyze, folder):
    events = [
        {**event, "subject": f"s{n}", "id": f"{n}{event['id']}"}
        for n in range(12)
        for event in warm_messages()
    ]
    write_events(folder / "many.jsonl", events)
    lines = analyze("many.jsonl", "--format", "github").splitlines()
    assert sum(line.startswith("::error ") for line in lines) == ci.ANNOTATIONS
    assert sum(line.startswith("  HIGH  Love bombing: s") for line in lines) == 2


def test_an_annotation_names_a_file_only_where_there_is_one(analyze, folder):
    write_events(folder / "more.jsonl", turns("cy", [0.9, 0.9], [1, 2]))
    assert "file=" not in analyze("events.jsonl", "more.jsonl", "--format", "github")


# --- JUnit ----------------------------------------------------------------------------------


def test_junit_has_a_case_for_each_detection_and_each_other_pattern(analyze, folder):
    root = ElementTree.fromstring(analyze("events.jsonl", "--format", "junit"))
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    counts = {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert {name: suite.get(name) for name in counts} == counts == {name: root.get(name) for name in counts}
    failed, *others = suite
    assert failed.get("classname") == "ethogram.warm_then_cold"
    assert failed.get("file") == "events.jsonl"
    (failure,) = failed
    assert (failure.tag, failure.get("type")) == ("failure", "high")
    assert failure.get("message") == "high: ann was warm to bo 3 times, then pressed (0.80)."
    assert [case.get("classname") for case in others] == ["ethogram.gone_away", "ethogram.hot_for_long"]
    assert [(case.get("name"), [child.tag for child in case]) for case in others] == [
        ("no detection", []),
        ("not judged", ["skipped"]),
    ]


def test_junit_stays_well_formed_and_one_case_for_each(analyze, folder):
    hostile_events(folder)
    (suite,) = ElementTree.fromstring(analyze("hostile.jsonl", "--format", "junit"))
    assert len(suite.findall("testcase/failure")) == len(HOSTILE)
    assert {element.tag for element in suite.iter()} == {"testsuite", "testcase", "failure", "skipped"}
    names = {case.get("name") for case in suite}
    assert any(name.startswith("Love bombing: ]]><script>alert(1)</script> → ") for name in names)


def test_below_fail_on_a_case_passes_and_quiet_patterns_do_too(analyze, folder):
    write_events(folder / "calm.jsonl", turns("cy", [0.1] * 4, [1, 2, 3, 4]))
    text = analyze("events.jsonl", "calm.jsonl", "--format", "junit", "--fail-on", "critical")
    (suite,) = ElementTree.fromstring(text)
    assert suite.get("failures") == "0"
    assert suite.find("testcase/system-out").text.endswith("then pressed (0.80).")
    assert "no detection" in {case.get("name") for case in suite}


# --- Markdown -------------------------------------------------------------------------------


def test_markdown_is_a_table_of_detections(analyze):
    lines = analyze("events.jsonl", "--format", "markdown").splitlines()
    assert lines[:3] == [
        "## ethogram",
        "",
        "1 detection (1 high) in 4 events of 1 subject, as of 2026-01-04 12:00 UTC.",
    ]
    assert lines[4].count("|") == lines[6].count("|") == 6
    assert lines[6].startswith(
        "| high | Love bombing | ann → bo | 2026-01-01 12:00 – 2026-01-04 12:00 | ann was"
    )


def test_markdown_shows_text_of_the_input_as_it_is(analyze, folder):
    hostile_events(folder)
    text = analyze("hostile.jsonl", "--format", "markdown")
    rows = text.split("\n")[6:-1]
    assert len(rows) == len(HOSTILE)
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 6
        bare = row.replace("@<!-- -->", "")
        assert not re.search(r"[<>]|(?<!\\)[`*\[\]$]|[^\\]://|www\.|@", bare), row


def test_a_long_table_ends_with_a_count(analyze, folder, monkeypatch):
    monkeypatch.setattr(ci, "ROWS", 3)
    hostile_events(folder)
    assert analyze("hostile.jsonl", "--format", "markdown").endswith("\n8 more detections (8 high).\n")


# --- all formats ----------------------------------------------------------------------------


def test_format_json_is_json(analyze):
    assert analyze("events.jsonl", "--format", "json") == analyze("events.jsonl", "--json")


def test_formats_go_to_files_too(analyze, folder):
    args = ("--format", "junit=report.xml", "--format=markdown=summary.md", "--format", "github")
    assert analyze("events.jsonl", *args, "--fail-on", "high", code=3).startswith("::error ")
    assert ElementTree.parse(folder / "report.xml").getroot().get("failures") == "1"
    assert (folder / "summary.md").read_text().startswith("## ethogram\n")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--format", "jnit"), "did you mean 'junit'?"),
        (("--format", "text=a.txt"), "expected a file after"),
        (("--format", "junit="), "expected a file after"),
        (("--json", "--format", "junit"), "json and junit cannot both be printed"),
        (("--format", "junit=events.jsonl"), "is an input"),
    ],
)
def test_bad_formats_are_refused(args, says, capsys):
    assert main(["analyze", "events.jsonl", *args]) == 2
    assert says in capsys.readouterr().err


def test_exit_zero_is_for_detections_and_not_for_errors(analyze, capsys):
    analyze("events.jsonl", "--fail-on", "high", code=3)
    analyze("events.jsonl", "--fail-on", "high", "--exit-zero")
    analyze("missing.jsonl", "--exit-zero", code=2)


@pytest.mark.parametrize("form", ["--json", "--format=json"])
def test_errors_are_json_with_either_spelling(form, capsys):
    assert main(["analyze", "missing.jsonl", form]) == 2
    assert json.loads(capsys.readouterr().err)["record"] == "fault"


def test_a_mute_of_an_untrusted_file_hides_nothing(analyze, folder, monkeypatch):
    entry = "mutes:\n  - {id: m1, pattern: warm_then_cold, reason: known}\n"
    (folder / "ethogram-mutes.yaml").write_text(entry)
    for form in ("github", "junit", "markdown"):
        assert "Love bombing" in analyze("events.jsonl", "--format", form)


# --- SARIF ----------------------------------------------------------------------------------

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "items": {
                                            "required": ["id"],
                                            "properties": {"shortDescription": TEXT},
                                        }
                                    }
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "message": TEXT,
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"pattern": r"^[!-~]+$"}}
                                                    },
                                                    "region": {
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        }
                                                    },
                                                },
                                            }
                                        }
                                    }
                                },
                            },
                        }
                    },
                },
            },
        },
    },
}
"""What the schema of SARIF 2.1.0 requires of what we write."""


def lint(capsys, *args: str, code: int = 0) -> dict:
    assert main(["patterns", "lint", "--format", "sarif", *args]) == code
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, SARIF)
    return log["runs"][0]


def place(result: dict) -> tuple[str, int]:
    location = result["locations"][0]["physicalLocation"]
    return location["artifactLocation"]["uri"], location["region"]["startLine"]


def test_sarif_has_warnings_with_their_places(folder, capsys):
    odd = folder / "patterns" / "ü b"
    write_patterns(odd, HOT.replace("hot_for_long", "level").replace("risk", "is_hot"))
    run = lint(capsys, "patterns", "--strict", code=2)
    assert run["tool"]["driver"]["name"] == "ethogram"
    result = run["results"][0]
    assert (result["ruleId"], result["level"]) == ("pattern-advice", "warning")
    assert result["message"]["text"].startswith("signal 'is_hot' seems to be the pattern already")
    assert place(result) == ("patterns/%C3%BC%20b/level.yaml", 5)


def test_sarif_has_faults_and_exit_code_2(folder, capsys):
    (folder / "patterns" / "gone_away.yaml").write_text(GONE.replace("risk > 0.5", "risk >> 0.5"))
    (result,) = lint(capsys, "patterns", code=2)["results"]
    assert (result["ruleId"], result["level"]) == ("pattern-fault", "error")
    assert place(result)[0] == "patterns/gone_away.yaml"
    assert lint(capsys, "patterns", "--exit-zero")["results"] == [result]


@pytest.mark.parametrize("selector", ["nosuch", "nosuch.yaml", "no/such", "nosuch.py"])
@pytest.mark.parametrize("form", ["sarif", "json", "text"])
def test_exit_zero_is_not_for_selectors_that_name_nothing(capsys, selector, form):
    assert main(["patterns", "lint", selector, "--format", form, "--exit-zero"]) == 2
    said = capsys.readouterr()
    assert "nosuch" in said.out + said.err or "no/such" in said.out + said.err


def test_sarif_without_results_is_a_log_too(capsys):
    assert lint(capsys, "patterns")["results"] == []


def test_lint_formats(folder, capsys):
    assert main(["patterns", "lint", "patterns", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["record"] == "summary"
    assert main(["patterns", "lint", "patterns", "--format", "sarif", "--json"]) == 2
    (folder / "patterns" / "gone_away.yaml").write_text("name: gone_away\n")
    assert main(["patterns", "lint", "patterns", "--exit-zero"]) == 0
    assert "gone_away.yaml" in capsys.readouterr().err


# --- the action and the hooks ---------------------------------------------------------------


def yaml(name: str):
    return YAML(typ="safe", pure=True).load((ROOT / name).read_text(encoding="utf-8"))


def test_scripts_of_the_action_hold_no_expressions():
    steps = yaml("action.yml")["runs"]["steps"]
    assert len(steps) == 2
    assert all("${{" not in step["run"] and step["shell"] == "bash" for step in steps)


def test_the_action_annotates_sums_up_and_fails(folder):
    script = yaml("action.yml")["runs"]["steps"][1]["run"]
    write_events(folder / "a b; touch owned.jsonl", warm_messages())
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "PATHS": "a b; touch owned.jsonl\n",
        "PATTERNS": "patterns/warm_then_cold.yaml\n\npatterns/hot_for_long.yaml",
        "FAIL_ON": "high",
        "JUNIT": "reports/ethogram/report.xml",
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("::error file=a b; touch owned.jsonl,title=Love bombing")
    assert "Love bombing" in (folder / "summary.md").read_text()
    assert ElementTree.parse(folder / "reports/ethogram/report.xml").getroot().get("tests") == "2"
    assert not (folder / "owned.jsonl").exists()


@pytest.mark.parametrize("hook", yaml(".pre-commit-hooks.yaml"), ids=lambda hook: hook["id"])
def test_a_hook_takes_files_and_fails_where_one_is_bad(hook, folder, capsys):
    _, *command = hook["entry"].split()
    files = [str(path.relative_to(folder)) for path in sorted((folder / "patterns").glob("*.yaml"))]
    assert all(re.search(hook["files"], name) for name in files)
    assert main([*command, *files]) == 0
    Path(files[0]).write_text("name: nothing\n")
    assert main([*command, *files]) == 2
