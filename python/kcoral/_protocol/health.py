"""What GET /health answers."""

from __future__ import annotations

from typing import Any, TypedDict, cast

from kcoral._protocol import fields, json_text
from kcoral._protocol.fields import check_members, fail
from kcoral._protocol.response import ResponseHead
from kcoral.errors import KCoralError, ProtocolError


class Load(TypedDict):
    request_capacity: int
    requests_in_progress: int
    requests_waiting: int


class Health(TypedDict):
    """The members of GET /health."""

    status: str  # "ok"; of a router without a ready node "unavailable"
    instance_id: str
    started_at: str  # RFC 3339, UTC
    gpu_count: int | None  # 0 on a CPU server, None on a router
    load: Load
    target: dict[str, str]  # {"arch": "sm_90a"}; empty on a CPU server
    versions: dict[str, str]


def decode_health(head: ResponseHead, body: bytes) -> Health:
    """Raises KCoralError for an error of the server, ProtocolError for anything unexpected."""
    media_type = head.content_type.partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ProtocolError(
            f"HTTP {head.status} came with the Content-Type {head.content_type[:80]!r}: "
            "this is not a KCoral server, or a proxy before it answered in its place",
            head.status,
        )
    try:
        document = json_text.parse(body)
    except json_text.JsonError as error:
        raise ProtocolError(f"/health is malformed JSON: {error}", head.status) from None
    if head.status not in (200, 503) or "error" in document:
        raise _error_of(document, head)
    try:
        return _check(document)
    except ProtocolError as error:
        error.status_code = head.status
        raise


def _error_of(document: Any, head: ResponseHead) -> KCoralError:
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        kind = error.get("kind")
        request_id = document.get("request_id")
        return KCoralError(
            head.status,
            kind if isinstance(kind, str) else "unknown",
            error["message"],
            request_id if isinstance(request_id, str) else head.request_id,
        )
    return ProtocolError(f"/health answered HTTP {head.status}", head.status)


def _check(document: Any) -> Health:
    check_members(document, "/health", Health.__annotations__)
    for name in ("status", "instance_id", "started_at"):
        fields.name(document[name], name)
    if document["gpu_count"] is not None:
        fields.count(document["gpu_count"], "gpu_count")
    load = check_members(document["load"], "load", Load.__annotations__)
    for name, value in load.items():
        fields.count(value, f"load.{name}")
    for name in ("target", "versions"):
        if not isinstance(document[name], dict):
            fail(name, "is not an object")
        for key, value in document[name].items():
            fields.string(value, f"{name}.{key}")
    return cast(Health, document)
