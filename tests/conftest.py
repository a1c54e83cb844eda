"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import atexit
import gc
import os
import random
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import neo4j_server
import servers
from ethogram import registry
from ethogram.patterns import library
from sampling import IS_LONG

# No test fails for being slow.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", _PATIENT, derandomize=True, max_examples=30)
settings.register_profile("long", _PATIENT, max_examples=1_000)
settings.load_profile("long" if IS_LONG else "short")

# A disk takes milliseconds for every file that has to be durable. TMPDIR names another place.
MEMORY = Path("/dev/shm")
MEMORY_FREE_BYTES = 4 << 30
KEPT_SECONDS = 6 * 3600
_in_memory: Path | None = None
_has_failures = False
if (
    not {"TMPDIR", "PYTEST_XDIST_WORKER"} & os.environ.keys()
    and not IS_LONG
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free > MEMORY_FREE_BYTES
):
    for _left in MEMORY.glob("ethogram-run-*"):  # by a run that failed or was killed
        if time.time() - _left.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(_left, ignore_errors=True)
    _in_memory = Path(tempfile.mkdtemp(prefix="ethogram-run-", dir=MEMORY))
    _in_memory.chmod(0o711)  # the user of PostgreSQL goes through it
    os.environ["TMPDIR"] = tempfile.tempdir = str(_in_memory)

# No test may touch what belongs to whoever runs them: settings, what they trust, caches, the hook's state.
_OWN = tempfile.mkdtemp(prefix="ethogram-tests-")
for _name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ETHOGRAM_HOOK_DIR"):
    os.environ[_name] = os.path.join(_OWN, _name.lower())  # noqa: PTH118
atexit.register(shutil.rmtree, _OWN, ignore_errors=True)
# As in commands: threads of NumPy's linear algebra spin while they wait, and workers use all cores anyway.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def no_plug_in_is_left_behind() -> Iterator[None]:
    """What a test or a page registers is gone after it: other tests look at all patterns and evaluators."""
    before, evaluators = set(registry.patterns.loaded()), set(registry.evaluators.names())
    yield
    for name in set(registry.evaluators.loaded()) - evaluators:
        registry.evaluators.discard(name)
    if new := set(registry.patterns.loaded()) - before:
        from ethogram.patterns.register import forget

        for name in new:
            forget(name)


@pytest.fixture
def no_shipped_patterns(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library holds no pattern but those that the test brings."""
    monkeypatch.setattr(library, "SHIPPED", tmp_path_factory.mktemp("no-patterns"))


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Processes that tests start receive SIGINT, even if the test run was started with it ignored.

    A background job or supervisor ignores SIGINT, and children inherit that; a handler is not inherited.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# --- order ----------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in the random order of SEED")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the modules, and the tests within each: the fixtures of a module are made once still."""
    if (seed := config.getoption("shuffle")) is None:
        return
    rng = random.Random(seed)
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    order = list(modules.values())
    rng.shuffle(order)
    items[:] = [item for tests in order for item in rng.sample(tests, len(tests))]


# --- collection -----------------------------------------------------------------------------

# Half a million objects come to stay, and nothing of them is garbage: do not look at them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


# --- servers --------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        servers.begin()
        neo4j_server.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        neo4j_server.end()
        servers.end()
        if _in_memory and not _has_failures:
            # After the processes that tests started have tidied up there.
            from multiprocessing import util

            util.Finalize(None, shutil.rmtree, (_in_memory, True), exitpriority=-200)


def pytest_sessionfinish(exitstatus: int) -> None:
    """Keep the folders of tests that failed: messages name files in them."""
    global _has_failures
    _has_failures = exitstatus == pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if (seed := config.getoption("shuffle")) is not None:
        terminalreporter.write_line(f"in random order: --shuffle {seed}")
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    from benchmarks.speed.instructions import NO_BASELINE, NO_VALGRIND

    no_server = (servers.NO_POSTGRES, *servers.NO_BROKERS.values(), neo4j_server.NO_NEO4J)
    for why in (*no_server, servers.NOT_ROOT, NO_VALGRIND, NO_BASELINE):
        if left_out := sum(why in reason for reason in reasons):
            terminalreporter.write_line(f"{left_out} tests left out: {why}")


@pytest.fixture
def new_url(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """A function that returns the URL for a new store of a kind; what it is in goes after the test."""
    with ExitStack() as stack:

        def make(kind: str) -> str:
            if kind == "postgresql":
                return stack.enter_context(servers.postgres_schema())
            if kind in ("neo4j", "bolt"):
                return stack.enter_context(neo4j_server.empty_neo4j())
            return f"{kind}:///{tmp_path}/{secrets.token_hex(4)}.db"

        yield make


@pytest.fixture
def new_store(new_url: Callable[[str], str]) -> Callable[[str], AbstractContextManager[Any]]:
    """A function that makes an empty store of a kind."""

    def make(kind: str) -> AbstractContextManager[Any]:
        from ethogram.store import open_store

        return open_store(new_url(kind), create=True)

    return make


@pytest.fixture
def dict_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy store under the name `dict`, for a test."""
    from dict_store import DictStore

    registry.stores.names()
    monkeypatch.setitem(registry.stores._items, "dict", DictStore)
