"""Alert rules, the dashboard file and a real Prometheus that reads our metrics."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from ethogram.app.doctor import doctor, extras
from ethogram.config import Settings
from ethogram.config.settings import MetricsSettings
from ethogram.service.metrics import Metrics
from evaluators.model_server import ModelServer
from service.conftest import Start, wait_for
from service.test_events import COLD, line, post

FILES = Path(__file__).parents[2] / "examples" / "operations"
needs_prometheus = pytest.mark.skipif(
    shutil.which("promtool") is None and os.environ.get("CI") != "true",
    reason="there is no Prometheus: apt-get install prometheus",
)


@needs_prometheus
def test_alert_rules_fire_when_they_should() -> None:
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(["promtool", *command], cwd=FILES, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_metric_of_the_files_exists() -> None:
    names = {family.name for family in Metrics("any_prefix", ["loop"]).registry.collect()}
    for file, before in (("alerts.yml", r'__name__=~"\.\+'), ("grafana.json", r"\$\{prefix\}")):
        text = (FILES / file).read_text()
        used = {f"any_prefix{name}" for name in re.findall(rf"{before}(_[a-z_]+)", text)}
        bare = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in used}
        assert bare
        assert bare <= names
        # No name is left that another prefix would not find.
        assert not re.search(r"\bethogram_[a-z]", text)


def test_the_dashboard_asks_for_the_prefix() -> None:
    variables = json.loads((FILES / "grafana.json").read_text())["templating"]["list"]
    (prefix,) = (item for item in variables if item["name"] == "prefix")
    assert (prefix["type"], prefix["query"]) == ("textbox", MetricsSettings().prefix)


def test_series_of_alert_rules_begin_at_0() -> None:
    text = Metrics("ethogram", ["loop"]).text().decode()
    for series in (
        'ethogram_pattern_detection_total{detected="true",pattern="loop",severity="critical"}',
        'ethogram_sweeps_total{outcome="done"}',
        'ethogram_sweeps_total{outcome="failed"}',
    ):
        assert f"{series} 0.0" in text


def test_the_dashboard_has_the_three_panels() -> None:
    panels = {panel["title"] for panel in json.loads((FILES / "grafana.json").read_text())["panels"]}
    assert {"Pattern Detection Rate", "Pattern Confidence Distribution", "Top Detected Patterns"} <= panels


@needs_prometheus
def test_a_real_prometheus_reads_the_metrics(start: Start, tmp_path: Path) -> None:
    client = start()
    post(client, *(line(f"e{day}", day) for day in (1, 2, 3)), line("e4", 4, readings=COLD))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "prometheus.yml"
    text = (FILES / "prometheus.yml").read_text().replace("15s", "200ms").replace("[alerts.yml]", "[]")
    config.write_text(text.replace("127.0.0.1:8765", f"127.0.0.1:{client.base_url.port}"))
    storage = f"--storage.tsdb.path={tmp_path / 'data'}"
    command = ["prometheus", f"--config.file={config}", storage, f"--web.listen-address=127.0.0.1:{port}"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        query = 'ethogram_pattern_detection_total{detected="true",pattern="love_bombing",severity="high"}'

        def seen() -> bool:
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": query})
            except httpx.TransportError:
                return False
            if answer.status_code != 200:  # it is starting
                return False
            rows = answer.json().get("data", {}).get("result", [])
            return [row["value"][1] for row in rows] == ["1"]

        assert wait_for(seen)
    finally:
        server.kill()
        server.wait()


def test_doctor_knows_every_extra() -> None:
    declared = tomllib.loads((FILES.parents[1] / "pyproject.toml").read_text())["project"]
    installed = set(extras())
    # What was added since the last install is not known yet.
    assert installed <= set(declared["optional-dependencies"]) - {"dev"}
    assert {"serve", "postgres", "langchain"} <= installed


def test_what_is_older_than_the_retention_is_removed(start: Start) -> None:
    old = (datetime.now(UTC) - timedelta(days=40)).isoformat()
    post(start(detects=False), {"id": "old", "at": old, "subject": "ann"}, {"id": "new", "subject": "ann"})
    client = start(retention=30 * 86_400.0)
    wait_for(
        lambda: [json.loads(text)["id"] for text in client.get("/v1/export").text.splitlines()] == ["new"]
    )


def test_doctor_sees_a_running_service(start: Start) -> None:
    client = start()
    wait_for(lambda: client.get("/readyz").status_code == 200)
    checks = {item.check: item.state for item in doctor(Settings(), url=str(client.base_url).rstrip("/"))}
    assert checks["service"] == "ok"


def test_scored_messages_and_their_cost_are_counted(start: Start, tmp_path: Path) -> None:
    def counted(name: str) -> float:
        values = re.findall(rf"^ethogram_{name}_total (\S+)$", client.get("/metrics").text, re.M)
        return float(values[0])

    text = "If you really loved me you would send me the money now, and tell nobody about it."
    with ModelServer().running() as server:
        price = {"input": 100.0, "output": 100.0}  # for a million tokens, cached ones too
        model = {"base_url": f"{server.url}/v1", "model": "small", "price": price}
        settings = Settings(evaluators={"openai": model}, answers=str(tmp_path / "answers.sqlite"))
        client = start(keep_text=True, evaluator="openai", settings=settings)
        message = {"subject": "ann", "kind": "message", "text": text, "at": "2026-01-01T12:00:00Z"}
        post(client, {**message, "id": "m1"})
        wait_for(lambda: counted("evaluations") == 1)
        tokens = sum(sum(bill.values()) for bill in server.billed)
        assert counted("evaluation_cost_dollars") == pytest.approx(tokens / 10_000)
        # A message that has scores is not asked about again.
        post(client, {**message, "id": "m2", "text": f"{text} Please.", "at": "2026-01-01T13:00:00Z"})
        wait_for(lambda: counted("evaluations") == 2)
        assert len(server.requests) == 2
        assert server.problems == []
