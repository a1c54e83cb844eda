"""What others would do instead: a hand-written loop, sqlite3, DuckDB and Polars. Their whole text is here.

`python peers.py hand_loop FILE` and `python peers.py plain_store FILE DATABASE` are the peers of commands.
The others answer the question of the kernel: (shape, row at which it fired or opened). "Start after the last
firing" is settled by `greedy` for all of them, since neither query language says it well.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.speed.data import Evaluations

Hits = set[tuple[str, int]]
LENGTHS = {"love_bombing": 4, "darvo": 3, "con_game": 4, "sandbagging": 6}
TIE = 1e-9


def hand_loop(path: str) -> None:
    """Three warm events of a subject towards a target, then pressure: fixed limits, no evidence."""
    histories = defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            at, readings = datetime.fromisoformat(event["at"]), event["readings"]
            row = (at, readings["compassion"], readings["manipulation"])
            histories[event["subject"], event["target"]].append(row)
    for (subject, target), rows in histories.items():
        rows.sort()
        warm = 0
        for at, compassion, manipulation in rows:
            if compassion > 0.6:
                warm += 1
            elif warm >= 3 and manipulation > 0.4:
                print(subject, target, at)
                warm = 0


def plain_store(path: str, database: str) -> None:
    """Events into a table with two indexes, in one commit: no checks, no resuming."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE events (id UNIQUE, at, subject, target, readings)")
    connection.execute("CREATE INDEX by_subject ON events (subject, at)")
    connection.execute("BEGIN")
    with open(path, encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        values = (
            (row["id"], row["at"], row["subject"], row["target"], json.dumps(row["readings"])) for row in rows
        )
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", values)
    connection.execute("COMMIT")


def greedy(rows: Iterable[int], length: int) -> list[int]:
    """Firings that do not share an event with the one before.

    >>> greedy([5, 6, 8], 3)
    [5, 8]
    """
    kept: list[int] = []
    for row in sorted(rows):
        if not kept or row - length + 1 > kept[-1]:
            kept.append(row)
    return kept


def python_loop(data: Evaluations) -> Callable[[], Hits]:
    """A loop over lists, one subject after the other, with running sums."""
    subject = data.subject.tolist()
    c, m, d, e, g, f, a = (
        data.traits[name].tolist()
        for name in (
            "compassion", "manipulation", "deception", "exploitation", "goodwill", "fabrication", "accuracy",
        )
    )  # fmt: skip
    observed = data.observed.tolist()

    def run() -> Hits:
        hits: dict[str, list[int]] = {name: [] for name in LENGTHS}
        opened: Hits = set()
        last, start = None, 0
        faking = wavering = False
        n = n1 = n0 = 0
        s1 = s0 = sc = scc = sm = sim = 0.0
        for i, who in enumerate(subject):
            if who != last:
                last, start, faking, wavering = who, i, False, False
                n = n1 = n0 = 0
                s1 = s0 = sc = scc = sm = sim = 0.0
            k = i - start
            if m[i] > 0.5:
                if k >= 3 and c[i] < 0.3 and c[i - 1] > 0.6 and c[i - 2] > 0.6 and c[i - 3] > 0.6:
                    hits["love_bombing"].append(i)
                if k >= 3 and f[i - 1] > 0.5 and g[i - 2] > 0.6 and g[i - 3] > 0.6:
                    hits["con_game"].append(i)
            if k >= 2 and e[i] > 0.5 and m[i - 1] > 0.5 and d[i - 2] > 0.5:
                hits["darvo"].append(i)
            if k >= 5 and a[i] < 0.3 and min(a[i - 5 : i]) > 0.7:
                hits["sandbagging"].append(i)
            x, y = c[i], m[i]
            if observed[i]:
                n1 += 1
                s1 += y
            else:
                n0 += 1
                s0 += y
            when = n1 >= 5 and n0 >= 5 and s1 / n1 < 0.2 and s0 / n0 > 0.5
            if when and not faking:
                opened.add(("alignment_faking", i))
            faking = when
            sc += x
            scc += x * x
            sm += y
            sim += n * y
            n += 1
            when = n >= 5 and scc / n - (sc / n) ** 2 > 0.09 and sim - sm * (n - 1) / 2 > TIE
            if when and not wavering:
                opened.add(("intermittent_reward", i))
            wavering = when
        return opened | {(name, i) for name, rows in hits.items() for i in greedy(rows, LENGTHS[name])}

    return run


_DUCKDB = """
WITH t AS (
  SELECT row, subject,
    compassion c0, lag(compassion, 1) OVER w c1, lag(compassion, 2) OVER w c2, lag(compassion, 3) OVER w c3,
    manipulation m0, lag(manipulation, 1) OVER w m1, lag(deception, 2) OVER w d2, exploitation e0,
    lag(fabrication, 1) OVER w f1, lag(goodwill, 2) OVER w g2, lag(goodwill, 3) OVER w g3,
    accuracy a0, min(accuracy) OVER w5 a5, count(accuracy) OVER w5 n5,
    count(*) FILTER (observed = 1) OVER u n1, count(*) FILTER (observed = 0) OVER u n0,
    avg(manipulation) FILTER (observed = 1) OVER u m_1, avg(manipulation) FILTER (observed = 0) OVER u m_0,
    count(*) OVER u n, stddev_pop(compassion) OVER u sd, regr_slope(manipulation, row) OVER u slope
  FROM evaluations
  WINDOW w AS (PARTITION BY subject ORDER BY row),
    w5 AS (PARTITION BY subject ORDER BY row ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING),
    u AS (PARTITION BY subject ORDER BY row ROWS BETWEEN 511 PRECEDING AND CURRENT ROW)
), s AS (
  SELECT row, subject,
    m0 > .5 AND c0 < .3 AND c1 > .6 AND c2 > .6 AND c3 > .6 love_bombing,
    e0 > .5 AND m1 > .5 AND d2 > .5 darvo,
    m0 > .5 AND f1 > .5 AND g2 > .6 AND g3 > .6 con_game,
    a0 < .3 AND n5 = 5 AND a5 > .7 sandbagging,
    n1 >= 5 AND n0 >= 5 AND m_1 < .2 AND m_0 > .5 alignment_faking,
    n >= 5 AND sd > .3 AND slope * (n - 1) > 1e-9 intermittent_reward
  FROM t
), o AS (
  SELECT row, love_bombing, darvo, con_game, sandbagging,
    alignment_faking AND NOT coalesce(lag(alignment_faking) OVER w, false) alignment_faking,
    intermittent_reward AND NOT coalesce(lag(intermittent_reward) OVER w, false) intermittent_reward
  FROM s WINDOW w AS (PARTITION BY subject ORDER BY row)
)
SELECT * FROM o
WHERE love_bombing OR darvo OR con_game OR sandbagging OR alignment_faking OR intermittent_reward
"""


def duckdb_query(data: Evaluations, threads: int) -> Callable[[], Hits]:
    """One query with window functions over a native table."""
    import duckdb
    import numpy as np
    import pyarrow as pa

    columns = {"row": np.arange(data.rows), "subject": data.subject, "observed": data.observed, **data.traits}
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("SET enable_progress_bar = false")
    connection.register("given", pa.table(columns))
    connection.execute("CREATE TABLE evaluations AS SELECT * FROM given")

    def run() -> Hits:
        table = connection.execute(_DUCKDB).fetchnumpy()
        return _settled({name: table["row"][_mask(table[name])].tolist() for name in table if name != "row"})

    return run


def _mask(column: Any) -> Any:
    import numpy as np

    return np.ma.filled(column, False).astype(bool)


def _settled(rows: dict[str, list[int]]) -> Hits:
    return {
        (name, row)
        for name, found in rows.items()
        for row in (greedy(found, LENGTHS[name]) if name in LENGTHS else found)
    }


def polars_over(data: Evaluations) -> Callable[[], Hits]:
    """Expressions with over("subject"); running sums for the two aggregates."""
    import numpy as np
    import polars as pl

    columns = {"row": np.arange(data.rows), "subject": data.subject, "observed": data.observed, **data.traits}
    frame = pl.DataFrame(columns)

    def before(name: str, n: int) -> pl.Expr:
        return pl.col(name).shift(n).over("subject")

    def so_far(expr: pl.Expr) -> pl.Expr:
        return expr.cum_sum().over("subject")

    c, m, watched = pl.col("compassion"), pl.col("manipulation"), pl.col("observed")
    n = pl.int_range(1, pl.len() + 1).over("subject")
    i = pl.col("row") - pl.col("row").min().over("subject")
    n1, n0 = so_far(watched), so_far(1 - watched)
    mean1, mean0 = so_far(m * watched) / n1, so_far(m * (1 - watched)) / n0
    variance = so_far(c * c) / n - (so_far(c) / n) ** 2
    rising = so_far(i * m) - so_far(m) * (n - 1) / 2
    shapes = {
        "love_bombing": (m > 0.5)
        & (c < 0.3)
        & pl.all_horizontal(before("compassion", k) > 0.6 for k in (1, 2, 3)),
        "darvo": (pl.col("exploitation") > 0.5)
        & (before("manipulation", 1) > 0.5)
        & (before("deception", 2) > 0.5),
        "con_game": (m > 0.5)
        & (before("fabrication", 1) > 0.5)
        & (before("goodwill", 2) > 0.6)
        & (before("goodwill", 3) > 0.6),
        "sandbagging": (pl.col("accuracy") < 0.3)
        & pl.all_horizontal(before("accuracy", k) > 0.7 for k in range(1, 6)),
        "alignment_faking": (n1 >= 5) & (n0 >= 5) & (mean1 < 0.2) & (mean0 > 0.5),
        "intermittent_reward": (n >= 5) & (variance > 0.09) & (rising > TIE),
    }
    thresholds = ("alignment_faking", "intermittent_reward")
    opening = [
        (pl.col(k) & ~pl.col(k).shift(1).over("subject").fill_null(False)).alias(k) for k in thresholds
    ]

    def run() -> Hits:
        found = frame.lazy().select("row", "subject", **shapes).with_columns(opening)
        kept = found.filter(pl.any_horizontal(pl.col(name) for name in shapes)).collect()
        return _settled({k: kept.filter(pl.col(k))["row"].to_list() for k in shapes})

    return run


def column_floor(data: Evaluations) -> Callable[[], Hits]:
    """Reading every needed column once: no question can be answered faster."""

    def run() -> Hits:
        for values in (*data.traits.values(), data.observed):
            values.sum()
        return set()

    return run


if __name__ == "__main__":
    if sys.argv[1] == "hand_loop":
        hand_loop(sys.argv[2])
    else:
        plain_store(*sys.argv[2:4])
