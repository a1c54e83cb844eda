"""Pages of the dashboard: templates that escape every text and load nothing from elsewhere."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .. import __version__
from ..report import charts, svg, wording
from ..report.html import asset
from ..report.html import environment as report_environment
from .guard import Refused
from .routes import service_of

HERE = Path(__file__).parent
STATIC = {"app.css": "text/css", "app.js": "text/javascript", "report.css": "text/css"}
PAGES = (
    ("/", "Inbox"),
    ("/subjects", "Subjects"),
    ("/runs", "Runs"),
    ("/chats", "Chats"),
    ("/people", "People"),
    ("/patterns", "Patterns"),
    ("/learning", "Learning"),
    ("/connect", "Connect"),
)
"""Address and name of each entry of the menu."""


@cache
def static(name: str) -> bytes:
    """A style or script; Refused where there is none."""
    if name not in STATIC:
        raise Refused(404, "not_found", "no such file")
    if name == "report.css":
        return asset("style.css").encode()
    return (HERE / "static" / name).read_bytes()


@cache
def version_of(name: str) -> str:
    """What changes when a file does, so that browsers may keep the others."""
    return hashlib.sha256(static(name)).hexdigest()[:12]


@cache
def environment() -> Environment:
    """Templates of the dashboard, with the words and marks of reports."""
    env = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=svg.safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    report = report_environment()
    env.filters |= {name: item for name, item in report.filters.items() if name not in Environment().filters}
    env.filters |= {"span_text": wording.span, "pairs": wording.pairs_text, "anchor": charts.detection_anchor}
    env.globals |= {
        "chip": svg.chip, "mark": svg.mark, "definitions": svg.definitions, "pages": PAGES,
        "version": __version__, "static": lambda name: f"/static/{name}?v={version_of(name)}",
    }  # fmt: skip
    return env


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page."""
    service = service_of(request)
    context |= {
        "path": request.url.path,
        "has_keys": not service.keys.is_empty,
        "live": service.sweeper.is_alive,
    }
    return HTMLResponse(environment().get_template(template).render(**context), status)


def back(request: Request, to: str = "/") -> Response:
    """Return to the page a form was on, which is always one of ours."""
    wanted = request.query_params.get("back", to)
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return RedirectResponse(wanted if is_ours else to, 303)
