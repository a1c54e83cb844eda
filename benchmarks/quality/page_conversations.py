"""The section "Conversations that climb" of docs/quality.md, from the records of `quality conversations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.quality.conversations_text import SHOWN, by, mode_rows, of, own_limit, within

Record = Mapping[str, Any]
OURS = "ethogram"


def conversations(rows: Sequence[tuple[Sequence[Record], Record]], at: str) -> Iterator[str]:
    """The section, line by line: for each embedder the records, and the last of them."""
    given = " ".join(f"--embedder {told['embedder']}" for _, told in rows)
    first = rows[0][1]
    most = f" --most {first['most']}" if first["most"] else ""
    options = f"--data FOLDER --half {first['half']}{most} --embedder NAME"
    command = f"python -m benchmarks quality conversations {options}"
    yield f"\nCommand: `{command}` ({given}); commit `{at}`; data `{first['data']}`."
    yield f"\n**What was tuned on what**: {first['tuned']}."
    for found, told in rows:
        yield f"\n### With the embedder {told['embedder']}"
        yield from _bars(told)
        yield from _modes(found)
        yield from _patterns(found)
        yield from _ours(found)
    yield "\n### Beside other methods"
    yield from _methods(rows)
    yield "\n### Readings of single messages"
    yield from _readings(rows[0][0])
    yield ""


def _bars(told: Record) -> Iterator[str]:
    yield f"\nAgainst {told['against']}:"
    yield ""
    for name, one in told["bars"].items():
        value = "-" if one["value"] is None else f"{one['value']:g}"
        yield f"- {name.replace('_', ' ')}: {value} (bar {one['bar']:g})"


def _modes(found: Sequence[Record]) -> Iterator[str]:
    yield "\n**Conversations of 1,000 that ever reach a mode**, and the user's turn at which SUSPECT comes.\n"
    yield _row("set", "kind", "conversations", *SHOWN, "SUSPECT, interval", "median turn", "at the first")
    yield _row(*["---"] * (6 + len(SHOWN)))
    for one, modes in mode_rows(found):
        mark = modes["SUSPECT"]
        counts = [f"{modes[mode]['per_1000']:.0f}" for mode in SHOWN]
        ends = f"{mark['interval'][0]:.0f} to {mark['interval'][1]:.0f}"
        first = "-" if mark["at_first_turn"] is None else f"{mark['at_first_turn']:.2f}"
        turn = "-" if mark["median_turn"] is None else f"{mark['median_turn']:g}"
        yield _row(f"`{one['set']}`", one["kind"], f"{one['conversations']:,}", *counts, ends, turn, first)


def _patterns(found: Sequence[Record]) -> Iterator[str]:
    rows = by(of(found, "conversation_pattern"), "pattern")
    if rows:
        yield "\n**Patterns**, conversations of 1,000 in which each is detected; sets without are left out.\n"
    for name, some in rows.items():
        told = ", ".join(f"`{one['set']}` {one['per_1000']:.0f}" for one in some)
        yield f"- `{name}`: {told}"


def _ours(found: Sequence[Record]) -> Iterator[str]:
    yield "\n**All attacks against each harmless set**.\n"
    yield from _head("against", "attacks", "harmless")
    for one in of(found, "conversation_apart"):
        if one["method"] == OURS:
            yield _row(f"`{one['against']}`", f"{one['attacks']:,}", f"{one['harmless']:,}", *_three(one))


def _methods(rows: Sequence[tuple[Sequence[Record], Record]]) -> Iterator[str]:
    plain = by(of(rows[0][0], "conversation_apart"), "against")
    for against in [name for name in plain if name in ("mtbench101", "budget sets")] or list(plain)[:1]:
        yield f"\nAgainst {against}:\n"
        yield from _head("method")
        for found, told in rows:
            for one in by(of(found, "conversation_apart"), "against").get(against, ()):
                if one["method"] == OURS:
                    yield _row(f"**{OURS}, {told['embedder']}**", *_three(one))
        for one in plain[against]:
            if one["method"] != OURS:
                yield _row(one["method"], *_three(one))


def _readings(found: Sequence[Record]) -> Iterator[str]:
    yield "\nChosen on one half of each set, told for the rest; the bag of words *is* trained on the set.\n"
    yield _row("set", "reading: shape", "direction", "chosen on", "AUROC on the rest", "bag of words")
    yield _row(*["---"] * 6)
    for one in of(found, "conversation_reading"):
        bag = "-" if one["bag_of_words"] is None else f"{one['bag_of_words']:.2f}"
        figures = [f"{one['tuned_auroc']:.3f}", within(one["auroc"], one["interval"], 3), bag]
        yield _row(f"`{one['set']}`", one["reading"], one["direction"], *figures)


def _head(*names: str) -> Iterator[str]:
    columns = [*names, "AUROC", "recall at 1 %", "recall at 5 %", "recall and alarms at its own limit"]
    yield _row(*columns)
    yield _row(*["---"] * len(columns))


def _three(one: Record) -> list[str]:
    digits = {"auroc": 3, "recall_at_1": 2, "recall_at_5": 2}
    shares = [within(one[name], one[f"{name}_interval"], count) for name, count in digits.items()]
    return [*shares, own_limit(one) or "-"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
