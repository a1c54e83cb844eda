"""Neo4j for the tests: one server for all workers, started by the first that needs it.

`ETHOGRAM_TEST_NEO4J` names another, by a URL (`bolt://user:password@host`); its database is emptied. Without
that, Java and the classpath that tools/servers.sh fetches, tests that need it are left out; with CI=true they
fail. A server has one database, so a test holds a lock while it uses it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from servers import FOLDER, free_port, leave_out

LAUNCHER = Path(__file__).parent / "java" / "Launcher.java"
BUILD = Path(__file__).parents[1] / "build"
CLASSPATH = BUILD / "neo4j.classpath"
NO_NEO4J = "no Neo4j: tools/servers.sh fetches it with Java and Maven, or ETHOGRAM_TEST_NEO4J names one"
JVM = ("-Xmx700m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Soon ready, and small."""
STARTING = 120
"""Seconds that a server may take to start."""
FETCHING = 400
"""Seconds that tools/servers.sh may take to fetch it."""
_held: int | None = None
_used = False


def begin() -> None:
    """Called once, before any worker starts: servers run until this process ends or calls `end`."""
    global _held
    fifo = Path(os.environ[FOLDER]) / "alive"
    os.mkfifo(fifo)
    _held = os.open(fifo, os.O_RDWR)


def end() -> None:
    """Called once, after all tests."""
    if _held is not None:
        os.close(_held)


def java() -> str | None:
    """The Java that runs the server; one named by ETHOGRAM_TEST_JAVA, or the first on the path."""
    return os.environ.get("ETHOGRAM_TEST_JAVA") or shutil.which("java")


def require() -> None:
    """Skip the test where no server can be started; in CI, fail it. Waits for a fetch that is under way."""
    limit = time.monotonic() + FETCHING
    while is_fetching() and time.monotonic() < limit:
        time.sleep(0.5)
    if java() is None or not CLASSPATH.exists():
        log = BUILD / "neo4j.log"
        errors = [line for line in log.read_text().splitlines() if "ERROR" in line] if log.exists() else []
        leave_out(NO_NEO4J + (f"; the last fetch failed: {errors[0]:.300}" if errors else ""))


def is_fetching() -> bool:
    """Whether tools/servers.sh is fetching the server: it holds a lock meanwhile."""
    file = BUILD / "neo4j.lock"
    if not file.exists():
        return False
    with file.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Neo4jServer:
    """A server in a folder of its own on a loopback port, without a password unless `auth`."""

    def __init__(self, folder: Path, *, auth: bool = False) -> None:
        self.folder, self.auth, self.read_only = folder, auth, False
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        who = "neo4j:neo4j@" if self.auth else ""
        return f"bolt://{who}127.0.0.1:{self.port}"

    def start(self, stdin: int | IO[bytes] = subprocess.PIPE) -> None:
        """Start on the same port and data as before, and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "log"
        command = [
            java() or "java", *JVM,
            "-cp", CLASSPATH.read_text(), str(LAUNCHER), str(self.folder / "data"), str(self.port),
        ]  # fmt: skip
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, *(name for name in ("auth", "read_only") if getattr(self, name))],
                stdin=stdin,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                start_new_session=True,
            )
        limit = time.monotonic() + STARTING
        while b"bolt://" not in log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > limit:
                pytest.fail(f"Neo4j did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Let it end in order."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(STARTING)

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STARTING)


def neo4j_url() -> str:
    """The address of the server for all tests; skips the test where there is none."""
    if named := os.environ.get("ETHOGRAM_TEST_NEO4J"):
        return named
    require()
    folder = Path(os.environ[FOLDER])
    file = folder / "neo4j.url"
    with (folder / "neo4j.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            server = Neo4jServer(folder / "neo4j")
            with open(folder / "alive", "rb", buffering=0) as alive:
                server.start(stdin=alive)
            file.write_text(server.url)
        return file.read_text()


@contextmanager
def empty_neo4j() -> Iterator[str]:
    """The URL of an empty database that nobody else uses meanwhile; a test can have one."""
    global _used
    if _used:
        pytest.skip("the server has one database: copies between two graphs go by way of another store")
    url = neo4j_url()
    with (Path(os.environ[FOLDER]) / "neo4j.use").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        clear(url)
        _used = True
        try:
            yield url
        finally:
            _used = False


def clear(url: str) -> None:
    """Remove every node; constraints and indexes stay."""
    with driver_of(url) as driver, driver.session() as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS").consume()


def driver_of(url: str) -> Any:
    """The driver for an address with or without a user."""
    from ethogram.store.graph.connection import connect

    return connect(url)[0]


@contextmanager
def own_neo4j(folder: Path, *, auth: bool = False) -> Iterator[Neo4jServer]:
    """A server that a test may stop and start."""
    require()
    server = Neo4jServer(folder, auth=auth)
    server.start()
    try:
        yield server
    finally:
        server.kill()
