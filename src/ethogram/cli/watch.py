"""`ethogram watch`: follow growing files or a stream, and report detections as they happen."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import Annotated

import click

from ..app.evaluation.questions import Interrupts
from ..app.live.growing_files import Follower, Look
from ..app.live.stream_consumer import Consumer, EventWriter, Refused, Sweeps
from ..app.run_record import Run, RunEpisode
from ..app.sweep import Sweep
from ..errors import BadEvents, BadUsage
from ..integrations.exporters.base import Record
from ..models import Detection, rank
from ..models.detection import StepRange
from ..remote.webhook import Webhook
from ..report.runs import episode_text, steps_text
from ..report.wording import plural, sentence, skipped_text, span, title_of, whom
from ..store import open_store
from ..streams import Message, is_stream, open_stream
from . import options as o
from .errors import warn
from .export import Exports, Sink, sinks_of
from .output import Progress, flush, write_json, write_line
from .scoring import NO_SCORING, ScoringOptions

EVERY = "1s"
SHARE = 4
"""A pause lasts at least so many times as long as the look before it."""
PATIENCE = 10.0
"""Seconds that a bad line may stay unchanged, since it may still be written."""
COMMAND_SECONDS = 60.0
GATHER_SECONDS = 1.0
"""Seconds for which messages wait for others at most."""
SILENCE_SECONDS = 30.0
"""Seconds until silences are looked for though nothing came."""
REJECTED = "rejected.jsonl"


def watch(
    paths: Annotated[list[str], o.arg("Follow these files or folders, or one stream.", "PATH|URL")],
    options: Annotated[
        o.InputOptions,
        "patterns as_json fail_on skip_bad config source scorers run parameters plugins",
    ] = o.NO_INPUT,
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
    keep_text: Annotated[bool, o.opt("Of a stream: store texts too.", "--keep-text", panel=o.OUTPUT)] = False,
    rejected: Annotated[
        str, o.opt("Of a stream: append refused messages to this.", metavar="FILE", panel=o.OUTPUT)
    ] = REJECTED,
    once: Annotated[bool, o.opt("Look once and exit.", "--once")] = False,
    until_idle: Annotated[
        str, o.opt("Exit after this long without a change, like 30s.", metavar="DURATION")
    ] = "",
    every: Annotated[str, o.opt("Look for changes this often.", metavar="DURATION")] = EVERY,
    evaluator: Annotated[
        str, o.opt("Score flagged messages first: local, openai, ...", metavar="NAME", panel=o.SCORING)
    ] = "",
    scoring: ScoringOptions = NO_SCORING,
) -> None:
    """Follow growing files or a stream; report detections as they happen.

    Ctrl-C ends it with exit code 0. A last line without an end is read when it is complete. A stream is
    redis://HOST/STREAM, nats://HOST/STREAM or kafka://HOST/TOPIC: its events go into --store.
    """
    if not paths:
        raise click.BadParameter("missing input: name files or folders to follow")
    streams = [path for path in paths if is_stream(path)]
    if streams and (len(paths) > 1 or not store):
        raise BadUsage("a stream is watched alone, with --store: messages are acknowledged when stored there")
    if streams and evaluator:
        raise BadUsage("--evaluator is for files: score what a stream stored with ethogram sweep --evaluator")
    if "-" in paths:
        raise BadUsage("-: standard input cannot be followed: name a file, or use ethogram analyze -")
    idle, pause = o.seconds_of(until_idle, "--until-idle"), o.seconds_of(every, "--every") or 0.0
    if pause <= 0:
        raise BadUsage("invalid --every: expected more than 0 seconds")
    sinks = [*_sinks(command, webhook), *sinks_of(exports)]
    loaded, as_json = options.loaded(), options.as_json
    settings, library = loaded.settings, options.library(loaded)
    mutes, progress = options.mutes(loaded), Progress()
    with open_store(store, create=True) if store else nullcontext() as opened, Interrupts() as interrupts:
        if opened is not None and opened.private() is not None:
            raise BadUsage("this store keeps people under other names: a watch needs one that does not")
        if streams and opened is not None:
            with closing(open_stream(streams[0])) as stream:
                writer = EventWriter(opened, settings, keep_text=keep_text, rejected=rejected)
                sweeps = Sweeps(opened, library, settings, mutes=mutes)
                output = partial(report_changes, sinks=sinks, as_json=as_json)
                feed = _Feed(
                    Consumer(stream, writer), sweeps, output, settings.fail_on, rejected, as_json=as_json
                )
                feed.run(interrupts, pause, idle, once=once)
            if feed.is_grave:
                raise click.exceptions.Exit(o.FAIL)
            return
        follower = Follower(
            paths,
            library,
            settings,
            store=opened,
            skip_bad=options.skip_bad,
            mutes=mutes,
            scoring=lambda spent: scoring.less(spent).make(evaluator, settings, library, progress),
        )
        grave, skipped_before = False, dict[str, int]()
        for look in _looks(follower, interrupts, pause, idle, once=once):
            progress.stop()
            grave |= settings.fail_on is not None and any(
                change in ("new", "risen", "found again") and rank(item.severity) >= rank(settings.fail_on)
                for change, item in look.changes
            )
            report_changes(
                look.changes, sinks=sinks, as_json=as_json, untimed=look.untimed, episodes=look.episodes
            )
            if look.bad:
                warn(f"skipped {plural(look.bad, 'invalid line')}", as_json=as_json)
            for what, count in sorted(look.skipped.items()):
                if skipped_before.get(what) != count:
                    warn(f"skipped {skipped_text(what, count, look.not_events)}", as_json=as_json)
            skipped_before = dict(look.skipped)
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
    changed, is_bad = time.monotonic(), False
    try:
        while interrupts.none():
            began = time.monotonic()
            if follower.has_changed():
                changed = began
                try:
                    yield follower.look(o.now())
                    is_bad = False
                except BadEvents:
                    is_bad = True  # perhaps a document that is being written
            elif is_bad and began - changed >= PATIENCE:
                yield follower.look(o.now())  # raises, unless it may be read by now
                is_bad = False
            elif idle is not None and began - changed >= idle:
                yield follower.look(o.now(), whole=True)
                return
            rest = max(pause, SHARE * (time.monotonic() - began))
            with interrupts.allowed():
                time.sleep(min(rest, idle) if idle else rest)
    except KeyboardInterrupt:
        return


class _Feed:
    """Takes messages and sweeps in turn, until Ctrl-C or nothing comes any more."""

    def __init__(
        self,
        consumer: Consumer,
        sweeps: Sweeps,
        report: Callable[[Sequence[tuple[str, Detection]]], None],
        fail_on: str | None,
        rejected: str,
        *,
        as_json: bool,
    ) -> None:
        self._consumer, self._sweeps, self._report, self._fail_on = consumer, sweeps, report, fail_on
        self._rejected, self._as_json = rejected, as_json
        self.is_grave = False

    def run(self, interrupts: Interrupts, pause: float, idle: float | None, *, once: bool) -> None:
        is_due = True  # what another one stored and did not sweep
        came, swept, rest = time.monotonic(), 0.0, 0.0
        try:
            while interrupts.none():
                with interrupts.allowed():
                    messages = self._consumer.gather(min(pause, GATHER_SECONDS))
                is_due |= self._take(messages)
                now = time.monotonic()
                came = now if messages else came
                is_over = not messages and (once or (idle is not None and now - came >= idle))
                is_due |= now - swept >= max(pause, SILENCE_SECONDS)
                if is_due and (is_over or now - swept >= rest):
                    is_due = not self._sweeps.run(o.now, self._changed)
                    swept = time.monotonic()
                    rest = max(pause, swept - now)  # half of the time is for messages
                if is_over and not is_due:
                    return
        except KeyboardInterrupt:
            return

    def _take(self, messages: Sequence[Message]) -> bool:
        """Store messages; whether one of them is new."""
        taken = self._consumer.take(messages, o.now())
        warn_refused(taken.refused, self._rejected, as_json=self._as_json)
        return taken.added > 0

    def _changed(self, done: Sweep) -> None:
        self.is_grave |= self._fail_on is not None and bool(done.at_or_above(self._fail_on))
        self._report([(change.change, change.detection) for change in done.changes])


def warn_refused(refused: Sequence[Refused], rejected: str, *, as_json: bool) -> None:
    """Say of each message why it was refused, and where it is now."""
    for item in refused:
        warn(f"{item.position}: {item.why}: set aside in {rejected}", as_json=as_json)


def report_changes(
    changes: Sequence[tuple[str, Detection]],
    *,
    sinks: Sequence[Sink] = (),
    as_json: bool,
    untimed: Collection[str] = (),
    episodes: Mapping[str, tuple[RunEpisode, Run]] | None = None,
) -> None:
    """Print changes of detections, and send each elsewhere; '' stands for one that is not reported.

    `untimed` are sources without times; `episodes` say where in a run a detection lies, by its id.
    """
    for change, item in changes:
        if not change:
            continue
        detection, timed = replace(item, change=change), item.source not in untimed
        if (placed := (episodes or {}).get(item.id)) is not None:
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
