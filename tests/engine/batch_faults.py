"""Faults to be put into the batch runner, and a loader of a runner that has one.

Each is (what is wrong, module, text, replacement, case that shows it). A case is a kind of shape or a
measure, and a seed of `strategies.random_case`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "ethogram.engine.columns"


@dataclass(frozen=True)
class Fault:
    """One fault, and the case that shows it."""

    says: str
    module: str
    text: str
    instead: str
    kind: str
    seed: int


class Patched(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module of the batch runner with a text replaced."""

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
def faulty(fault: Fault) -> Iterator[Callable[..., Any]]:
    """The batch runner with a fault in it; afterwards everything is as before."""
    ours = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE)}
    for name in ours:
        del sys.modules[name]
    finder = Patched(fault)
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(f"{PACKAGE}.run").run
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]
        sys.modules.update(ours)


FAULTS = (
    Fault(
        "a place may take the event of the place before",
        "sequence",
        'came = np.searchsorted(earlier, found, "left") - 1',
        'came = np.searchsorted(earlier, found, "right") - 1',
        "sequence",
        0,
    ),
    Fault(
        "max_gap counts one event too many",
        "sequence",
        "end - start - 1 <= place.max_gap",
        "end - start <= place.max_gap",
        "sequence",
        1,
    ),
    Fault(
        "never looks at the event it starts from",
        "sequence",
        "(marks[newest] > start)",
        "(marks[newest] >= start)",
        "sequence",
        1,
    ),
    Fault(
        "never looks at the event it ends at",
        "sequence",
        'newest = np.searchsorted(marks, end, "left") - 1',
        'newest = np.searchsorted(marks, end, "right") - 1',
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
    Fault(
        "a duration is not inclusive",
        "sequence",
        "<= limit.us",
        "< limit.us",
        "sequence",
        40,
    ),
    Fault(
        "durations count without times",
        "sequence",
        "isinstance(limit, Duration) and arranged.timed",
        "isinstance(limit, Duration)",
        "sequence",
        570,
    ),
    Fault(
        "a chain may start at the last firing",
        "sequence",
        "out.append(first[k] > fired)",
        "out.append(first[k] >= fired)",
        "sequence",
        4,
    ),
    Fault(
        "the last firing is its first event",
        "sequence",
        "            fired = last[k]\n",
        "            fired = first[k]\n",
        "sequence",
        4,
    ),
    Fault(
        "a chain without gaps crosses histories",
        "sequence",
        "        here[at.arranged.starts] = False\n",
        "",
        "sequence",
        80,
    ),
    Fault(
        "a chain crosses histories",
        "sequence",
        "(before >= at.arranged.start_of(found))",
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
        "        going &= reaches(at.arranged, body.within, earlier, fired[-1], both_ends=True)\n",
        "",
        "sequence",
        88,
    ),
    Fault(
        "also ignores max_gap",
        "sequence",
        "            going &= here - earlier - 1 <= place.max_gap\n",
        "            pass\n",
        "sequence",
        206,
    ),
    Fault(
        "an optional step takes the event on its left",
        "sequence",
        "(newest > low)",
        "(newest >= low)",
        "sequence",
        7,
    ),
    Fault(
        "optional steps may be filled in any order",
        "sequence",
        "right[optional.after] = np.where(found >= 0, found, high)",
        "right[one.after] = high",
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
        "unknown closes a threshold",
        "threshold",
        "some.fails(body.when)",
        "~some.holds(body.when)",
        "threshold",
        26,
    ),
    Fault(
        "an episode goes on into the next history",
        "threshold",
        " & (arranged.start_of(moves[1:]) <= moves[:-1])",
        "",
        "threshold",
        3,
    ),
    Fault(
        "of equal peaks the first is taken",
        "run",
        "np.maximum.reduceat(np.where(score == best, rows, -1), begins)",
        "np.minimum.reduceat(np.where(score == best, rows, 1 << 60), begins)",
        "trend",
        0,
    ),
    Fault(
        "the lowest severity that holds is taken",
        "threshold",
        "for k, (_, condition) in enumerate(self.program.severities):",
        "for k, (_, condition) in reversed(list(enumerate(self.program.severities))):",
        "threshold",
        1,
    ),
    Fault(
        "the cap is ignored",
        "windows",
        "np.maximum(start, positions + 1 - at.cap)",
        "start",
        "rate",
        0,
    ),
    Fault(
        "a duration reaches back to its very end",
        "windows",
        'np.searchsorted(line, line[positions] - back, "right")',
        'np.searchsorted(line, line[positions] - back, "left")',
        "fading",
        2,
    ),
    Fault(
        "of equally frequent values the first",
        "aggregates",
        "most = top(part, times)",
        "most = top(part[::-1], times)",
        "top",
        0,
    ),
    Fault(
        "since includes the event that meets it",
        "windows",
        "newest + 1, low)",
        "newest, low)",
        "cover",
        6,
    ),
    Fault(
        "keep keeps one too many",
        "windows",
        "high - keep), high",
        "high - keep - 1), high",
        "sequence",
        3,
    ),
    Fault(
        "a skipped duration does not move now",
        "windows",
        "        now = now - window.skip.us\n",
        "",
        "fading",
        2,
    ),
    Fault(
        "where is not asked",
        "windows",
        "        held = read.holds(where)\n        valid = held if valid is None else valid & held\n",
        "        pass\n",
        "threshold",
        0,
    ),
    Fault(
        "over=subject looks at this history",
        "windows",
        "        here, positions = here.whole, here.in_whole(positions)\n",
        "        pass\n",
        "usual",
        0,
    ),
    Fault(
        "above has no tolerance",
        "numbers",
        "return high if above(high, c) else math.inf",
        "return math.nextafter(c, math.inf)",
        "share",
        2,
    ),
    Fault(
        "different from something absent is true",
        "expressions",
        "return known & ~equal, unsure",
        "return ~equal, unsure",
        "rate",
        0,
    ),
    Fault(
        "a share counts unknown ones",
        "aggregates",
        "look.trues() / look.n)",
        "look.trues() / (look.ranges.high - look.ranges.low))",
        "sequence",
        2,
    ),
    Fault(
        "at_least asks for one more",
        "aggregates",
        "look.n < expr.window.at_least",
        "look.n <= expr.window.at_least",
        "threshold",
        2,
    ),
    Fault(
        "a run goes on beyond the window",
        "aggregates",
        "np.maximum(_equal_since(look), look.a)",
        "_equal_since(look)",
        "run",
        3,
    ),
    Fault(
        "a prior is left out",
        "aggregates",
        "x = (n0 * m + total)",
        "x = total",
        "usual",
        1,
    ),
    Fault(
        "a silence opens at its deadline when the next event comes then",
        "silence",
        "(until > deadline)",
        "(until >= deadline)",
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
        "blocks",
        "block.evaluated.copy() if evaluated else",
        "block.evaluated & False if evaluated else",
        "cover",
        0,
    ),
    Fault(
        "an indicator that was not found is absent",
        "expressions",
        "np.where(zero, 0.0, num)",
        "num",
        "mean",
        0,
    ),
    Fault(
        "the first event has a gap",
        "expressions",
        "np.where(at > start, (times",
        "np.where(at >= start, (times",
        "silence",
        2,
    ),
    Fault(
        "a screen leaves out the event at which there are enough",
        "screen",
        ">= least - 1]",
        "> least - 1]",
        "std",
        258,
    ),
    Fault(
        "a screen takes what is negative for what is positive",
        "screen",
        "+ sums) / 2",
        "- sums) / 2",
        "mean",
        7,
    ),
    Fault(
        "a screen goes on from one history into the next",
        "screen",
        "    before -= np.repeat(before[first], np.diff(first, append=len(starts)))\n",
        "",
        "mean",
        84,
    ),
    Fault(
        "a screen looks above for what is below",
        "screen",
        "(c + slack) - windows.values",
        "windows.values - (c + slack)",
        "mean",
        310,
    ),
    Fault(
        "all so far counts what where leaves out",
        "windows",
        "            valid = held if valid is None else valid & held\n",
        "            pass\n",
        "mean",
        73,
    ),
    Fault(
        "all so far goes on from one history into the next",
        "windows",
        "ints: Ints = before[1:] - np.repeat(before[starts], lengths)",
        "found: Ints = before[1:]",
        "mean",
        45,
    ),
    Fault(
        "a few windows count what where leaves out",
        "aggregates",
        "            self.valid = held if self.valid is None else self.valid & held\n",
        "            pass\n",
        "threshold",
        168,
    ),
    Fault(
        "places in a window count from 1",
        "windows",
        "out: Ints = so_far - 1 -",
        "out: Ints = so_far -",
        "rise",
        414,
    ),
    Fault(
        "sums take in what does not count",
        "windows",
        "            whole[1:] *= valid\n",
        "            pass\n",
        "mean",
        73,
    ),
)

AMONG_MANY = (
    Fault(
        "what is known at the end needs one more",
        "known",
        "need = max(",
        "need = -1 + max(",
        "threshold",
        0,
    ),
    Fault(
        "a chain without gaps ends after its history",
        "sequence",
        "first[first + size <= at.arranged.ends[number]]",
        "first",
        "sequence",
        0,
    ),
    Fault(
        "a cover counts what it did not find",
        "aggregates",
        "(marks[found.high] > marks[found.low])",
        "(marks[found.high] >= marks[found.low])",
        "threshold",
        0,
    ),
    Fault(
        "a cover counts what where leaves out",
        "aggregates",
        "held = held if kept is None else held & kept",
        "held = held",
        "threshold",
        0,
    ),
    Fault(
        "events without a stratum make one",
        "contrast",
        "    both = both[both >= 0]\n",
        "",
        "threshold",
        0,
    ),
    Fault(
        "strata are not levelled",
        "contrast",
        "level[1].add(second.moved(middle, both))",
        "level[1].add(second)",
        "threshold",
        0,
    ),
    Fault(
        "a sample variance is that of all",
        "contrast",
        "spread / (self.n - 1) / self.n",
        "spread / self.n / self.n",
        "threshold",
        0,
    ),
    Fault(
        "a count takes in the whole past",
        "aggregates",
        "turn = np.maximum(until(here, positions, span), oldest)",
        "turn = oldest",
        "threshold",
        0,
    ),
)
"""Faults that only many histories side by side show; kind and seed are not used."""
