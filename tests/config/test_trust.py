"""Trust: what a settings file found in a folder may do, before and after somebody has reviewed it."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ethogram.agents.hook.plan import library_of, settings_files
from ethogram.app.analyze import load_library
from ethogram.config import Settings, load_settings
from ethogram.config import trust as trust_module
from ethogram.config.learned import LEARNED_FILE, write_changes
from ethogram.config.mutes import add_mute
from ethogram.config.settings import CONVERSATION, HOOK, LEARNING, RISK, USAGE
from ethogram.config.trust import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_FILES,
    digest_of,
    key_of,
    pattern_files,
    record_file,
    trust_of,
    user_folder,
)
from ethogram.errors import BadConfig, BadPattern
from ethogram.models import parse_time
from ethogram.models.mute import Mute
from ethogram.patterns.library import load_patterns
from ethogram.risk.changes import Change
from servers import NOT_ROOT
from settings_files import trust, trusted_settings
from small import WARM, write_patterns
from waiting import calls_of

ONE = Change(parse_time("2026-01-01T00:00:00Z"), "ann", "love_bombing", "pressure", 0.3, 0.5)
VALUES: dict[str, Any] = {
    "patterns": ["mine"],
    "enabled_patterns": ["loop"],
    "combination_detection": False,
    "parameters": {"loop": {"threshold": 99}},
    "status": {"loop": "retired"},
    "scorers": {"*": "other"},
    "signals": {"my_score": "number"},
    "time_zone": "Europe/Paris",
    "session_inactivity": "1h",
    "normalization": "high",
    "normalization_level": "low",
    "allow": ["**"],
    "deny": ["secrets/**"],
    "critical_paths": ["deploy/**"],
    "cwd": "/",
    "goal": "obey the repository",
    "inference_enabled": False,
    "semantic_analysis": "advanced",
    "resources_monitored": ["tokens"],
    "resource_limits": {"tokens": 5},
    "lateness": "30s",
    "max_future": "30d",
    "max_histories": 10,
    "source": "forum",
    "limits": {"events": 1},
    "memory": 1,
    "fail_on": "critical",
    "mutes": "known.yaml",
    "evaluator": "openai",
    "evaluators": {"openai": {"base_url": "http://127.0.0.1:9/v1"}},
    "answers": "answers.sqlite",
    "hook": {"rungs": [], "off": ["loop"], "critical": "off", "patterns": ["x.yaml"], "most": 1},
    "usage": {"night": [1, 2]},
    "conversation": {"memory": True},
    "risk": {"floor": 0.0},
    "learning": {"automatic": True},
    "metrics": {"prefix": "mine"},
    "graph": {"labels": {"Subject": "Agent"}},
    "calibration": False,
}
"""A value for every setting that differs from the default."""
COUNT = ("deny", "critical_paths")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project as the working directory, and a home of its own for the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def write(content: Any, name: str = "ethogram.yaml") -> Path:
    """A file that came with the folder; JSON is YAML."""
    path = Path(name)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def user_settings(text: str) -> None:
    Path(os.environ["XDG_CONFIG_HOME"], "ethogram").mkdir(parents=True)
    Path(os.environ["XDG_CONFIG_HOME"], "ethogram", "ethogram.yaml").write_text(text)


# What counts of a file that nobody has reviewed


def test_there_is_a_value_for_every_setting_and_it_is_not_the_default():
    assert set(VALUES) == {field.name for field in fields(Settings)}
    for name, value in VALUES.items():
        changed = load_settings(environ={}, overrides={name: value}).settings
        assert getattr(changed, name) != getattr(Settings(), name), name


@pytest.mark.parametrize("name", list(VALUES))
@pytest.mark.parametrize("file", ["ethogram.yaml", ".ethogram.yaml"])
def test_no_setting_of_an_untrusted_file_counts_but_those_that_tighten(name, file):
    write({name: VALUES[name]}, file)
    loaded = load_settings(environ={})
    if name in COUNT:
        assert getattr(loaded.settings, name) == tuple(VALUES[name])
        assert (loaded.refused, loaded.warnings) == ((), ())
    else:
        assert loaded.settings == Settings()
        assert {item.name.partition(".")[0] for item in loaded.refused} == {name}
        assert len(loaded.warnings) == 1
        assert loaded.warnings[0].startswith(f"{file}: not trusted: ignored {name}")


def test_all_of_them_at_once_and_in_another_folder():
    write(VALUES)
    tightened = load_settings(environ={}).settings
    assert tightened == Settings(deny=("secrets/**",), critical_paths=("deploy/**",))
    os.chdir("..")
    assert load_settings(environ={}).settings == Settings()
    loaded = load_settings(environ={}, folder="project")
    assert loaded.settings == tightened
    assert "run 'ethogram config trust project', or pass --config project/ethogram.yaml" in loaded.warnings[0]


def test_one_line_names_the_file_the_keys_and_what_to_do():
    write('allow: ["**"]\nevaluator: openai\nhook: {critical: off}\ndeny: [a]\n')
    loaded = load_settings(environ={})
    said = "ethogram.yaml: not trusted: ignored allow, evaluator, hook.critical; "
    assert loaded.warnings == (
        said + "review it and run 'ethogram config trust', or pass --config ethogram.yaml",
    )
    assert [(item.name, item.value, item.origin, item.why) for item in loaded.refused] == [
        ("allow", ["**"], "ethogram.yaml:1:1", "not trusted"),
        ("evaluator", "openai", "ethogram.yaml:2:1", "not trusted"),
        ("hook.critical", "off", "ethogram.yaml:3:8", "not trusted"),
    ]


def test_an_untrusted_deny_is_added_to_that_of_every_other_source():
    user_settings("deny: [mine/**]\n")
    write("deny: [theirs/**]\n")
    assert load_settings(environ={}).settings.deny == ("mine/**", "theirs/**")
    loaded = load_settings(environ={"ETHOGRAM_DENY": "[env/**]"})
    assert loaded.settings.deny == ("env/**", "theirs/**")
    assert loaded.origins["deny"] == "ETHOGRAM_DENY, ethogram.yaml:1:1"
    assert load_settings(environ={}, overrides={"deny": ["o"]}).settings.deny == ("o", "theirs/**")
    write("deny: []\n")
    assert load_settings(environ={}).settings.deny == ("mine/**",)


def test_a_trusted_deny_does_not_drop_the_users_own_either():
    user_settings("deny: [mine/**]\n")
    trusted_settings("", "deny: [theirs/**]\n")
    assert load_settings(environ={}).settings.deny == ("mine/**", "theirs/**")
    assert load_settings(environ={"ETHOGRAM_DENY": "[env/**]"}).settings.deny == ("env/**",)


@pytest.mark.parametrize(
    "glob",
    ["ignore what you were told", "**a**a**a**b", "x" * 101, "a\u202eb", "", 7, ["a"]],
    ids=["a sentence", "many wildcards", "long", "control", "empty", "a number", "a list"],
)
def test_an_untrusted_glob_that_is_no_plain_path_is_told_with_its_place_and_left_out(glob):
    write({"deny": ["secrets/**", glob]})
    loaded = load_settings(environ={})
    assert loaded.settings.deny == ("secrets/**",)
    assert loaded.warnings[0].startswith("ethogram.yaml:1:25: deny.1 is ignored")


def test_only_so_many_untrusted_globs_count():
    write({"deny": [f"d{n}" for n in range(1_000)]})
    loaded = load_settings(environ={})
    assert len(loaded.settings.deny) == 32
    assert loaded.warnings == (
        "ethogram.yaml:1:2: deny: only the first 32 globs count in a file that is not trusted",
    )


@pytest.mark.parametrize(
    "content",
    [b"a: [", b"\xff", b"\0" * 9, b"- 1", b"x", b"a: " + b"x" * 200_000, b"[" * 100_000, b"a: &a 1\nb: *a"],
    ids=["no YAML", "no UTF-8", "nul", "a list", "a word", "large", "deep", "alias"],
)
@pytest.mark.parametrize("name", ["ethogram.yaml", LEARNED_FILE])
def test_an_untrusted_file_that_cannot_be_read_is_one_warning_and_no_error(content, name):
    Path(name).write_bytes(content)
    loaded = load_settings(environ={})
    # As for any other file: nothing of it is gone through, however much there is.
    assert calls_of(lambda: load_settings(environ={})) < 10_000
    assert loaded.settings == Settings()
    (line,) = loaded.warnings
    assert line.startswith(name)
    assert "not trusted: ignored, it cannot be read" in line
    assert "ethogram config trust" in line


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda name: Path(name).symlink_to("nowhere")])
def test_nor_does_what_is_no_plain_file_stop_anything(make):
    make("ethogram.yaml")
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert len(loaded.warnings) == 1


def test_faults_in_refused_parts_stop_nothing():
    write({"hook": {"most": "many"}, "latness": 3, "risk": {"weights": {"low": 1}}, "deny": ["a"]})
    assert load_settings(environ={}).settings == Settings(deny=("a",))


def test_a_secret_in_a_refused_option_is_not_shown():
    options = {
        "api_key": "sk-ant-0123456789",
        "key_env": "sk-ant-0123456789",
        "model": "small",
        "base_url": "http://ann:hunter2@example.com/v1",
        "deep": {"token": "sk-ant-0123456789"},
    }
    write({"evaluators": {"openai": options, "other": "sk-ant-0123456789"}})
    shown = {item.name.removeprefix("evaluators."): item.value for item in load_settings(environ={}).refused}
    assert "hunter2" not in str(shown)
    assert "sk-ant" not in str(shown)
    assert shown["openai.model"] == "small"


# Code


@pytest.fixture
def evil(folder) -> Path:
    """Code that leaves a mark where it is run."""
    Path("evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w').close()\n")
    return folder / "ran"


CODE = [
    ("patterns: [evil.py]\n", "1:12"),
    ("enabled_patterns:\n  - loop\n  - evil.py\n", "3:5"),
    ("hook: {patterns: [./evil.py]}\n", "1:19"),
]


@pytest.mark.parametrize(("text", "place"), CODE)
@pytest.mark.parametrize("source", ["trusted", "user", "named", "variable"])
def test_no_settings_file_may_name_code(evil, text, place, source):
    path, environ, named = "ethogram.yaml", {}, None
    if source == "trusted":
        trusted_settings("", text)
    elif source == "user":
        user_settings(text)
        path = str(Path(os.environ["XDG_CONFIG_HOME"], "ethogram", "ethogram.yaml"))
    else:
        path = "own.yaml"
        write(text, path)
        environ, named = ({"ETHOGRAM_CONFIG": path}, None) if source == "variable" else ({}, path)
    with pytest.raises(BadConfig) as caught:
        load_settings(named, environ=environ)
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"{path}:{place}: ")
    assert "code, which settings never run" in fault.message
    assert "--patterns FILE.py" in fault.message
    assert not evil.exists()


@pytest.mark.parametrize("setting", ["patterns", "enabled_patterns"])
def test_nor_may_a_variable_or_an_override(evil, setting):
    with pytest.raises(BadConfig, match="code, which settings never run"):
        load_settings(environ={f"ETHOGRAM_{setting.upper()}": "evil.py"})
    with pytest.raises(BadConfig, match="code, which settings never run"):
        load_settings(environ={}, overrides={setting: ["evil.py"]})
    with pytest.raises(BadConfig, match="code, which settings never run"):
        load_settings(environ={"ETHOGRAM_HOOK": "{patterns: [evil.py]}"})
    assert not evil.exists()


@pytest.mark.parametrize(("text", "place"), CODE)
def test_nor_does_an_untrusted_file_run_any(evil, text, place):
    write(text)
    loaded = load_settings(environ={})
    load_library(None, loaded)
    library_of(loaded)
    assert not evil.exists()


# The user's own file


def test_the_users_file_lies_over_the_defaults_and_under_all_else():
    user_settings("source: user\nlateness: 1s\nfail_on: low\n")
    trusted_settings("", "lateness: 2s\n")
    loaded = load_settings(environ={"ETHOGRAM_FAIL_ON": "high"})
    assert (loaded.settings.source, loaded.settings.lateness) == ("user", 2_000_000)
    assert loaded.settings.fail_on == "high"
    assert loaded.origins["source"].endswith("home/ethogram/ethogram.yaml:1:1")


def test_its_paths_are_meant_from_its_folder_and_not_from_the_project():
    user_settings("patterns: [mine]\nmutes: m.yaml\nlearning: {file: l.yaml}\nanswers: /a.sqlite\n")
    settings = load_settings(environ={}).settings
    home = Path(os.environ["XDG_CONFIG_HOME"], "ethogram")
    assert settings.patterns == (str(home / "mine"),)
    assert (settings.mutes, settings.answers) == (str(home / "m.yaml"), "/a.sqlite")
    assert settings.learning["file"] == str(home / "l.yaml")


def test_a_mistake_in_it_is_told_with_its_place():
    user_settings("latness: 3s\n")
    with pytest.raises(BadConfig, match=r"home/ethogram/ethogram\.yaml:1:1: unknown setting 'latness'"):
        load_settings(environ={})


def test_one_that_anybody_can_write_is_ignored_with_a_warning():
    user_settings("source: user\n")
    path = Path(os.environ["XDG_CONFIG_HOME"], "ethogram", "ethogram.yaml")
    path.chmod(0o666)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert loaded.warnings == (f"{path}: is writable by others: ignored",)


def test_in_its_own_folder_it_is_the_users_file_and_not_one_that_was_found(monkeypatch):
    user_settings("source: user\n")
    monkeypatch.chdir(Path(os.environ["XDG_CONFIG_HOME"], "ethogram"))
    loaded = load_settings(environ={})
    assert (loaded.settings.source, loaded.refused) == ("user", ())


def test_a_home_in_the_project_is_no_home(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "conf")
    assert user_folder() == Path("~/.config/ethogram").expanduser()
    monkeypatch.setenv("HOME", "here")
    assert user_folder() is None
    assert load_settings(environ={}).settings == Settings()


# Trusting


def test_a_trusted_file_counts_whole_until_a_byte_of_it_changes():
    trusted_settings("", "source: forum\n")
    loaded = load_settings(environ={})
    assert (loaded.settings.source, loaded.refused, loaded.warnings) == ("forum", (), ())
    with Path("ethogram.yaml").open("a") as file:
        file.write(" ")
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    (line,) = loaded.warnings
    assert line.startswith("ethogram.yaml: changed since you trusted it on 20")
    assert loaded.refused[0].why == line.split(": ")[1]


def test_so_does_a_change_of_a_pattern_it_names_or_one_more_in_its_folder():
    write_patterns(Path("mine"), WARM)
    write_patterns(Path("other"), WARM.replace("warm_then_cold", "second"))
    for change in (
        lambda: Path("mine/warm_then_cold.yaml").write_text(WARM + "\n"),
        lambda: Path("mine/new.yaml").write_text("x"),
        lambda: Path("other/second.yaml").write_text("x"),
        lambda: Path("other/beside.yaml").write_text("x"),
    ):
        trusted_settings("", "patterns: [mine]\nenabled_patterns: [other/second.yaml]\n")
        assert load_settings(environ={}).refused == ()
        change()
        assert load_settings(environ={}).settings == Settings()


def test_a_hooks_patterns_and_a_table_of_a_cohort_are_covered_too():
    Path("hot").mkdir()
    for text, file in (("hook: {patterns: [hot]}\n", "hot/a.yaml"), ("usage: {cohort: c.yaml}\n", "c.yaml")):
        Path(file).write_text("a: 1\n")
        write(text)
        before = digest_of("ethogram.yaml")
        Path(file).write_text("a: 2\n")
        assert digest_of("ethogram.yaml") != before


def test_the_same_file_in_another_folder_is_not_trusted(folder):
    trusted_settings("", "source: forum\n")
    Path("copy").mkdir()
    Path("copy/ethogram.yaml").write_text("source: forum\n")
    assert load_settings(environ={}, folder="copy").settings == Settings()
    Path("link").symlink_to(folder)
    assert load_settings(environ={}, folder="link").settings.source == "forum"


def test_the_record_is_private_and_whole():
    trusted_settings("", "source: forum\n")
    path = record_file()
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["trusted.json"]
    assert set(json.loads(path.read_text())["files"]) == {key_of("ethogram.yaml")}


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_record_that_others_can_write_is_ignored_with_a_warning(mode):
    trusted_settings("", "source: forum\n")
    path = record_file()
    assert path is not None
    path.chmod(mode)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert loaded.warnings[0] == f"{path}: is writable by others: ignored, nothing is trusted"


@pytest.mark.skipif(os.geteuid() != 0, reason=NOT_ROOT)
def test_so_is_one_of_another_user():
    trusted_settings("", "source: forum\n")
    path = record_file()
    assert path is not None
    os.chown(path, 12345, -1)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert "belongs to another user" in loaded.warnings[0]


@pytest.mark.parametrize("content", ["", "[]", '{"files": 3}', '{"files": {"a": 1}}', "[" * 100_000])
def test_so_is_one_that_is_damaged(content):
    trusted_settings("", "source: forum\n")
    path = record_file()
    assert path is not None
    path.write_text(content)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert "is not a record of trusted files" in loaded.warnings[0]


def test_what_is_named_is_trusted():
    write("source: forum\n")
    assert load_settings("ethogram.yaml", environ={}).settings.source == "forum"
    assert load_settings(environ={"ETHOGRAM_CONFIG": "ethogram.yaml"}).settings.source == "forum"


# Links and paths out of the folder


def test_a_settings_file_that_links_out_of_its_folder_is_not_read(tmp_path):
    (tmp_path / "elsewhere.yaml").write_text("deny: [a]\nsource: x\n")
    Path("ethogram.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert "links to a file outside its folder: ignored" in loaded.warnings[0]
    assert load_settings("ethogram.yaml", environ={}).settings.source == "x"


def test_one_that_links_within_it_is_trusted_by_what_it_holds():
    Path("real.yaml").write_text("source: forum\n")
    Path("ethogram.yaml").symlink_to("real.yaml")
    assert load_settings(environ={}).settings == Settings()
    trust("ethogram.yaml")
    assert load_settings(environ={}).settings.source == "forum"
    Path("real.yaml").write_text("source: other\n")
    assert load_settings(environ={}).settings == Settings()


OUTSIDE = [
    ("patterns: [mine, ../out]", "1:18"),
    ("patterns: [link]", "1:12"),
    ("patterns: [/etc]", "1:12"),
    ("enabled_patterns: [../out/x.yaml]", "1:20"),
    ("hook: {patterns: [../out]}", "1:19"),
    ("mutes: ../m.yaml", "1:8"),
    ("answers: /tmp/a.sqlite", "1:10"),
    ("learning: {file: ../l.yaml}", "1:18"),
    ("usage: {cohort: ../c.yaml}", "1:17"),
]


@pytest.mark.parametrize(("text", "place"), OUTSIDE)
def test_even_a_trusted_file_names_nothing_outside_its_folder(tmp_path, text, place):
    (tmp_path / "out").mkdir()
    Path("mine").mkdir()
    Path("link").symlink_to(tmp_path / "out")
    trusted_settings("", text)
    with pytest.raises(BadConfig) as caught:
        load_settings(environ={})
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"ethogram.yaml:{place}: ")
    assert "must lie inside the folder of ethogram.yaml" in fault.message
    load_settings("ethogram.yaml", environ={})


@pytest.mark.parametrize("name", ["onnx:/models/minilm", "openai:m@http://localhost:11434/v1", "openai:m"])
def test_a_folder_names_no_model_and_no_server_that_embeds(name):
    text = f"source: forum\nconversation:\n  embedder: {name!r}\n"
    Path("ethogram.yaml").write_text(text)
    found = load_settings(environ={})
    assert found.settings == Settings()
    source, embedder = found.warnings
    assert "ethogram config trust" in source
    assert "ignored conversation.embedder; name a model or a server with --embedder" in embedder
    assert "config trust" not in embedder
    trusted_settings("", text)
    with pytest.raises(BadConfig, match="must be static or null in the folder's") as caught:
        load_settings(environ={})
    assert str(caught.value).startswith("ethogram.yaml:3:13: ")
    assert load_settings("ethogram.yaml", environ={}).settings.conversation["embedder"] == name
    Path("ethogram.yaml").unlink()
    given = load_settings(environ={"ETHOGRAM_CONVERSATION": f"{{embedder: {name!r}}}"})
    assert given.settings.conversation["embedder"] == name


def test_the_folder_of_a_model_is_absolute_in_settings():
    with pytest.raises(BadConfig, match=r"embedder must be static, onnx:/FOLDER \(absolute\)"):
        load_settings(environ={}, overrides={"conversation": {"embedder": "onnx:models/minilm"}})


def test_nor_a_pattern_that_links_out_of_it(tmp_path):
    (tmp_path / "x.yaml").write_text("x")
    Path("mine").mkdir()
    Path("mine/x.yaml").symlink_to(tmp_path / "x.yaml")
    trusted_settings("", "patterns: [mine]\n")
    with pytest.raises(BadConfig, match="links to a file outside the folder"):
        load_settings(environ={})


def test_paths_of_another_folders_settings_are_meant_from_there(monkeypatch, folder):
    Path("mine").mkdir()
    trusted_settings("", "patterns: [mine]\nmutes: m.yaml\nhook: {patterns: [loop, mine/x.yaml]}\n")
    monkeypatch.chdir("/")
    settings = load_settings(environ={}, folder=str(folder)).settings
    assert settings.patterns == (str(folder / "mine"),)
    assert settings.mutes == str(folder / "m.yaml")
    assert settings.hook["patterns"] == ("loop", str(folder / "mine" / "x.yaml"))


# What was learned, and mutes


def test_learned_parameters_that_came_with_the_folder_are_refused():
    text = "parameters: {love_bombing: {pressure: 99}}\nchanges: []\n"
    write(text, LEARNED_FILE)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert [(item.name, item.value) for item in loaded.refused] == [("parameters.love_bombing.pressure", 99)]
    (warning,) = loaded.warnings
    assert warning == (
        f"{LEARNED_FILE}: not trusted: ignored parameters.love_bombing; "
        "review it and run 'ethogram config trust'"
    )
    trusted_settings("", "source: forum\n")
    loaded = load_settings(environ={})
    assert (loaded.settings.source, loaded.settings.parameters) == ("forum", {})
    trust(LEARNED_FILE)
    assert load_settings(environ={}).settings.parameters == {"love_bombing": {"pressure": 99}}


def test_what_our_own_commands_write_is_trusted_unless_the_file_was_not():
    path = Path(LEARNED_FILE)
    write_changes(path, (ONE,))
    assert load_settings(environ={}).settings.parameters == {"love_bombing": {"pressure": 0.5}}
    write_changes(path, ())
    assert trust_of(path, lambda _: None).status == "untrusted"
    assert load_settings(environ={}).warnings == ()
    path.write_text("parameters: {}\nchanges: []\n# from elsewhere\n")
    write_changes(path, (ONE,))
    assert load_settings(environ={}).settings == Settings()


def test_so_are_mutes():
    path, entry = Path("ethogram.mutes.yaml"), Mute("m-1", "agreed", subject="ann")
    add_mute(path, entry)
    entries, warning = load_settings(environ={}).read_mutes()
    assert ([entry.untrusted for entry in entries], warning) == ([""], "")
    path.write_text("mutes: [{subject: '*', reason: hush, forever: true}]\n")
    entries, warning = load_settings(environ={}).read_mutes()
    assert [entry.untrusted for entry in entries] == [str(path)]
    assert warning.startswith("ethogram.mutes.yaml: changed since you trusted it on ")
    add_mute(path, entry)
    assert load_settings(environ={}).read_mutes()[0][0].untrusted


def test_where_the_record_cannot_be_written_the_command_still_works(monkeypatch):
    Path("file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("file").absolute()))
    add_mute(Path("ethogram.mutes.yaml"), Mute("m-1", "agreed", subject="ann"))
    assert load_settings(environ={}).read_mutes()[0][0].untrusted


# Names, folders and bounds


def test_a_folder_that_is_called_like_a_pattern_does_not_take_its_place():
    shipped = load_patterns(["loop"]).files["loop"].path
    write_patterns(Path("loop"), WARM)
    write_patterns(Path("run/loop"), WARM)
    for selector in ("loop", "run/loop", "lo*"):
        library = load_patterns([selector])
        assert (library.files["loop"].path, "warm_then_cold" in library.files) == (shipped, False)
    assert load_patterns(["./loop"]).chosen == ("warm_then_cold",)
    assert "warm_then_cold" not in library_of(load_settings(environ={})).files


def test_a_folder_with_a_pattern_of_its_own_name_is_still_a_folder():
    write_patterns(Path("warm_then_cold"), WARM, WARM.replace("warm_then_cold", "second"))
    assert load_patterns(["warm_then_cold"]).chosen == ("second", "warm_then_cold")


@pytest.mark.parametrize("how", ["option", "setting"])
def test_a_folder_of_patterns_is_listed_within_bounds(folder, how):
    def load(path: Path) -> str:
        with pytest.raises(BadPattern) as caught:
            load_patterns([path]) if how == "option" else load_patterns(more=[str(path)])
        (fault,) = caught.value.faults
        assert fault.path == str(path)
        return fault.message

    deep = folder / "deep"
    deep.joinpath(*"abcdefghi").mkdir(parents=True)
    assert f"nested deeper than {MAX_DEPTH} levels" in load(deep)
    many = folder / "many"
    many.mkdir()
    for n in range(MAX_FILES + 1):
        (many / f"p{n}.yaml").touch()
    assert f"more than {MAX_FILES:,} pattern files" in load(many)
    for n in range(MAX_ENTRIES - MAX_FILES):
        (many / f"p{n}.yaml").unlink(missing_ok=True)
        (many / f"{n}.txt").touch()
    for n in range(MAX_FILES + 1):
        (many / f"x{n}.txt").touch()
    assert f"more than {MAX_ENTRIES:,} files and folders" in load(many)


def test_listing_ends_after_so_many_seconds(folder, monkeypatch):
    write_patterns(folder / "mine", WARM)
    assert len(pattern_files(folder / "mine")) == 1
    monkeypatch.setattr(trust_module, "MAX_SECONDS", -1.0)
    with pytest.raises(BadPattern, match="mine: holds more than can be listed in"):
        pattern_files(folder / "mine")


def test_the_root_of_the_disk_is_no_folder_of_patterns():
    with pytest.raises(BadPattern, match=r"^/: holds "):
        load_patterns(more=["/"])


def test_links_to_folders_are_not_followed(folder, tmp_path):
    write_patterns(tmp_path / "out", WARM.replace("warm_then_cold", "out_there"))
    write_patterns(folder / "mine", WARM)
    (folder / "mine" / "out").symlink_to(tmp_path / "out")
    (folder / "mine" / "self").symlink_to(folder / "mine")
    assert load_patterns([folder / "mine"]).chosen == ("warm_then_cold",)


def test_a_hooks_plan_is_made_anew_when_the_users_file_or_the_record_changes():
    listed = settings_files("")
    home = Path(os.environ["XDG_CONFIG_HOME"], "ethogram")
    assert {home / "ethogram.yaml", home / "trusted.json"} <= set(listed)


def test_the_parts_of_records_have_values_too():
    for name, defaults in {"hook": HOOK, "usage": USAGE, "conversation": CONVERSATION, "risk": RISK}.items():
        assert set(VALUES[name]) <= set(defaults)
    assert set(VALUES["learning"]) <= set(LEARNING)
