"""HTML pages: one file with everything in it, which loads nothing. Templates escape every text."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..app.result import Analysis
from ..app.run_record import Run, RunEpisode
from ..models import SEVERITIES, Detection, Evidence
from . import charts, coverage, plots, runs, svg, wording
from .charts import Who
from .coverage import Coverage
from .runs import fleet_text
from .wording import clean, plural, stamp

if TYPE_CHECKING:
    from ..app.chat.scores import Followed, Scored
    from ..risk.calibration import Reliability


TEMPLATES = Path(__file__).with_name("templates")
OPTIONS = 1_000
"""Names in one list of the filter."""
LONG_WORD = 24
"""A cell with a longer word may be broken anywhere."""
LIMITS = {"most_reasons": 200, "most_faults": 20, "most_runs": 30, "open_runs": 3, "most_episodes": 40}
RUN_ROWS = 50
TALKS, TURNS, REASONS = 200, 2_000, 5
"""Conversations, turns of each, and changes of the risk of each turn on a page."""
PATTERNS = 200
FRAME = {"width": "100%", "height": 600, "frameborder": 0}
"""The size of a page in a notebook."""


@cache
def environment() -> Environment:
    """Where templates live: autoescape is on, unknown names are errors, control characters spelled out."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=svg.safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for module, names in (
        (wording, "clean plural sentence stamp title_of until_text mute_text value_text whom"),
        (
            runs,
            "agents_text episode_text fleet_text outcome_text repeated_text run_name totals_text tried_text",
        ),
        (charts, "shown_evidence"),
        (plots, "lane_part"),
    ):
        env.filters |= {name: getattr(module, name) for name in names.split()}
    env.filters["anchor"] = charts.detection_anchor
    env.globals |= {"chip": svg.chip, "mark": svg.mark, "definitions": svg.definitions, "is_long": is_long}
    return env


def render(template: str, style: str, script: str = "", **context: Any) -> str:
    """A whole page; its policy admits nothing but its own style and script."""
    scripts = f"script-src {digest(script)}; " if script else ""
    policy = (
        f"default-src 'none'; style-src {digest(style)}; {scripts}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"policy": Markup(policy), "style": Markup(style), "script": Markup(script)}
    return environment().get_template(template).render(**own, **context) + "\n"


@cache
def asset(name: str) -> str:
    """A style or script of ours."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which a policy admits an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def is_long(text: str) -> bool:
    """Whether a cell has a word that is too long for a column."""
    return any(len(word) > LONG_WORD for word in str(text).split())


# --- the report of an analysis --------------------------------------------------------------


def page(
    analysis: Analysis,
    covered: Coverage | None = None,
    *,
    muted: bool = False,
    runs: Sequence[Run] = (),
) -> str:
    """The whole report of an analysis (made with `traced=True`) as HTML.

    `muted` shows muted detections too; `runs` are those of agents, ranked. The same analysis gives the
    same page: there is no clock and no chance in it.
    """
    by = {detection.id: entry for detection, entry in analysis.muting.muted} if muted else {}
    shown = (*analysis.detections, *(detection for detection, _ in analysis.muting.muted if muted))
    who_first = dict.fromkeys((own[0].source, own[0].subject) for own in charts.by_history(shown))
    numbers = {who: number for number, who in enumerate(who_first)}
    detections = wording.ranked(shown) if analysis.as_of is not None else []
    patterns = sorted({(clean(detection.pattern), wording.title_of(detection, 80)) for detection in shown})
    subjects = sorted(((str(n), clean(who[1], 80)) for who, n in numbers.items()), key=lambda pair: pair[1])
    hidden, untimed = analysis.muting.shown, analysis.traces.untimed
    counts = Counter(detection.severity for detection in analysis.detections)
    count = plural(len(analysis.detections), "detection") if counts else "No detections"
    where = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
    if runs:
        where = f"{count} in {where}"
    if analysis.as_of and not untimed:
        where += f", as of {stamp(analysis.as_of)} UTC"

    def period(detection: Detection) -> str:
        return wording.span(detection.opened_at, detection.closed_at, timed=detection.source not in untimed)

    def evidence_cells(detection: Detection, row: Evidence, excerpts: bool) -> list[str]:
        when = stamp(row.at, timed=detection.source not in untimed)
        readings = clean(wording.pairs_text(row.readings), 600)
        cells = [clean(row.step, 60), when, clean(row.event, 80), readings]
        return [*cells, clean(row.excerpt or "")] if excerpts else cells

    return render(
        "report.html",
        asset("style.css"),
        asset("script.js"),
        title="ethogram report",
        analysis=analysis,
        heading=fleet_text(runs) or count,
        where=where if analysis.events else "There are no events in this input.",
        tiles=[(severity, counts[severity]) for severity in reversed(SEVERITIES)] if counts else [],
        detections=detections,
        rows=charts.rows_for(len(shown)),
        numbers=numbers,
        muted=by,
        severities=[
            severity
            for severity in reversed(SEVERITIES)
            if any(detection.severity == severity for detection in shown)
        ],
        choices=[
            ("pattern", "Pattern", "all patterns", patterns[:OPTIONS]),
            ("subject", "Subject", "all subjects", subjects[:OPTIONS]),
        ],
        chart=charts.chart(shown, analysis.traces, analysis.as_of, numbers)
        if detections and analysis.as_of
        else Markup(""),
        period=period,
        evidence_cells=evidence_cells,
        facts=detection_facts,
        untimed=untimed,
        **_runs(runs, numbers if detections else {}),
        coverage=covered or Coverage(),
        reasons=sorted(analysis.insufficient.counts().items()),
        untrusted=list(coverage.untrusted_rows(hidden)),
        untrusted_file=clean(hidden[0][1].untrusted) if hidden else "",
        **LIMITS,
    )


def fragment(analysis: Analysis) -> str:
    """The page in a frame of its own, to stand in a notebook; nothing in it runs."""
    title = f"{plural(len(analysis.detections), 'detection')} by ethogram"
    return str(svg.tag("iframe", srcdoc=Markup.escape(page(analysis)), sandbox=True, title=title, **FRAME))


def detection_facts(detection: Detection, muted: str | None) -> list[tuple[str, str]]:
    """Names and values of the line under a detection."""
    rows = [
        ("pattern", f"{clean(detection.pattern, 80)} {clean(detection.version, 20)}"),
        ("confidence", f"{detection.confidence:.2f}"),
        ("measured by", clean(detection.scorer, 120)),
        ("id", clean(detection.id, 60)),
    ]
    if detection.probability is not None:
        rows.insert(2, ("right by verdicts", f"{detection.probability:.0%}"))
    return rows if muted is None else [*rows, ("muted by", clean(muted, 60))]


def _runs(ranked: Sequence[Run], numbers: Mapping[Who, int]) -> dict[str, Any]:
    """The runs, the rows of their table with links, and what the filter asks of each."""

    def episode_facts(episode: RunEpisode, run: Run) -> str:
        whose = numbers.get((run.source, episode.subject), "")
        return f"{episode.severity},{clean(episode.pattern)},{whose}"

    with_detections = [run for run in ranked if run.episodes]
    links = {id(run): index for index, run in enumerate(with_detections[: LIMITS["most_runs"]])}
    rows = [
        (
            run,
            runs.cells_of(run),
            links.get(id(run)),
            " ".join(dict.fromkeys(episode_facts(episode, run) for episode in run.episodes)),
        )
        for run in ranked[:RUN_ROWS]
    ]
    return {
        "runs": ranked,
        "found_runs": with_detections,
        "run_rows": rows,
        "run_heads": runs.HEADS,
        "episode_facts": episode_facts,
    }


# --- conversations --------------------------------------------------------------------------


def chat_page(turns: Sequence[Scored], followed: Mapping[str, Followed], *, excerpts: bool = False) -> str:
    """Scored conversations; what was said is there only with `excerpts`."""
    from ..app.chat.scores import COMBINED, excerpt, summary_record
    from .chat import (
        UNMEASURED,
        evaluator_text,
        highest_text,
        is_unmeasured,
        never_measured,
        reasons,
        rises_text,
    )

    by_talk: dict[str, list[Scored]] = {}
    for turn in turns:
        by_talk.setdefault(turn.turn.thread, []).append(turn)
    records = [{**summary_record(name, talk), "rows": by_talk[name]} for name, talk in followed.items()]
    records.sort(key=lambda record: -record["highest_risk"])
    counts = [plural(len(records), "conversation"), plural(sum(talk["turns"] for talk in records), "turn")]

    heading = f"Highest: {records[0]['highest_mode']}" if records else "No conversations"
    if records and all(map(never_measured, records)):
        heading = UNMEASURED.capitalize()

    def talk_facts(talk: Mapping[str, Any]) -> str:
        facts = f"{plural(talk['turns'], 'turn')}, {highest_text(talk)}"
        return "; ".join(part for part in (facts, rises_text(talk), evaluator_text(talk)) if part)

    def mode_mark(mode: str, is_known: bool = True) -> Markup:
        return svg.tag("span", mode if is_known else UNMEASURED, class_=f"mode l-{plots.SEVERITY_OF[mode]}")

    def curve_of(rows: Sequence[Scored]) -> Markup:
        return plots.curve([turn.state.risk for turn in rows], [turn.state.mode.name for turn in rows])

    return render(
        "chat.html",
        asset("style.css") + asset("chat.css"),
        title="ethogram chat",
        heading=heading,
        where=", ".join(counts) if records else "There are no turns in this input.",
        talks=records[:TALKS],
        more=len(records[TALKS:]),
        combined=COMBINED,
        excerpts=excerpts,
        excerpt=excerpt,
        most_turns=TURNS,
        talk_facts=talk_facts,
        curve_of=curve_of,
        reasons=lambda turn: list(reasons(turn, REASONS)),
        mode_mark=mode_mark,
        is_unmeasured=is_unmeasured,
        never_measured=never_measured,
    )


# --- calibration ----------------------------------------------------------------------------


def calibration_page(calibrated: Sequence[Reliability]) -> str:
    """What confidences have meant: a reliability plot and its table for each pattern."""
    verdicts = plural(sum(pattern.verdicts for pattern in calibrated), "verdict")
    return render(
        "calibration.html",
        asset("style.css") + asset("calibration.css"),
        title="ethogram calibration",
        where=f"{plural(len(calibrated), 'pattern')}, {verdicts}",
        patterns=calibrated[:PATTERNS],
        more=len(calibrated[PATTERNS:]),
        reliability_plot=plots.reliability_plot,
    )
