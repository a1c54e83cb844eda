"""Saving a stream: everything it remembers as plain JSON data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...records import stable_hash
from ..program import Program
from .pack import Packer, Unpacker
from .save_state import load_rows, load_state, save_rows, save_state
from .stream import Stream
from .track import Key, Track, Watched


def version_of(program: Program) -> str:
    """What must be the same for saved state to be of use: all of the program, its wording too."""
    return stable_hash("state", program.version, program.to_json())[:20]


def save_stream(stream: Stream) -> dict[str, Any]:
    """Everything a stream remembers."""
    packer, tracks = Packer(), {}
    stream.cells.write_all()
    for track in stream.tracks:
        layout, whole = track.plan.layout, track.plan.whole_layout
        watched = [
            [list(key), save_rows(one.rows, layout, packer), save_state(track, one, packer)]
            for key, one in track.watched.items()
        ]
        wholes = [
            [list(name), save_rows(rows, whole, packer)]
            for name, rows in track.wholes.items()
            if whole is not None
        ]
        version = version_of(track.program)
        tracks[track.program.name] = {"version": version, "watched": watched, "wholes": wholes}
    return {"tracks": tracks, "marks": packer.marks, "links": packer.links}


def load_stream(stream: Stream, saved: Mapping[str, Any]) -> list[str]:
    """Remember what was saved; the names of programs whose state was of no use, being of other versions."""
    unpacker, lost = Unpacker(saved["marks"], saved["links"]), []
    for track in stream.tracks:
        data = saved["tracks"].get(track.program.name)
        if data is None:
            continue
        if data["version"] != version_of(track.program):
            lost.append(track.program.name)
            continue
        whole = track.plan.whole_layout
        for name, rows in data["wholes"]:
            if whole is not None:
                track.wholes[(name[0], name[1])] = load_rows(rows, whole, unpacker)
        for key, rows, state in data["watched"]:
            stream.put(track, _watched(track, tuple(key), rows, state, unpacker))
    return lost


def _watched(track: Track, key: Key, rows: list[Any], state: list[Any], unpacker: Unpacker) -> Watched:
    whole = track.wholes.get((key[0], str(key[1 + track.subject])))
    watched = Watched(key, load_rows(rows, track.plan.layout, unpacker, whole), track.machine.start())
    load_state(watched.state, state, unpacker)
    return watched
