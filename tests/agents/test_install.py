"""Installing: our entries come into a settings file and go again, and all else in it stays as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_search
from hypothesis import strategies as st

from ethogram.agents.hook import install
from ethogram.agents.hook.install import kind_of, with_hook, without_hook
from ethogram.agents.hook.json_edits import parse, undo
from ethogram.agents.hook.location import EVENTS, TOOL_EVENTS
from ethogram.errors import BadInput, BadUsage

COMMAND = "/opt/e/bin/ethogram hook"
OTHERS = """\
{
\t"model": "opus",
\t"env": {"A": 1.0, "B": "\\u00e9"},
\t"hooks": {
\t\t"Stop": [],
\t\t"PostToolUse": [
\t\t\t{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "prettier --write"}]}
\t\t],
\t\t"Notification": "whatever"
\t},
\t"permissions": {
\t\t"allow": ["Bash(ls:*)",
\t\t          "Read"]
\t}
}"""
FILES = {
    "empty object": "{}",
    "empty object, new line": "{}\n",
    "spaced": "{ \n }\n",
    "minified": '{"model":"x","hooks":{"Stop":[]}}',
    "one line": '{"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}}\n',
    "four spaces": '{\n    "model": "x"\n}\n',
    "windows": '{\r\n  "model": "x",\r\n  "hooks": {\r\n  }\r\n}\r\n',
    "tabs and others": OTHERS,
    "two of one name": '{\n  "hooks": 3,\n  "hooks": {"Stop": []}\n}\n',
    "a mark before it": '\ufeff{\n  "model": "x"\n}\n',
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def put_in(path: Path, command: str = COMMAND) -> install.Change:
    change = install.plan_install(path, command)
    install.save_note(change)
    if not change.is_none:
        install.apply(change)
    return change


def take_out(path: Path) -> install.Change:
    change = install.plan_uninstall(path)
    if not change.is_none:
        install.apply(change)
    install.remove_note(change)
    return change


def settings(folder: Path, text: str) -> Path:
    path = folder / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


def commands(text: str) -> dict[str, list[str]]:
    hooks = json.loads(text.removeprefix("\ufeff"))["hooks"]
    return {
        event: [item["command"] for group in hooks[event] for item in group["hooks"]]
        for event in EVENTS
        if event in hooks
    }


def test_a_new_file_holds_one_entry_for_each_event(folder):
    path = folder / ".claude" / "settings.json"
    put_in(path)
    hooks = json.loads(path.read_bytes())["hooks"]
    own = {"type": "command", "command": COMMAND, "timeout": 10}
    assert list(hooks) == list(EVENTS)
    for event, entries in hooks.items():
        expected = {"matcher": "*", "hooks": [own]} if event in TOOL_EVENTS else {"hooks": [own]}
        assert entries == [expected]
    assert path.read_bytes().endswith(b"}\n")


def test_a_file_that_install_made_goes_with_its_folder(folder):
    path = folder / ".claude" / "settings.json"
    put_in(path)
    take_out(path)
    assert list(folder.iterdir()) == []
    assert not install.notes_path().exists()


def test_a_folder_that_others_use_stays(folder):
    path = folder / ".claude" / "settings.json"
    put_in(path)
    (folder / ".claude" / "settings.local.json").write_text("{}")
    take_out(path)
    assert [item.name for item in path.parent.iterdir()] == ["settings.local.json"]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_what_was_there_stays_and_comes_back_to_the_byte(folder, text):
    path = settings(folder, text)
    put_in(path)
    written = path.read_bytes().decode()
    before, after = (json.loads(item.removeprefix("\ufeff")) for item in (text, written))
    assert [name for name in after if name != "hooks"] == [name for name in before if name != "hooks"]
    assert {**after, "hooks": 0} == {**before, "hooks": 0}
    assert all(COMMAND in commands(written)[event] for event in EVENTS)
    assert ("\r\n" in written) == ("\r\n" in text)
    assert "\n" not in written.replace("\r\n", "") if "\r\n" in text else True
    assert ("\n" in written.strip()) == ("\n" in text.strip() or text.strip() == "{}")
    take_out(path)
    assert path.read_bytes() == text.encode()


def test_other_lines_of_the_file_are_untouched():
    after, _ = with_hook(OTHERS, "x", COMMAND)
    lines = after.splitlines()
    # `"Stop": []` and the ends of two lists get company; every other line is there as it was.
    for line in OTHERS.splitlines():
        assert line in lines or f"{line}," in lines or '"Stop"' in line
    assert '\t\t"Notification": "whatever",' in lines
    assert '\t\t"UserPromptSubmit": [' in lines


def test_installing_twice_changes_nothing(folder):
    path = settings(folder, OTHERS)
    put_in(path)
    once = path.read_bytes()
    assert put_in(path).is_none
    assert path.read_bytes() == once
    take_out(path)
    assert path.read_bytes() == OTHERS.encode()


def test_an_entry_with_an_old_path_is_replaced_and_what_the_person_changed_in_it_stays(folder):
    path = settings(folder, OTHERS)
    put_in(path, "'/old place/ethogram' hook")
    path.write_text(path.read_text().replace('"timeout": 10', '"timeout": 3'))
    put_in(path)
    text = path.read_text()
    assert "/old place" not in text
    assert text.count('"timeout": 3') == len(EVENTS)
    assert [len(command) for command in commands(text).values()].count(1) == len(EVENTS) - 1
    assert commands(text)["PostToolUse"] == ["prettier --write", COMMAND]


def test_a_second_install_from_another_place_is_undone_to_the_byte_too(folder):
    path = settings(folder, OTHERS)
    put_in(path, "/old/ethogram hook")
    put_in(path)
    take_out(path)
    assert path.read_bytes() == OTHERS.encode()


def test_where_somebody_edited_in_between_only_our_entries_go(folder):
    path = settings(folder, OTHERS)
    put_in(path)
    data = json.loads(path.read_text())
    data["model"] = "haiku"
    data["hooks"]["PreCompact"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    path.write_text(json.dumps(data, indent=4) + "\n")
    take_out(path)
    expected = json.loads(OTHERS)
    expected["model"] = "haiku"
    expected["hooks"]["PreCompact"] = [{"hooks": [{"type": "command", "command": "theirs"}]}]
    assert path.read_text() == json.dumps(expected, indent=4) + "\n"


def test_without_a_note_what_is_left_empty_goes(folder):
    path = settings(folder, '{\n  "model": "x"\n}\n')
    put_in(path)
    install.notes_path().unlink()
    take_out(path)
    assert path.read_text() == '{\n  "model": "x"\n}\n'


def test_an_uninstall_of_what_an_old_version_put_there_takes_it_out(folder):
    text, _ = with_hook("{}\n", "x", "/old/ethogram hook")
    path = settings(folder, text)
    put_in(path)
    take_out(path)
    assert json.loads(path.read_text()) == {}


def test_a_link_is_followed_and_the_mode_kept(folder):
    real = folder / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    link = folder / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    put_in(link)
    assert link.is_symlink()
    assert COMMAND in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    take_out(link)
    assert real.read_text() == "{}\n"


def test_a_wrapped_command_is_somebody_else_s_and_counts_as_installed(folder):
    group = {"hooks": [{"type": "command", "command": "nice ethogram hook"}]}
    text = json.dumps({"hooks": {event: [group] for event in EVENTS}}, indent=2)
    path = settings(folder, text)
    assert put_in(path).is_none
    assert take_out(path).is_none
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("ethogram hook", "ours"),
        ("/a/python -m ethogram hook", "ours"),
        (r"'C:\tools\ethogram.exe' hook", "ours"),
        ("X=1 /a/ethogram hook", "wrapped"),
        ("ethogram hook status", ""),
        ("my-ethogram hook", ""),
        ("hook", ""),
        ("ethogram 'hook", ""),
        ("", ""),
    ],
)
def test_which_commands_are_ours(command, kind):
    assert kind_of(command) == kind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n  // mine\n}", ":2:3: invalid JSON: "),
        ("", ":1:1: invalid JSON: "),
        ("[]", ':1:1: the settings file is a list: expected an object, like {"hooks": {}}'),
        ('{\n  "hooks": []\n}', ":2:12: 'hooks' is a list: expected an object, like {\"Stop\": []}"),
        ('{"hooks": {"Stop": {}}}', ":1:20: 'hooks.Stop' is an object: expected a list"),
        ('{"hooks": {"Stop": ["x"]}}', ":1:21: an entry of 'hooks.Stop' is a text: expected an object, like"),
        ('{"hooks": {"Stop": [{}]}}', ":1:21: an entry of 'hooks.Stop' has no 'hooks': expected a list"),
        (
            '{"hooks": {"Stop": [{"hooks": 1}]}}',
            ":1:31: 'hooks' in an entry of 'hooks.Stop' is a value: expected a list",
        ),
        ("[" * 100_000, ":1:1: "),
    ],
)
def test_a_file_of_another_form_is_left_alone(folder, text, said):
    path = settings(folder, text)
    with pytest.raises(BadInput) as caught:
        put_in(path)
    assert str(caught.value).startswith(f"{path}{said}")
    assert path.read_text() == text
    assert not install.notes_path().exists()


def test_every_fault_is_told_at_once(folder):
    path = settings(folder, '{"hooks": {"Stop": 1,\n"PreCompact": 2}}')
    with pytest.raises(BadInput) as caught:
        put_in(path)
    assert [(fault.line, fault.column) for fault in caught.value.faults] == [(1, 20), (2, 15)]


def test_bytes_that_are_no_text_are_left_alone(folder):
    path = settings(folder, "")
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(BadInput, match=":2: invalid encoding: expected UTF-8"):
        put_in(path)


def test_whoever_writes_in_between_is_not_overwritten(folder):
    path = settings(folder, "{}")
    change = install.plan_install(path, COMMAND)
    path.write_text('{"a": 1}')
    with pytest.raises(BadUsage, match="has just been changed"):
        install.apply(change)
    assert path.read_text() == '{"a": 1}'
    assert [item.name for item in path.parent.iterdir()] == ["settings.json"]


def test_the_note_holds_nothing_of_the_file_and_is_private(folder):
    path = settings(folder, '{\n  "env": {"TOKEN": "very-secret-value"}\n}\n')
    put_in(path)
    assert b"very-secret" not in install.notes_path().read_bytes()
    assert install.notes_path().stat().st_mode & 0o077 == 0
    assert install.notes_path().parent.stat().st_mode & 0o077 == 0


def test_a_note_that_cannot_be_read_is_no_note(folder):
    path = settings(folder, "{}")
    put_in(path)
    install.notes_path().write_text('{"x": 1, "y"')
    take_out(path)
    assert json.loads(path.read_text()) == {}


def test_where_the_settings_stand(folder, monkeypatch):
    assert install.settings_path("project", ".") == folder / ".claude" / "settings.json"
    assert install.settings_path("user", ".") == Path(os.environ["HOME"], ".claude", "settings.json")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "elsewhere"))
    assert install.settings_path("user", ".") == folder / "elsewhere" / "settings.json"


def test_the_command_is_quoted_for_the_shell(folder, monkeypatch):
    own = folder / "my tools" / "ethogram"
    own.parent.mkdir()
    own.touch()
    monkeypatch.setattr("sys.argv", [str(own)])
    assert install.own_command() == f"'{own}' hook"
    assert kind_of(install.own_command()) == "ours"
    monkeypatch.setattr("sys.argv", ["x"])
    monkeypatch.setattr("sys.executable", "/a b/python")
    assert install.own_command() == "'/a b/python' -P -m ethogram hook"
    assert kind_of(install.own_command()) == "ours"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
HANDLERS = st.lists(st.fixed_dictionaries({"command": st.sampled_from(["a", 'b \\ "c"', "ü"])}), max_size=2)
LISTS = st.lists(
    st.fixed_dictionaries({"hooks": HANDLERS}, optional={"matcher": st.text(max_size=3)}), max_size=2
)


@settings_of_search(max_examples=40)
@given(
    rest=st.dictionaries(st.text(max_size=5).filter(lambda name: name != "hooks"), VALUES, max_size=3),
    hooks=st.none() | st.dictionaries(st.sampled_from([*EVENTS, "Other"]), LISTS),
    indent=st.sampled_from([None, 0, 1, 2, "\t"]),
    is_ascii=st.booleans(),
)
def test_whatever_a_file_holds_it_comes_back(rest, hooks, indent, is_ascii):
    told = rest if hooks is None else {**rest, "hooks": hooks}
    text = json.dumps(told, indent=indent, ensure_ascii=is_ascii)
    after, edits = with_hook(text, "x", COMMAND)
    expected = {event: [COMMAND] for event in EVENTS}
    assert {
        event: [item for item in command if item == COMMAND] for event, command in commands(after).items()
    } == expected
    assert undo(after, edits) == text
    assert with_hook(after, "x", COMMAND) == (after, [])
    keep = frozenset() if hooks is None else frozenset({"", *hooks})
    assert json.loads(without_hook(after, "x", keep)) == told
    assert parse(text, "x").end == len(text)
