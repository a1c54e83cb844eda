"""What routes share: the service, the rights of a key, pages."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import Depends, Query, Request

from .keys import ApiKey
from .request_checks import requires
from .state import Service


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def person_of(key: ApiKey | None) -> str:
    """Who a request is by: the name of its key, or the one person of a service without keys."""
    return "local" if key is None else key.name


Running = Annotated[Service, Depends(service_of)]
CanIngest = Annotated[ApiKey | None, Depends(requires("ingest"))]
CanRead = Annotated[ApiKey | None, Depends(requires("read"))]
CanJudge = Annotated[ApiKey | None, Depends(requires("judge"))]
CanAdmin = Annotated[ApiKey | None, Depends(requires("admin"))]
Limit = Annotated[int, Query(ge=1, le=1000, description="The most records of a page.")]
Offset = Annotated[int, Query(ge=0, le=10**9, description="Records to skip.")]
Text = Annotated[str | None, Query(min_length=1, max_length=500)]
TIME = msgspec.Meta(min_length=1, extra_json_schema={"format": "date-time"})
"""Of a text in a body that is a time."""
