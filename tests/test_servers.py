"""Without a server its tests are left out; in CI that is a failure."""

from __future__ import annotations

import fcntl

import pytest

import neo4j_server
import servers


def test_without_postgresql_a_test_is_left_out_and_says_what_to_do(monkeypatch):
    monkeypatch.delenv("ETHOGRAM_TEST_POSTGRES", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(servers, "binaries", lambda: None)
    with pytest.raises(pytest.skip.Exception, match=r"tools/servers\.sh installs it"):
        servers.postgres_url()


def test_without_a_broker_a_test_is_left_out_and_says_what_to_do(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(servers.shutil, "which", lambda *_, **__: None)
    needs = servers.broker_server("nats-server")
    with pytest.raises(pytest.skip.Exception, match=r"no nats-server: tools/servers\.sh installs it"), needs:
        pass


def test_in_ci_it_fails(monkeypatch):
    monkeypatch.delenv("ETHOGRAM_TEST_POSTGRES", raising=False)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(servers, "binaries", lambda: None)
    with pytest.raises(pytest.fail.Exception, match="CI=true wants all tests"):
        servers.postgres_url()


def test_a_named_server_is_used(monkeypatch):
    monkeypatch.setenv("ETHOGRAM_TEST_POSTGRES", "postgresql://somewhere/else")
    assert servers.postgres_url() == "postgresql://somewhere/else"


@pytest.fixture
def no_neo4j(monkeypatch, tmp_path):
    monkeypatch.delenv("ETHOGRAM_TEST_NEO4J", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(neo4j_server, "BUILD", tmp_path)
    monkeypatch.setattr(neo4j_server, "CLASSPATH", tmp_path / "neo4j.classpath")
    return tmp_path


def test_without_neo4j_a_test_is_left_out_and_says_what_to_do(no_neo4j):
    with pytest.raises(pytest.skip.Exception, match=r"tools/servers\.sh fetches it"):
        neo4j_server.neo4j_url()


def test_a_fetch_that_failed_is_named_and_in_ci_a_failure(no_neo4j, monkeypatch):
    (no_neo4j / "neo4j.lock").touch()
    (no_neo4j / "neo4j.log").write_text("Scanning\n[ERROR] Unknown host repo.example\n")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"the last fetch failed: \[ERROR\] Unknown host"):
        neo4j_server.neo4j_url()


def test_a_fetch_under_way_is_waited_for(no_neo4j):
    with (no_neo4j / "neo4j.lock").open("w") as lock:
        assert not neo4j_server.is_fetching()
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert neo4j_server.is_fetching()
    assert not neo4j_server.is_fetching()
