"""Programs over blocks of histories: a table in, matches out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ...ingest.reader import without_collection
from ...language.ast import Expr
from ...language.history import CAP
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...models import Event
from ..match import NO_TIMES, Match, Outcome, Unjudged, lacking
from .expressions import Reader
from .histories import Block, Histories, blocks, membership
from .matches import MatchColumns, matches, named, of_sequence, of_silence, of_threshold
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
    """What one program found in one block: matches, each with the row of its history's first event."""

    checked: int = 0
    matches: list[tuple[int, Match]] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Matches of all programs over events that are in order and not after `as_of` (microseconds)."""
    return run_table(programs, table_of(events), as_of=as_of, cap=cap)


def run_table(
    programs: Iterable[Program], table: EventTable, *, as_of: int, cap: int = CAP, workers: int | None = None
) -> Outcome:
    """The same over a table, its blocks shared out among `workers`: threads, since NumPy releases the lock.

    By default two where there is enough to do. The result does not depend on their number.
    """
    chosen = [(program, named(program)) for program in programs if not program.is_combination]
    workers = workers or (min(MOST_WORKERS, os.cpu_count() or 1) if table.rows > MANY_ROWS else 1)

    def look(block: Block) -> list[Part]:
        parts = [run_block(program, shown, block, as_of, cap) for program, shown in chosen]
        block.forget()
        return parts

    with without_collection():
        if workers > 1:
            with ThreadPoolExecutor(workers) as pool:
                parts = list(pool.map(look, blocks(table)))
        else:
            parts = [look(block) for block in blocks(table)]
        return outcome([program for program, _ in chosen], parts)


def outcome(programs: Sequence[Program], parts: Sequence[Sequence[Part]]) -> Outcome:
    """The parts of all blocks put together, histories in the order of their first events."""
    out = Outcome()
    for k, program in enumerate(programs):
        own = [part[k] for part in parts]
        out.checked[program.name] = sum(part.checked for part in own)
        pairs = sorted((pair for part in own for pair in part.matches), key=lambda pair: pair[0])
        out.matches += [match for _, match in pairs]
        out.unjudged += [group for part in own for group in part.unjudged]
    return out


def run_block(program: Program, shown: Sequence[str], block: Block, as_of: int, cap: int) -> Part:
    """Run a program on a block; detections show the readings named in `shown`."""
    here = block.histories(membership(program))
    part = Part(len(here.starts))
    if not here.size:
        return part
    if program.timed_only and not here.timed:
        part.unjudged = [unjudged(program, here, np.arange(len(here.starts)))]
        return part
    reader = Reader(here, cap)
    with np.errstate(all="ignore"):
        result, judged = search(program, reader, as_of)
        if result is not None:
            part.matches = list(matches(result, shown))
    part.unjudged = [unjudged(program, here, np.flatnonzero(~judged))]
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
    # In most histories the last event decides.
    known = _known(Reader(here, reader.cap, here.ends - 1), condition)
    left = np.flatnonzero(~known)
    if len(left):
        lengths = here.lengths[left]
        somewhere = _known(Reader(here, reader.cap, pieces(here.starts[left], lengths)), condition)
        known[left] = np.logical_or.reduceat(somewhere, np.cumsum(lengths) - lengths)
    return known


def _known(reader: Reader, condition: Expr) -> Mask:
    known = reader.holds(condition).copy()
    if not known.all():
        known[~known] = reader.some(~known).fails(condition)
    return known


def unjudged(program: Program, here: Histories, numbers: Ints) -> Unjudged:
    """Histories that a program cannot judge."""
    need, reason = lacking(program) if here.timed or not program.timed_only else (0, NO_TIMES)
    have = here.lengths[numbers].tolist()
    return Unjudged(program, need, reason, here.keys_at(here.rows(here.starts[numbers])), have)
