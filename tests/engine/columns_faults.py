"""Faults to be put into the columnar engine, and a loader of an engine that has one.

Each is (what is wrong, module, text, replacement). Where one is shown is found among the cases of
`strategies.random_case` by kind of shape or aggregate and seed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "ethogram.engine.columns"


@dataclass(frozen=True)
class Fault:
    """One fault, and the case that shows it: a kind of shape or an aggregate, and a seed."""

    says: str
    module: str
    text: str
    instead: str
    kind: str
    seed: int


class Patched(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module of the engine with a text replaced."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != f"{PACKAGE}.{self.fault.module}":
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def exec_module(self, module: ModuleType) -> None:
        package = importlib.import_module("ethogram.engine")
        assert package.__file__ is not None
        source = (Path(package.__file__).parent / "columns" / f"{self.fault.module}.py").read_text()
        assert source.count(self.fault.text) == 1, f"not once in {self.fault.module}: {self.fault.text}"
        changed = source.replace(self.fault.text, self.fault.instead)
        exec(compile(changed, self.fault.module, "exec"), module.__dict__)


@contextmanager
def faulty(fault: Fault) -> Iterator[None]:
    """The columnar engine with a fault in it; afterwards everything is as before."""
    ours = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE)}
    for name in ours:
        del sys.modules[name]
    finder = Patched(fault)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]
        sys.modules.update(ours)


FAULTS = (
    Fault(
        "a place may take the event of the place before",
        "sequence",
        'entry = np.searchsorted(earlier, at, "left") - 1',
        'entry = np.searchsorted(earlier, at, "right") - 1',
        "sequence",
        0,
    ),
    Fault(
        "max_gap counts one event too many",
        "sequence",
        "allowed &= end - start - 1 <= place.max_gap",
        "allowed &= end - start <= place.max_gap",
        "sequence",
        1,
    ),
    Fault(
        "never looks at the event it starts from",
        "sequence",
        '"left") - 1] <= start',
        '"left") - 1] < start',
        "sequence",
        1,
    ),
    Fault(
        "never looks at the event it ends at",
        "sequence",
        'marks[np.searchsorted(marks, end, "left") - 1]',
        'marks[np.searchsorted(marks, end, "right") - 1]',
        "sequence",
        7,
    ),
    Fault(
        "within counts one end only",
        "sequence",
        "end - start + both_ends <= limit.n",
        "end - start <= limit.n",
        "sequence",
        88,
    ),
    Fault("a duration is not inclusive", "sequence", "<= limit.us", "< limit.us", "sequence", 40),
    Fault(
        "durations count without times",
        "sequence",
        "isinstance(limit, Duration) and here.timed",
        "isinstance(limit, Duration)",
        "sequence",
        570,
    ),
    Fault(
        "a chain may start at the last firing",
        "sequence",
        "if first[k] > fired:",
        "if first[k] >= fired:",
        "sequence",
        4,
    ),
    Fault(
        "the last firing is its first event",
        "sequence",
        "            fired = last[k]\n        else",
        "            fired = first[k]\n        else",
        "sequence",
        4,
    ),
    Fault(
        "a chain without gaps crosses histories",
        "sequence",
        "    first = first[first + size <= here.ends[here.number_of(first)]]\n",
        "",
        "sequence",
        80,
    ),
    Fault(
        "a chain crosses histories",
        "sequence",
        "(before >= here.start_of(at))",
        "(before >= 0)",
        "sequence",
        6,
    ),
    Fault(
        "also takes the event of the last firing",
        "sequence",
        "going &= earlier > floor",
        "going &= earlier >= floor",
        "sequence",
        3,
    ),
    Fault(
        "also looks beyond within",
        "sequence",
        "            going &= reaches(here, body.within, earlier, self.fired, both_ends=True)\n",
        "",
        "sequence",
        88,
    ),
    Fault(
        "also does not mind gaps",
        "sequence",
        "                going &= at - earlier - 1 <= place.max_gap\n",
        "                pass\n",
        "sequence",
        206,
    ),
    Fault(
        "an optional step takes the event on its left",
        "sequence",
        "out[optional.step] = np.where(newest > low",
        "out[optional.step] = np.where(newest >= low",
        "sequence",
        7,
    ),
    Fault(
        "optional steps may be filled in any order",
        "sequence",
        "right[optional.after] = np.where(newest > low, newest, high)",
        "right[optional.after] = high",
        "sequence",
        894,
    ),
    Fault(
        "a threshold opens where it clears",
        "threshold",
        "    opens = opens[~np.isin(opens, clears, assume_unique=True)]\n",
        "",
        "threshold",
        2,
    ),
    Fault(
        "unknown closes an episode",
        "threshold",
        "some.fails(body.when)",
        "~some.holds(body.when)",
        "threshold",
        26,
    ),
    Fault(
        "an episode goes on into the next history",
        "threshold",
        " & (here.start_of(at[1:]) <= at[:-1])",
        "",
        "threshold",
        3,
    ),
    Fault(
        "of equal peaks the first is taken",
        "matches",
        "np.maximum.reduceat(np.where(score == best, rows, -1), begins)",
        "np.minimum.reduceat(np.where(score == best, rows, 1 << 60), begins)",
        "trend",
        0,
    ),
    Fault(
        "the lowest severity that holds is taken",
        "matches",
        "for k, (_, condition) in enumerate(program.severities):",
        "for k, (_, condition) in reversed(list(enumerate(program.severities))):",
        "threshold",
        1,
    ),
    Fault(
        "confidence is not clipped",
        "matches",
        "np.minimum(np.maximum(np.where(x == x, x, 0.0), 0.0), 1.0)",
        "np.where(x == x, x, 0.0)",
        "threshold",
        6,
    ),
    Fault(
        "evidence counts the opening event twice",
        "matches",
        "rows[rows < at[k]]",
        "rows[rows <= at[k]]",
        "threshold",
        0,
    ),
    Fault(
        "evidence of a condition counts what does not meet it",
        "matches",
        "mask = selection.true if selection.valid is None else selection.true & selection.valid",
        "mask = np.ones(selection.size, bool) if selection.valid is None else selection.valid",
        "count",
        7,
    ),
    Fault(
        "evidence of a run counts all of the window",
        "matches",
        "at = at[other[-1] + 1 :] if len(other) else at",
        "at = at",
        "run",
        3,
    ),
    Fault(
        "evidence of top counts another value",
        "matches",
        "at = at[tokens == tokens[newest]]",
        "at = at[tokens != tokens[newest]]",
        "top_count",
        0,
    ),
    Fault("the cap is ignored", "windows", "np.maximum(start, at + 1 - self.cap)", "start", "rate", 0),
    Fault(
        "a history longer than its cap is read as a whole",
        "windows",
        "            and here.longest <= reader.cap\n",
        "",
        "threshold",
        26,
    ),
    Fault(
        "a duration reaches back to its very end",
        "windows",
        'np.searchsorted(line, line[at] - back, "right")',
        'np.searchsorted(line, line[at] - back, "left")',
        "fading",
        2,
    ),
    Fault(
        "since includes the event that meets it", "windows", "newest + 1, low)", "newest, low)", "cover", 0
    ),
    Fault(
        "keep keeps one too many",
        "windows",
        "np.maximum(first, last - keep)",
        "np.maximum(first, last - keep - 1)",
        "count",
        14,
    ),
    Fault(
        "a skipped duration does not move now",
        "windows",
        "            self.now = self.now - window.skip.us\n",
        "            pass\n",
        "fading",
        2,
    ),
    Fault(
        "where is not asked",
        "windows",
        "            valid = held if valid is None else valid & held\n",
        "            pass\n",
        "threshold",
        0,
    ),
    Fault(
        "over=subject looks at this history",
        "windows",
        "self.histories = here.whole if window.over_subject else here",
        "self.histories = here",
        "usual",
        0,
    ),
    Fault(
        "so far goes on from one history into the next",
        "windows",
        "np.subtract(sums[1:], out, out=out)",
        "np.subtract(sums[1:], 0, out=out)",
        "mean",
        7,
    ),
    Fault(
        "windows that are read alone begin one late",
        "windows",
        "pieces(ranges.low, lengths)",
        "pieces(ranges.low + 1, lengths)",
        "threshold",
        0,
    ),
    Fault(
        "weights of a rise count all events",
        "windows",
        "whole = whole * self.before[:-1]",
        "whole = whole * np.arange(len(whole))",
        "rise",
        3,
    ),
    Fault(
        "a rise begins at the first reading of all",
        "windows",
        "value = value - self.before[self.ranges.low] * self.sums",
        "value = value - 0 * self.sums",
        "rise",
        3,
    ),
    Fault(
        "squares are sums", "windows", "            whole = whole * whole\n", "            pass\n", "std", 0
    ),
    Fault(
        "readings in windows are not rounded",
        "windows",
        "return Column(in_window(column.num), column.code)",
        "return column",
        "threshold",
        22,
    ),
    Fault(
        "above has no tolerance",
        "numbers",
        "return _lowest(lambda x: above(x, c), c) if rounded",
        "return math.nextafter(c, math.inf) if rounded",
        "threshold",
        3,
    ),
    Fault(
        "millionths are cut off",
        "numbers",
        "        rounded = x * 1e6\n",
        "        rounded = np.trunc(x * 1e6)\n",
        "mean",
        696,
    ),
    Fault("equal is never far", "numbers", "out &= x > highest_below(c)", "out &= x > c - 1", "count", 2),
    Fault(
        "different from something absent is true",
        "expressions",
        "return equal if same else a.known(self.size) & b.known(self.size) & ~equal",
        "return equal if same else ~equal",
        "rate",
        0,
    ),
    Fault(
        "different from a number is true of what is absent",
        "expressions",
        "return equal if same else a.known(self.size) & ~equal\n        b",
        "return equal if same else ~equal\n        b",
        "rate",
        23,
    ),
    Fault(
        "an indicator that was not found is absent",
        "expressions",
        "np.where(absent, 0.0,",
        "np.where(absent, np.nan,",
        "mean",
        0,
    ),
    Fault(
        "the first event has a gap",
        "expressions",
        "np.where(previous > NO_TIME, (times",
        "np.where(previous >= NO_TIME, (times",
        "silence",
        4,
    ),
    Fault(
        "an item that is unknown is true",
        "expressions",
        "out[left] = self.some(left)._is(item, wanted)",
        "out[left] = ~self.some(left)._is(item, not wanted)",
        "trend",
        17,
    ),
    Fault(
        "the value of a step is that of its first event",
        "expressions",
        "def _step(self, step: str, which: int = -1)",
        "def _step(self, step: str, which: int = 0)",
        "sequence",
        0,
    ),
    Fault(
        "a share counts unknown ones",
        "aggregates",
        "return selection.trues / selection.n",
        "return selection.trues / (selection.ranges.high - selection.ranges.low)",
        "sequence",
        2,
    ),
    Fault(
        "at_least asks for one more",
        "aggregates",
        "x[selection.n < max(expr.window.at_least",
        "x[selection.n <= max(expr.window.at_least",
        "threshold",
        2,
    ),
    Fault(
        "a run goes on beyond the window",
        "aggregates",
        "np.maximum(began, selection.first)",
        "began",
        "run",
        3,
    ),
    Fault(
        "a prior is left out",
        "aggregates",
        'm, n0 = expr.option("prior") or (0.0, 0.0)\n    floats: Floats = usual',
        "m, n0 = 0.0, 0.0\n    floats: Floats = usual",
        "usual",
        1,
    ),
    Fault(
        "of equally frequent values the first",
        "aggregates",
        "top(part, times) if",
        "top(part[::-1], times) if",
        "top",
        0,
    ),
    Fault(
        "an extreme looks at one end only",
        "aggregates",
        "join(table[first[mine]], table[last[mine] - width])",
        "table[first[mine]]",
        "max",
        3,
    ),
    Fault(
        "a rate forgets what the cap cut",
        "aggregates",
        "x = np.where(ranges.whole, count / (ranges.duration / HOUR), x)",
        "x = count / (ranges.duration / HOUR)",
        "rate",
        0,
    ),
    Fault(
        "a cover counts what it did not find",
        "aggregates",
        "selection.ranges.over(counts(held)) > 0 if",
        "selection.ranges.over(counts(held)) >= 0 if",
        "cover",
        0,
    ),
    Fault(
        "events without a stratum make one",
        "aggregates",
        "    known = codes >= 0\n",
        "    known = codes >= -1\n",
        "contrast",
        9,
    ),
    Fault(
        "strata are not told apart",
        "aggregates",
        "(number == k), second",
        "(number >= 0), second",
        "contrast",
        9,
    ),
    Fault(
        "a contrast divides by the wrong counts",
        "aggregates",
        "as_floats(s1 * n2 - s2 * n1)",
        "as_floats(s1 * n1 - s2 * n2)",
        "contrast",
        2,
    ),
    Fault(
        "a count takes in the whole past",
        "aggregates",
        "turn = np.maximum(after(here, at, span), oldest)",
        "turn = oldest",
        "surprise_count",
        3,
    ),
    Fault(
        "a count is known where the cap cut inside its span",
        "aggregates",
        "unknown = cut & (",
        "unknown = (cut & False) & (",
        "surprise_count",
        72,
    ),
    Fault(
        "a silence opens at its deadline when the next event comes then",
        "silence",
        "stays = until[rows] > deadline",
        "stays = until[rows] >= deadline",
        "silence",
        8,
    ),
    Fault(
        "a silence asks for one event more",
        "silence",
        ">= body.at_least - 1",
        ">= body.at_least",
        "silence",
        3,
    ),
    Fault(
        "an evaluated event without indicators is in no history",
        "histories",
        "self.evaluated.copy() if evaluated else",
        "self.evaluated & False if evaluated else",
        "cover",
        0,
    ),
    Fault(
        "an event that lacks a field of the key is in a history",
        "histories",
        "                lacking |= codes < 0\n",
        "",
        "threshold",
        0,
    ),
    Fault(
        "positions in the whole history are those in this one",
        "histories",
        "        if self.whole is self:\n            return positions\n",
        "        return positions\n",
        "usual",
        0,
    ),
    Fault(
        "a reading that is no number is not carried",
        "histories",
        "column.known(self.size) if column.carried is None else column.carried\n        return None",
        "column.known(self.size) & (column.num is not None)\n        return None",
        "threshold",
        12,
    ),
    Fault(
        "a block ends within a subject",
        "histories",
        "end = min(int(ends[k]),",
        "end = min(start + 7, int(ends[k]),",
        "threshold",
        0,
    ),
    Fault(
        "texts have no codes",
        "table",
        "texts.encode(values) if any(issubclass(kind, str)",
        "texts.encode(values) if not any(issubclass(kind, str)",
        "threshold",
        0,
    ),
)

IN_CHUNKS = (
    Fault(
        "a state forgets the last firing",
        "chunks",
        "    fired = [memory.fired.get(key, -1) for key in here.keys]\n",
        "    fired = [-1 for key in here.keys]\n",
        "sequence",
        0,
    ),
    Fault(
        "the last firing is one event late",
        "chunks",
        "here.starts - here.before + np.array(fired)",
        "here.starts - here.before + np.array(fired) + 1",
        "sequence",
        2,
    ),
    Fault(
        "an episode that is open is forgotten",
        "chunks",
        "        memory.opened[key] = (match, peak)\n",
        "        pass\n",
        "threshold",
        0,
    ),
    Fault(
        "an episode that goes on is told from its middle",
        "chunks",
        "        match, peak = continued(*memory.opened.pop(key), match, peak)\n",
        "        memory.opened.pop(key)\n",
        "threshold",
        0,
    ),
    Fault(
        "of equal peaks the earlier one stays",
        "matches",
        ">= (rank(earlier.severity), peak_confidence)",
        "> (rank(earlier.severity), peak_confidence)",
        "threshold",
        2,
    ),
    Fault(
        "events of an episode are counted anew",
        "matches",
        "count=earlier.count + later.count",
        "count=later.count",
        "threshold",
        2,
    ),
    Fault(
        "one row too few is kept",
        "chunks",
        "keep(here, np.minimum(again - back, here.ends - 1))",
        "keep(here, np.minimum(again - back + 1, here.ends - 1))",
        "surprise_count",
        20,
    ),
    Fault(
        "rows of the whole history are not kept",
        "chunks",
        "keep(whole, again_whole - max(over))",
        "keep(whole, again_whole)",
        "usual",
        10,
    ),
    Fault(
        "rows that keep= keeps are forgotten",
        "chunks",
        "            needed[histories.block_rows(at[newest])] = True\n",
        "            pass\n",
        "count",
        9,
    ),
    Fault(
        "a silence that goes on is not looked at again",
        "silence",
        "        tested &= ~here.old | newest\n",
        "        tested &= ~here.old\n",
        "silence",
        3,
    ),
)
"""Faults in what is carried between chunks."""
