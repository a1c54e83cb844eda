"""What the service counts, for Prometheus."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..store.records import Change

DETECTED = ("new", "risen", "found again")
"""Changes that are a detection; the others end or withdraw one."""
SWEEPS = ("done", "failed")
PARTS = ("requests", "sweeps", "publication", "delivery")
"""What may fail and go on: answering requests, looking for something new, telling it, delivering it."""
LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self, prefix: str, patterns: Sequence[str]) -> None:
        self.registry = registry = CollectorRegistry()
        self._patterns = tuple(patterns)

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"{prefix}_{name}", what, labels, registry=registry)

        def gauge(name: str, what: str, *labels: str) -> Gauge:
            return Gauge(f"{prefix}_{name}", what, labels, registry=registry)

        self.checks = counter(
            "pattern_detection",
            "Checks of a subject against a pattern, by whether something new was detected.",
            "pattern", "detected", "severity",
        )  # fmt: skip
        self.confidence = Histogram(
            f"{prefix}_pattern_confidence",
            "Confidence of new detections.",
            ("pattern", "detected", "severity"),
            buckets=[step / 20 for step in range(1, 21)],
            registry=registry,
        )
        self.events = counter("events", "Events that requests brought, by outcome.", "outcome")
        self.verdicts = counter("verdicts", "Verdicts given through the service.", "verdict")
        self.evaluations = counter("evaluations", "Messages scored by an evaluator.")
        self.cost = counter("evaluation_cost_dollars", "What evaluators cost, where a price is known.")
        self.sweeps = counter("sweeps", "Looks for something new, by outcome.", "outcome")
        self.last_sweep = gauge(
            "last_sweep_timestamp_seconds", "When the last look was done that did not fail."
        )
        self.failures = counter(
            "failures", "Failures that the service goes on after, by the part that failed.", "part"
        )
        self.deliveries = counter(
            "deliveries", "Deliveries of changes, by receiver and outcome.", "receiver", "outcome"
        )
        self.undelivered = gauge(
            "undelivered_changes", "Changes that wait for a receiver which did not take them.", "receiver"
        )
        self.oldest_undelivered = gauge(
            "oldest_undelivered_seconds", "Seconds that the oldest of them has waited.", "receiver"
        )
        self.refused = counter("refused_requests", "Requests that were refused, by code.", "code")
        self.waiting = gauge("waiting_events", "Events that wait to be written.")
        self.sweep_seconds = Histogram(
            f"{prefix}_sweep_seconds", "How long a look for something new took.", registry=registry
        )
        self.latency = Histogram(
            f"{prefix}_request_seconds",
            "How long requests took.",
            ("route", "method", "status"),
            buckets=LATENCIES,
            registry=registry,
        )

        # From 0, so that an alert rule sees the first increase too.
        for pattern in self._patterns:
            self.checks.labels(pattern, "true", "critical")
        for outcome in SWEEPS:
            self.sweeps.labels(outcome)
        for part in PARTS:
            self.failures.labels(part)

    def count_changes(self, changes: Iterable[Change]) -> Tally[str]:
        """Count new detections; returns how many each pattern has."""
        seen: Tally[str] = Tally()
        for change in changes:
            if change.change not in DETECTED:
                continue
            detection = change.detection
            seen[detection.pattern] += 1
            labels = (detection.pattern, "true", detection.severity)
            self.checks.labels(*labels).inc()
            self.confidence.labels(*labels).observe(detection.confidence)
        return seen

    def count_checks(self, subjects: int, detected: Tally[str]) -> None:
        """Count the checks of a sweep that detected nothing new."""
        for pattern in self._patterns:
            if (quiet := subjects - detected[pattern]) > 0:
                self.checks.labels(pattern, "false", "none").inc(quiet)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self.registry)
