"""Checks of a server's address, of the model's name and of the variable with the key; no key is repeated."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadUsage
from ..models.constants import VARIABLE

NO_KEY = "none"  # sent where a server needs no key: the SDKs require one
_KEY = re.compile(r"[!-~]{1,1000}")
_ADDRESS = re.compile(r"[!-~]+")
_HOST = re.compile(r"(?=.{1,253}$)[\w-]{1,63}(\.[\w-]{1,63})*\.?", re.A)
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")


def check_model(name: str, value: Any) -> str:
    """The model's name; a float is refused, since 4.10 and 4.1 are the same number."""
    if value is None:
        raise BadUsage(f"{name}: model is missing: expected the name of a model of that server")
    if value == "":
        raise BadUsage(f"{name}: model has no value: expected the model's name")
    if isinstance(value, float):
        raise BadUsage(f"{name}: model is a number: expected a name, in quotes")
    model = str(value) if type(value) is int else value
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise BadUsage(f"{name}: invalid model: expected a name of at most 200 characters without blanks")
    return model


def check_address(name: str, value: Any, allow_http: Any, what: str = "base_url") -> str:
    """The address, unless it holds a key, or a key or text would travel unencrypted.

    `allow_http` is None where there is no such option; `what` is what errors call the address.
    """
    if isinstance(value, str) and value and not _ADDRESS.fullmatch(value):
        rule = "expected ASCII without blanks; others are %XX in a path, and xn-- in the name of a host"
        raise BadUsage(f"{name}: invalid {what}: {rule}")
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except (ValueError, TypeError, AttributeError):
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not _is_host(host):
        raise BadUsage(f"{name}: invalid {what}: expected an address such as https://example.org/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadUsage(f"{name}: invalid {what}: expected a plain address, without user, password, ? or #")
    if allow_http not in (None, True, False, "true", "false"):
        raise BadUsage(f"{name}: invalid allow_http: expected true or false")
    if parts.scheme == "http" and not is_local(host) and allow_http not in (True, "true"):
        remedy = "" if allow_http is None else ", or allow_http: true within your own network"
        raise BadUsage(
            f"{name}: {what} is http and not on this machine: texts and key could be read on the way; "
            f"use https{remedy}"
        )
    return str(value).rstrip("/")


def _is_host(host: str) -> bool:
    """Whether this can be the name or address of a host.

    >>> [_is_host(host) for host in ("a.example", "127.0.0.1", "::1", "a..b", "")]
    [True, True, True, False, False]
    """
    if _HOST.fullmatch(host):
        return True
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_variable(name: str, value: Any, own: bool, local: bool, default: str) -> str | None:
    """The variable that holds the key; a provider's own key is not sent to other servers by default."""
    if value is None and not own:
        if local:
            return None
        raise BadUsage(
            f"{name}: key_env is missing: expected the environment variable with the key of that server "
            f"({default} is not sent to others)"
        )
    variable = default if value is None else value
    # Capitals only: a key written here by mistake is recognised, and not repeated in the error.
    if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
        raise BadUsage(
            f"{name}: invalid key_env: expected the name of an environment variable in capitals, not the key"
        )
    if not os.environ.get(variable):
        raise BadUsage(f"{name} needs a key in the environment variable {variable}")
    if not _KEY.fullmatch(os.environ[variable]):
        raise BadUsage(f"{name}: {variable} holds blanks or other characters that no key has")
    return variable
