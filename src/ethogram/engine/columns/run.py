"""Programs over blocks of histories: a table in, matches out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...ingest.reader import without_collection
from ...language.ast import And, Compare, Expr, Number, Or, Signal
from ...language.history import CAP
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...models import Event
from ..match import NO_TIMES, Outcome, Unjudged, lacking
from .expressions import Reader, least
from .histories import Block, Histories, blocks, membership
from .matches import Findings, MatchColumns, findings, matches, named, of_sequence, of_silence, of_threshold
from .numbers import pieces
from .sequence import Firings
from .silence import silences
from .table import EventTable, Ints, Mask, table_of
from .threshold import episodes

MANY_ROWS = 4_000_000
"""From so many rows on, two workers are no slower than one even where both share a core."""

MOST_WORKERS = 2


@dataclass(slots=True)
class Part:
    """What one program found in one block."""

    checked: int = 0
    findings: Findings | None = None
    unjudged: Unjudged | None = None


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Matches of all programs over events that are in order and not after `as_of` (microseconds)."""
    return run_table(programs, table_of(events), as_of=as_of, cap=cap)


def run_table(
    programs: Iterable[Program], table: EventTable, *, as_of: int, cap: int = CAP, workers: int | None = None
) -> Outcome:
    """The same over a table, its blocks shared out among `workers`: threads, since NumPy releases the lock.

    By default two where there is enough to do. The result does not depend on their number.
    """
    chosen = [program for program in programs if not program.is_combination]
    lacks = {program.name: lacking(program) for program in chosen}
    workers = workers or (min(MOST_WORKERS, os.cpu_count() or 1) if table.rows > MANY_ROWS else 1)

    def look(block: Block) -> list[Part]:
        parts = [run_block(program, lacks[program.name], block, as_of, cap) for program in chosen]
        block.forget()
        return parts

    with without_collection():
        every = blocks(table)
        # The first block shows the others which conditions are rare.
        parts = [look(block) for block in islice(every, 1 if workers > 1 else None)]
        if workers > 1:
            with ThreadPoolExecutor(workers) as pool:
                parts += pool.map(look, every)
        return outcome(chosen, table, parts)


def outcome(programs: Sequence[Program], table: EventTable, parts: Sequence[Sequence[Part]]) -> Outcome:
    """The parts of all blocks put together, histories in the order of their first events."""
    out = Outcome()
    for k, program in enumerate(programs):
        own = [part[k] for part in parts]
        out.checked[program.name] = sum(part.checked for part in own)
        found = [part.findings for part in own if part.findings is not None]
        pairs = sorted(matches(program, table, found, named(program)), key=lambda pair: pair[0])
        out.matches += [match for _, match in pairs]
        out.unjudged += [part.unjudged for part in own if part.unjudged is not None]
    return out


def run_block(program: Program, lacks: tuple[int, str], block: Block, as_of: int, cap: int) -> Part:
    """Run a program on a block; `lacks` is what to say of histories that it cannot judge."""
    here = block.histories(membership(program))
    part = Part(len(here.starts))
    if not here.size:
        return part
    if program.timed_only and not here.timed:
        part.unjudged = unjudged(program, (0, NO_TIMES), here, np.arange(len(here.starts)))
        return part
    reader = Reader(here, cap)
    with np.errstate(all="ignore"):
        result, judged = search(program, reader, as_of)
        if result is not None:
            part.findings = findings(result)
    if not judged.all():
        part.unjudged = unjudged(program, lacks, here, np.flatnonzero(~judged))
    return part


def search(program: Program, reader: Reader, as_of: int) -> tuple[MatchColumns | None, Mask]:
    """The matches of a program, and the histories in which it could be judged."""
    match program.body:
        case SequenceProgram() as body:
            firings = Firings(body, reader)
            result = of_sequence(program, firings, reader.cap) if len(firings.fired) else None
            return result, _judged(reader, body.places[0].condition)
        case ThresholdProgram() as body:
            opened = episodes(body, reader)
            result = of_threshold(program, opened, reader) if len(opened.opened) else None
            return result, _judged(reader, body.when)
        case SilenceProgram() as body:
            quiet = silences(body, reader, as_of)
            result = of_silence(program, quiet, reader) if len(quiet.before) else None
            return result, quiet.judged
    raise TypeError(f"{program.name} is not a program over events")


def _judged(reader: Reader, condition: Expr) -> Mask:
    """The histories in which a condition is true or false at an event."""
    here = reader.histories
    if _is_known(here, condition):
        return np.ones(len(here.starts), bool)
    known = here.lengths >= least(condition)
    # In most histories the last event decides.
    known[known] = _known(Reader(here, reader.cap, here.ends[known] - 1), condition)
    left = np.flatnonzero(~known & (here.lengths >= least(condition)))
    if len(left):
        lengths = here.lengths[left]
        somewhere = _known(Reader(here, reader.cap, pieces(here.starts[left], lengths)), condition)
        known[left] = np.logical_or.reduceat(somewhere, np.cumsum(lengths) - lengths)
    return known


def _is_known(here: Histories, condition: Expr) -> bool:
    """Whether a condition compares readings that every event has, so that it is true or false anywhere."""
    match condition:
        case And(items=items) | Or(items=items):
            return all(_is_known(here, item) for item in items)
        case Compare(left=Signal(name=name), right=Number(value=value)):
            return value == value and here.extent(name)[0]
    return False


def _known(reader: Reader, condition: Expr) -> Mask:
    known = reader.holds(condition).copy()
    if not known.all():
        known[~known] = reader.some(~known).fails(condition)
    return known


def unjudged(program: Program, lacks: tuple[int, str], here: Histories, numbers: Ints) -> Unjudged:
    """Histories that a program cannot judge."""
    keys = here.keys_at(here.rows(here.starts[numbers]))
    return Unjudged(program, *lacks, keys, here.lengths[numbers].tolist())
