"""PostgreSQL for the tests: one server for all workers, started by the first that needs it; Redis and NATS.

`ETHOGRAM_TEST_POSTGRES` names another, by a URL of a user who may create schemas. Without that and without
Debian's `postgresql`, tests that need it are left out; with CI=true they fail. Likewise without
`redis-server` and `nats-server`, of which each module starts its own.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

FOLDER = "ETHOGRAM_TEST_SERVERS"
"""Names the folder that all workers of a test run share."""
NO_POSTGRES = "no PostgreSQL: tools/servers.sh installs it as root, or ETHOGRAM_TEST_POSTGRES names one"
NO_BROKERS = {
    name: f"no {name}: tools/servers.sh installs it as root" for name in ("redis-server", "nats-server")
}
NOT_ROOT = "only root can mount a file system or give a file away"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def begin() -> None:
    """Called once, before any worker starts."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="ethogram-servers-")


def end() -> None:
    """Called once, after all tests: stop what was started."""
    folder = Path(os.environ.pop(FOLDER))
    if (folder / "postgres" / "url").exists():
        Postgres(folder / "postgres").stop()
    shutil.rmtree(folder, ignore_errors=True)


def leave_out(what: str) -> None:
    """Skip a test that needs a server; in CI, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}, and CI=true wants all tests")
    pytest.skip(what)


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, the newest that Debian installed or that PATH has."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("postgres")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class Postgres:
    """A server in a folder of its own on a free port, for the user `tester`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    def create(self) -> None:
        """Make an empty database cluster and start it."""
        self.folder.mkdir(parents=True)
        password = self.folder / "password"
        password.write_text(secrets.token_hex(8))
        if not os.geteuid():
            self.folder.parent.chmod(0o711)
            for path in (self.folder, password):
                shutil.chown(path, "postgres")
        how = ("--auth=scram-sha-256", "--username=tester", f"--pwfile={password}", "--no-sync")
        self._run("initdb", "-D", self.data, "--encoding=UTF8", "--locale=C.UTF-8", *how)
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
            file.write(f"unix_socket_directories = ''\nport = {free_port()}\n")
        self.start()
        port = (self.data / "postmaster.pid").read_text().splitlines()[3]
        url = f"postgresql://tester:{password.read_text()}@127.0.0.1:{port}/postgres"
        (self.folder / "url").write_text(url)

    @property
    def url(self) -> str:
        return (self.folder / "url").read_text()

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def _run(self, name: str, *args: str | Path) -> None:
        folder = binaries()
        assert folder is not None
        command: Sequence[str | Path] = (folder / name, *args)
        # The server refuses to run as root.
        user = {} if os.geteuid() else {"user": "postgres", "group": pwd.getpwnam("postgres").pw_gid}
        extra = {"extra_groups": []} if user else {}
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **user,
            **extra,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def postgres_url() -> str:
    """The address of the server for all tests; skips the test where there is none."""
    if named := os.environ.get("ETHOGRAM_TEST_POSTGRES"):
        return named
    if binaries() is None:
        leave_out(NO_POSTGRES)
    folder = Path(os.environ[FOLDER])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = Postgres(folder / "postgres")
        if not (server.folder / "url").exists():
            server.create()
        return server.url


@contextmanager
def own_server(folder: Path) -> Iterator[Postgres]:
    """A server that a test may stop and damage."""
    if binaries() is None:
        leave_out(NO_POSTGRES)
    server = Postgres(folder)
    server.create()
    try:
        yield server
    finally:
        with suppress(subprocess.CalledProcessError):
            server.stop()


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own size at a path; skips the test for who may not mount one."""
    path.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "tmpfs", path]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip(NOT_ROOT)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@contextmanager
def postgres_schema() -> Iterator[str]:
    """The URL of an empty schema, dropped afterwards."""
    import psycopg

    server, name = postgres_url(), f"t_{secrets.token_hex(6)}"
    try:
        yield f"{server}{'&' if '?' in server else '?'}schema={name}"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@contextmanager
def broker_server(program: str, *args: str) -> Iterator[str]:
    """A server of messages on a free port, which is named in `args` by PORT; yields host and port."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        leave_out(NO_BROKERS[program])
    port = free_port()
    command = [found, *(arg.replace("PORT", str(port)) for arg in args)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                    break
                time.sleep(0.02)
            assert process.poll() is None, f"{program} ended before it took a connection on port {port}"
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
