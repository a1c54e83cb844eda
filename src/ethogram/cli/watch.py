"""`ethogram watch`: follow growing files, and report detections as they happen."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import click

from ..app.analyze import load_library
from ..app.evaluation.questions import Interrupts
from ..app.following import Follower, Look
from ..app.run_record import Run, RunEpisode
from ..errors import BadEvents, BadUsage
from ..integrations.exporters.base import Record
from ..models import Detection, rank
from ..models.detection import StepRange
from ..remote.webhook import Webhook
from ..report.runs import episode_text, steps_text
from ..report.wording import plural, sentence, span, title_of, whom
from ..store import open_store
from . import options as o
from .errors import warn
from .export import Exports, Sink, sinks_of
from .output import Progress, flush, write_json, write_line

EVERY = "1s"
SHARE = 4
"""A pause lasts at least so many times as long as the look before it."""
PATIENCE = 10.0
"""Seconds that a bad line may stay unchanged, since it may still be written."""
COMMAND_SECONDS = 60.0


def watch(
    paths: Annotated[list[str], o.arg("Follow these files or folders.", "PATH")],
    patterns: o.Patterns = o.NONE,
    as_json: o.AsJson = False,
    command: Annotated[
        str, o.opt("Run this for each detection; its JSON is on stdin.", metavar="CMD", panel=o.OUTPUT)
    ] = "",
    webhook: Annotated[
        str, o.opt("Post each detection as JSON; https or this machine.", metavar="URL", panel=o.OUTPUT)
    ] = "",
    exports: Exports = o.NONE,
    store: Annotated[
        str, o.opt("Keep detections; report none of them twice.", metavar="URL", panel=o.OUTPUT)
    ] = "",
    once: Annotated[bool, o.opt("Look once and exit.", "--once")] = False,
    until_idle: Annotated[
        str, o.opt("Exit after this long without a change, like 30s.", metavar="DURATION")
    ] = "",
    every: Annotated[str, o.opt("Look for changes this often.", metavar="DURATION")] = EVERY,
    fail_on: o.FailOn = "",
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    evaluator: Annotated[
        str, o.opt("Score flagged messages first: local, openai, ...", metavar="NAME", panel=o.SCORING)
    ] = "",
    scoring: o.ScoringOptions = o.NO_SCORING,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Follow growing files and report detections as they happen.

    Ctrl-C ends it with exit code 0. A last line without an end is read when it is complete.
    """
    if not paths:
        raise click.BadParameter("missing input: name files or folders to follow")
    if "-" in paths:
        raise BadUsage("-: standard input cannot be followed: name a file, or use ethogram analyze -")
    idle, pause = o.seconds_of(until_idle, "--until-idle"), o.seconds_of(every, "--every") or 0.0
    if pause <= 0:
        raise BadUsage("invalid --every: expected more than 0 seconds")
    sinks = [*_sinks(command, webhook), *sinks_of(exports)]
    options = o.InputOptions(paths, "", config, source, skip_bad, scorers, parameters, fail_on, as_json, run)
    loaded = options.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    mutes, progress = options.mutes(loaded), Progress()
    with open_store(store, create=True) if store else nullcontext() as opened, Interrupts() as interrupts:
        if opened is not None and opened.private() is not None:
            raise BadUsage("this store keeps people under other names: a watch needs one that does not")
        follower = Follower(
            paths,
            library,
            settings,
            store=opened,
            skip_bad=skip_bad,
            mutes=mutes,
            scoring=lambda spent: scoring.less(spent).make(evaluator, settings, library, progress),
        )
        grave = False
        for look in _looks(follower, interrupts, pause, idle, once=once):
            progress.stop()
            grave |= settings.fail_on is not None and any(
                change in ("new", "risen", "found again") and rank(item.severity) >= rank(settings.fail_on)
                for change, item in look.changes
            )
            _report(look, sinks, as_json=as_json)
            follower.mark(look, o.now())
    if grave:
        raise click.exceptions.Exit(o.FAIL)


def _looks(
    follower: Follower, interrupts: Interrupts, pause: float, idle: float | None, *, once: bool
) -> Iterator[Look]:
    """Look when something has changed, until Ctrl-C or nothing changes any more; the last look is whole."""
    if once:
        yield follower.look(o.now(), whole=True)
        return
    changed, bad = time.monotonic(), None
    try:
        while interrupts.none():
            began = time.monotonic()
            if follower.has_changed():
                changed = began
                try:
                    yield follower.look(o.now())
                    bad = None
                except BadEvents as error:
                    bad = error  # perhaps a document that is being written
            elif bad is not None and began - changed >= PATIENCE:
                raise bad
            elif idle is not None and began - changed >= idle:
                yield follower.look(o.now(), whole=True)
                return
            rest = max(pause, SHARE * (time.monotonic() - began))
            with interrupts.allowed():
                time.sleep(min(rest, idle) if idle else rest)
    except KeyboardInterrupt:
        return


def _report(look: Look, sinks: list[Sink], *, as_json: bool) -> None:
    for change, item in look.changes:
        if not change:
            continue
        detection, timed = replace(item, change=change), item.source not in look.untimed
        if (placed := look.episodes.get(item.id)) is not None:
            episode = placed[0]
            steps = StepRange(episode.from_step, episode.detected_step, episode.to_step)
            detection = replace(detection, steps=steps)
        record = detection.to_dict(timed=timed)
        if as_json:
            write_json(record)
        else:
            for line in _lines(detection, placed, timed=timed):
                write_line(line)
        flush()
        for sink in sinks:
            if why := sink(record):
                warn(f"not delivered: detection {detection.id}: {why}", as_json=as_json)
    if look.bad:
        warn(f"skipped {plural(look.bad, 'invalid line')}", as_json=as_json)


def _lines(detection: Detection, placed: tuple[RunEpisode, Run] | None, *, timed: bool) -> Iterator[str]:
    """What and where; then what repeated in a run, or the explanation."""
    repeats = placed is not None and bool(placed[0].repeated)
    if placed is None or timed:
        when = f"  {span(detection.opened_at, detection.closed_at, timed=timed)}"
    else:
        when = "" if repeats else f"  {steps_text(placed[0])}"
    change = "" if detection.change == "new" else f" ({detection.change})"
    yield f"{detection.severity.upper():8}  {title_of(detection)}{change}  {whom(detection)}{when}"
    yield f"          {episode_text(*placed) if placed and repeats else sentence(detection)}"


def _sinks(command: str, webhook: str) -> Iterator[Sink]:
    if command:
        yield _command(command)
    if webhook:
        yield Webhook(webhook).post


def _command(text: str) -> Sink:
    """Run a program with the detection on standard input; no shell reads the command or the detection."""
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise BadUsage(f"invalid --command {text!r:.80}: {error}") from None
    if not argv or shutil.which(argv[0]) is None:
        raise BadUsage(f"invalid --command {text!r:.80}: no such program {(argv or [''])[0]!r:.80}")

    def deliver(record: Record) -> str:
        body = json.dumps(record, ensure_ascii=True) + "\n"
        try:
            # Its output goes to standard error: ours may be read as JSON.
            done = subprocess.run(
                argv, input=body.encode(), stdout=sys.__stderr__, timeout=COMMAND_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{argv[0]}: {getattr(error, 'strerror', None) or 'took too long'}"
        return "" if done.returncode == 0 else f"{argv[0]} exited with {done.returncode}"

    return deliver
