"""The section "Conversations that climb" of docs/quality.md, from the records of `quality conversations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.quality.conversation_readings import METHODS
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


def _bars(record: Record) -> Iterator[str]:
    yield f"\nAgainst {record['against']}:"
    yield ""
    for name, item in record["bars"].items():
        value = "-" if item["value"] is None else f"{item['value']:g}"
        yield f"- {name.replace('_', ' ')}: {value} (bar {item['bar']:g})"


def _modes(records: Sequence[Record]) -> Iterator[str]:
    yield "\n**Conversations of 1,000 that reach a mode**, and the user's turn at which SUSPECT comes.\n"
    yield _row("set", "kind", "conversations", *SHOWN, "SUSPECT, interval", "median turn", "at the first")
    yield _row(*["---"] * (6 + len(SHOWN)))
    for item, modes in mode_rows(records):
        mark = modes["SUSPECT"]
        counts = [f"{modes[mode]['per_1000']:.0f}" for mode in SHOWN]
        ends = f"{mark['interval'][0]:.0f} to {mark['interval'][1]:.0f}"
        first = "-" if mark["at_first_turn"] is None else f"{mark['at_first_turn']:.2f}"
        turn = "-" if mark["median_turn"] is None else f"{mark['median_turn']:g}"
        yield _row(f"`{item['set']}`", item["kind"], f"{item['conversations']:,}", *counts, ends, turn, first)


def _patterns(records: Sequence[Record]) -> Iterator[str]:
    rows = by(of(records, "conversation_pattern"), "pattern")
    if rows:
        yield "\n**Patterns**, conversations of 1,000 in which each is detected; sets without are left out.\n"
    for name, some in rows.items():
        told = ", ".join(f"`{item['set']}` {item['per_1000']:.0f}" for item in some)
        yield f"- `{name}`: {told}"


def _ours(records: Sequence[Record]) -> Iterator[str]:
    yield "\n**All attacks against each harmless set**.\n"
    yield from _head("against", "attacks", "harmless")
    for item in of(records, "conversation_apart"):
        if item["method"] == OURS:
            yield _row(f"`{item['against']}`", f"{item['attacks']:,}", f"{item['harmless']:,}", *_three(item))


def _methods(rows: Sequence[tuple[Sequence[Record], Record]]) -> Iterator[str]:
    plain = by(of(rows[0][0], "conversation_apart"), "against")
    for against in [name for name in plain if name in ("mtbench101", "budget sets")] or list(plain)[:1]:
        yield f"\nAgainst {against}:\n"
        yield from _head("method")
        for found, told in rows:
            for item in by(of(found, "conversation_apart"), "against").get(against, ()):
                if item["method"] == OURS:
                    yield _row(f"**{OURS}, {told['embedder']}**", *_three(item))
        for item in plain[against]:
            if item["method"] != OURS:
                yield _row(item["method"], *_three(item))


def _readings(records: Sequence[Record]) -> Iterator[str]:
    yield (
        "\nAUROC on the closed quarter of each set. `local` and *words, same texts* (a bag of words trained "
        "on what `local` is trained on) saw nothing of these sets; *in set*: trained on the other three "
        "quarters."
    )
    yield ""
    yield _row("set", "trait: shape", "bar", *METHODS, "local@1")
    yield _row(*["---"] * (4 + len(METHODS)))
    for name, rows in by(of(records, "conversation_reading"), "set").items():
        cells = {item["method"]: within(item["auroc"], item["interval"], 2) for item in rows}
        first = rows[0]
        bar = "-" if first["bar"] is None else f"{first['bar']:.2f}"
        former = within(first["former"][0], first["former"][1:], 2)
        figures = [cells.get(method, "-") for method in METHODS]
        yield _row(f"`{name}`", f"{first['trait']}: {first['shape']}", bar, *figures, former)


def _head(*names: str) -> Iterator[str]:
    columns = [*names, "AUROC", "recall at 1 %", "recall at 5 %", "recall and alarms at its own limit"]
    yield _row(*columns)
    yield _row(*["---"] * len(columns))


def _three(record: Record) -> list[str]:
    digits = {"auroc": 3, "recall_at_1": 2, "recall_at_5": 2}
    shares = [within(record[name], record[f"{name}_interval"], count) for name, count in digits.items()]
    return [*shares, own_limit(record) or "-"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
