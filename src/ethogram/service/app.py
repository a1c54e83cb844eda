"""The web application of a service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from .. import __version__
from ..errors import EthogramError, StoreFailed
from . import api, chat_routes, otlp, stream
from .html import render
from .openapi import describe
from .pages import chats, common, detection, inbox, patterns, people, runs, subject
from .request_checks import Guard, Refused, error_response, explain
from .routes import CanRead
from .state import Service


def create_app(service: Service) -> FastAPI:
    """The application; closing it closes the service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.chat_desk.close()
        service.close()

    # Its own pages of documentation load scripts from elsewhere.
    app = FastAPI(
        title="ethogram", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json",
    )  # fmt: skip
    app.state.service = service
    app.add_middleware(Guard, service=service)
    # Before the API, whose /detections/{id} would take its path.
    app.include_router(stream.router)
    app.include_router(api.router)
    app.state.chat_desk = chat_routes.ChatDesk(service)
    app.include_router(chat_routes.router)
    app.state.live_runs = otlp.live_runs(service)
    app.include_router(otlp.router)
    for family in (
        common,
        inbox,
        detection,
        subject,
        runs,
        chats,
        people,
        patterns,
    ):
        app.include_router(family.router)

    @app.get("/healthz", response_class=PlainTextResponse)
    async def healthy() -> str:
        """Whether the process answers."""
        return "ok\n"

    @app.get("/readyz", response_class=PlainTextResponse)
    def ready() -> Response:
        """Whether events can be written and are looked at."""
        if faults := service.faults():
            return error_response(503, "not_ready", "; ".join(faults))
        return PlainTextResponse("ready\n")

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics(key: CanRead) -> Response:
        """Counters for Prometheus."""
        service.metrics.waiting.set(service.writer.waiting)
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    def shown(request: Request, answer: Response) -> Response:
        """The answer, as a page where a browser asks for one."""
        wants_page = "text/html" in request.headers.get("accept", "")
        if not wants_page or request.url.path.startswith("/v1/"):
            return answer
        if answer.status_code == 401:
            return RedirectResponse("/login", 303)
        message = json.loads(bytes(answer.body))["error"]["message"]
        if message == HTTPStatus.NOT_FOUND.phrase:  # of an address that no route has
            message = f"There is no page at {request.url.path}."
        words = {403: "Not allowed", 404: "Not found", 503: "Not available now"}
        heading = words.get(answer.status_code, "That did not work")
        page = render(request, "error.html", status=answer.status_code, heading=heading, message=message)
        if (seconds := answer.headers.get("retry-after")) is not None:
            page.headers["Retry-After"] = seconds
        return page

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, StoreFailed):
            service.store_failed(error)
        return shown(request, explain(error))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [
            {"path": ".".join(map(str, item["loc"])), "line": None, "column": None, "message": item["msg"]}
            for item in error.errors()
        ]
        message = "; ".join(f"{fault['path']}: {fault['message']}" for fault in faults)
        return shown(request, error_response(400, "bad_request", message, faults=faults))

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        codes = {404: "not_found", 405: "method_not_allowed"}
        code = codes.get(error.status_code, "http")
        answer = error_response(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})  # which methods a path allows
        return shown(request, answer)

    bodies = {**api.BODIES, "/v1/chat/turns": chat_routes.TurnBody}
    app.openapi = describe(app, bodies)  # type: ignore[method-assign]
    app.add_exception_handler(Refused, failed)
    app.add_exception_handler(EthogramError, failed)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(Exception, failed)
    return app
