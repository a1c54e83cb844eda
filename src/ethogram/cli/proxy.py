"""`ethogram proxy`: a gateway in front of a chat API."""

from __future__ import annotations

import sys
from typing import Annotated

from ..errors import MissingExtra
from . import options as o
from .output import write_line

SWITCH = 0.0005
"""Seconds after which a thread that scores lets the others run; Python's own is ten times a turn's budget."""


def proxy(
    upstream: Annotated[str, o.opt("Pass requests on to this chat API.", metavar="URL")],
    store: Annotated[str, o.opt("Keep conversations in this store: a path or URL.", metavar="URL")] = "",
    host: Annotated[str, o.opt("Listen on this address.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, o.opt("Listen on this port.", metavar="N", min=0, max=65535)] = 8766,
    mode: Annotated[
        str, o.opt("Do this where risk is high: pass, annotate, note or refuse.", metavar="ACTION")
    ] = "annotate",
    policy: Annotated[
        list[str], o.opt("Do this from a risk mode on, such as UNSAFE=refuse.", metavar="MODE=ACTION")
    ] = o.NONE,
    fail: Annotated[
        str, o.opt("If scoring fails, pass requests (open) or not (closed).", metavar="HOW")
    ] = "open",
    allow_host: Annotated[
        list[str], o.opt("Also answer to this host name.", "--allow-host", metavar="NAME")
    ] = o.NONE,
    allow_http: Annotated[bool, o.opt("Allow an http upstream on another machine.", "--allow-http")] = False,
    keep_text: Annotated[bool, o.opt("Store the texts of turns.", "--keep-text")] = False,
    config: o.Config = "",
) -> None:
    """Score the conversations that pass through to a chat API."""
    try:
        from ..service.gateway import Gateway, ProxyOptions
        from ..service.server import bind, listen
    except ImportError as error:
        raise MissingExtra(error.name or "httpx2", "serve", "ethogram proxy") from None
    from ..service.options import ServeOptions
    from ..service.policy import Policy

    options = ProxyOptions(
        upstream,
        ServeOptions(
            store=store,
            host=host,
            port=port,
            keep_text=keep_text,
            settings=o.InputOptions((), "", config).loaded().settings,
            hosts=tuple(allow_host),
        ),
        keeps=bool(store),
        policy=Policy(mode, policy),
        fail=fail,
        allow_http=allow_http,
    )
    gateway = Gateway(options)
    bound = bind(host, port)
    write_line(
        f"ethogram on http://{host}:{bound.getsockname()[1]} in front of {upstream}; Ctrl-C stops it",
        to=sys.stderr,
    )
    sys.setswitchinterval(SWITCH)
    listen(gateway, bound, date_header=False, ws="none")
