"""Without a server its tests are left out; in CI that is a failure."""

from __future__ import annotations

import pytest

import servers


def test_without_postgresql_a_test_is_left_out_and_says_what_to_do(monkeypatch):
    monkeypatch.delenv("ETHOGRAM_TEST_POSTGRES", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(servers, "binaries", lambda: None)
    with pytest.raises(pytest.skip.Exception, match=r"tools/servers\.sh installs it"):
        servers.postgres_url()


def test_in_ci_it_fails(monkeypatch):
    monkeypatch.delenv("ETHOGRAM_TEST_POSTGRES", raising=False)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(servers, "binaries", lambda: None)
    with pytest.raises(pytest.fail.Exception, match="CI=true wants all tests"):
        servers.postgres_url()


def test_a_named_server_is_used(monkeypatch):
    monkeypatch.setenv("ETHOGRAM_TEST_POSTGRES", "postgresql://somewhere/else")
    assert servers.postgres_url() == "postgresql://somewhere/else"
