"""Importing: all or nothing, each event once, and on from where it was interrupted."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ethogram.app.importing import Imported, Options, import_events
from ethogram.config import Settings
from ethogram.errors import BadEvents, BadUsage
from ethogram.ingest import read_events
from ethogram.store import open_store
from small import turns, warm_messages, write_events
from stores_support import LATER


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture(params=["sqlite", "postgresql"])
def path(request: pytest.FixtureRequest, new_url) -> str:
    """The address of the store."""
    return new_url(request.param)


def bring(store, *paths, **options) -> Imported:
    how = {name: options.pop(name) for name in ("progress", "stdin", "settings") if name in options}
    return import_events(store, paths, at=LATER, options=Options(**options), **how)


def ids(store) -> list[str]:
    return [event.id for event in store.events()]


def test_events_in_the_store_are_those_that_reading_gives(store, folder):
    write_events(
        folder / "a.jsonl", [{**message, "text": "hi", "x_more": [1]} for message in warm_messages()]
    )
    write_events(folder / "b.jsonl", turns("cy", [0.1, 0.9], [2, 3]))
    done = bring(store, folder, keep_text=True)
    assert (done.added, done.repeated, done.files) == (6, 0, 2)
    expected = [event.to_dict() for event in read_events([folder]).events]
    assert [event.to_dict() for event in store.events()] == expected
    assert {event.received_at for event in store.events()} == {LATER}


def test_the_same_files_again_bring_nothing_new(store, folder):
    write_events(folder / "a.jsonl", warm_messages())
    assert bring(store, folder).added == 4
    again = bring(store, folder)
    assert (again.added, again.repeated, again.files_known) == (0, 4, 1)


def test_a_folder_with_a_new_file_brings_in_that_file_even_without_ids(store, folder):
    """A file that sorts in front would renumber all others, and their default ids with them."""
    lines = [{"subject": "ann", "readings": {"risk": 0.1}} for _ in range(3)]
    write_events(folder / "b.jsonl", lines)
    assert bring(store, folder).added == 3
    write_events(folder / "a.jsonl", [{"subject": "bo"} for _ in range(2)])
    done = bring(store, folder)
    assert (done.added, done.repeated, done.files_known) == (2, 3, 1)
    assert [event.seq for event in store.events()] == [0, 1, 2, 3, 4]


def test_a_source_without_times_goes_on_counting(store, folder):
    write_events(folder / "a.jsonl", [{"id": "a", "subject": "ann"}, {"id": "b", "subject": "ann"}])
    write_events(folder / "b.jsonl", [{"id": "c", "subject": "ann"}])
    bring(store, folder / "a.jsonl")
    bring(store, folder / "b.jsonl")
    assert [(event.id, event.seq, event.timed) for event in store.events()] == [
        ("a", 0, False),
        ("b", 1, False),
        ("c", 2, False),
    ]


@pytest.mark.parametrize("first", [True, False])
def test_a_source_is_timed_or_not_as_a_whole_also_across_imports(store, folder, first):
    timed, untimed = warm_messages(), [{"id": "u", "subject": "ann"}]
    write_events(folder / "a.jsonl", timed if first else untimed)
    write_events(folder / "b.jsonl", untimed if first else timed)
    bring(store, folder / "a.jsonl")
    before = ids(store)
    with pytest.raises(BadEvents, match="the source 'input' in the store has"):
        bring(store, folder / "b.jsonl")
    assert ids(store) == before
    assert store.imports() == []
    assert bring(store, folder / "b.jsonl", source="other").added


def test_events_without_a_time_among_others_are_bad_lines(store, folder):
    write_events(folder / "a.jsonl", [{"id": "u", "subject": "x"}, *warm_messages()])
    with pytest.raises(BadEvents, match=r"a.jsonl:1: at is missing"):
        bring(store, folder)
    done = bring(store, folder, skip_bad=True)
    assert (done.added, done.bad) == (4, 1)


def test_a_bad_line_drops_the_import_and_every_bad_line_is_told(store, folder):
    lines = [json.dumps(message) for message in warm_messages()]
    (folder / "a.jsonl").write_text("\n".join([*lines, "{", '{"subject": ""}', "[]"]))
    with pytest.raises(BadEvents) as raised:
        bring(store, folder, batch=2)
    assert [fault.line for fault in raised.value.faults] == [5, 6, 7]
    assert (ids(store), store.imports(), store.sources()) == ([], [], {})
    done = bring(store, folder, batch=2, skip_bad=True)
    assert (done.added, done.bad, [fault.line for fault in done.faults]) == (4, 3, [5, 6, 7])


def test_an_id_with_other_content_names_both_places_and_nothing_is_imported(store, folder):
    write_events(folder / "a.jsonl", warm_messages())
    write_events(folder / "b.jsonl", [{**warm_messages()[1], "text": "other"}])
    for batch in (1, 2, 100):
        with pytest.raises(BadEvents, match=r"b.jsonl:1: the id 'ann-2' has other content at .*a.jsonl:2"):
            bring(store, folder, batch=batch)
        assert ids(store) == []
    bring(store, folder / "a.jsonl")
    with pytest.raises(
        BadEvents, match=r"b.jsonl:1: the id 'ann-2' has other content in the store \(of 'ann'"
    ):
        bring(store, folder / "b.jsonl")
    assert len(ids(store)) == 4
    done = bring(store, folder / "b.jsonl", skip_bad=True)
    assert (done.added, done.bad) == (0, 1)


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_repeats_are_counted_wherever_they_fall(store, folder, batch):
    write_events(folder / "a.jsonl", [*warm_messages(), *warm_messages()])
    write_events(folder / "b.jsonl", warm_messages()[:1])
    done = bring(store, folder, batch=batch)
    assert (done.added, done.repeated) == (4, 5)


def test_a_signal_keeps_its_kind_across_imports(store, folder):
    write_events(folder / "a.jsonl", turns("ann", [0.5], [1]))
    bring(store, folder / "a.jsonl")
    write_events(folder / "b.jsonl", [{**warm_messages()[0], "readings": {"risk": "high"}}])
    with pytest.raises(BadEvents, match="risk"):
        bring(store, folder / "b.jsonl")


class Stop(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("after", [1, 2, 4])
def test_interrupted_it_stays_unseen_and_the_same_call_goes_on_from_there(store, path, folder, after):
    write_events(folder / "a.jsonl", turns("ann", [0.1] * 25, range(1, 26)))
    (folder / "b.jsonl").write_text(
        "\n".join(["{", *(json.dumps(turn) for turn in turns("bo", [0.1] * 25, range(1, 26)))])
    )
    calls = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == after:
            raise Stop

    with pytest.raises(KeyboardInterrupt):
        bring(store, folder, batch=10, skip_bad=True, progress=stop)
    assert ids(store) == []
    assert [item.staged for item in store.imports()] == [10 * after]
    with open_store(str(path)) as later:
        done = bring(later, folder, batch=10, skip_bad=True)
        assert (done.added, done.repeated, done.bad, done.resumed_after) == (50, 0, 1, 10 * after)
        assert [event.to_dict() for event in later.events()] == [
            event.to_dict() for event in read_events([folder], skip_bad=True).events
        ]


def test_other_files_or_options_are_another_import_and_both_can_be_finished(store, folder):
    write_events(folder / "a.jsonl", turns("ann", [0.1] * 20, range(1, 21)))
    write_events(folder / "b.jsonl", turns("bo", [0.1] * 20, range(1, 21)))

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(KeyboardInterrupt):
        bring(store, folder / "a.jsonl", batch=10, progress=stop)
    assert bring(store, folder / "b.jsonl", batch=10).added == 20
    assert bring(store, folder / "a.jsonl", batch=10).resumed_after == 10
    assert len(ids(store)) == 40


def test_what_comes_through_a_pipe_is_imported_too(store):
    lines = "".join(json.dumps(message) + "\n" for message in warm_messages()).encode()
    assert bring(store, "-", stdin=io.BytesIO(lines)).added == 4
    assert bring(store, "-", stdin=io.BytesIO(lines)).repeated == 4


def test_a_text_is_measured_before_it_is_left_out(store, folder):
    write_events(folder / "a.jsonl", [{"id": "a", "subject": "ann", "text": "Why so?"}])
    bring(store, folder)
    (event,) = store.events()
    assert event.text is None
    assert (event.readings["length"], event.readings["question"]) == (7.0, 1.0)
    assert event.scorers["length"].startswith("length@")


def test_what_was_exported_comes_back_as_known_even_without_its_text(store, folder):
    write_events(folder / "a.jsonl", [{**message, "text": "Hello?"} for message in warm_messages()])
    bring(store, folder)
    out = folder.parent / "out.jsonl"
    write_events(out, [{"source": event.source, **event.to_dict()} for event in store.events()])
    done = bring(store, out)
    assert (done.added, done.repeated) == (0, 4)


def test_a_running_import_is_not_joined_by_the_same_one(store, path, folder):
    write_events(folder / "a.jsonl", turns("ann", [0.1] * 20, range(1, 21)))
    tried = []

    def again(done: int, total: int) -> None:
        with open_store(str(path)) as other, pytest.raises(BadUsage, match="another import is at work"):
            bring(other, folder, batch=10)
        tried.append(done)

    assert bring(store, folder, batch=10, progress=again).added == 20
    assert tried


def test_a_missing_path_and_limits_of_the_settings_are_told(store, folder):
    with pytest.raises(BadEvents, match="no such file or folder"):
        bring(store, folder / "nothing")
    write_events(folder / "a.jsonl", warm_messages())
    with pytest.raises(BadEvents, match="longer"):
        bring(store, folder, settings=Settings(limits={"name": 2}))
    assert ids(store) == []
