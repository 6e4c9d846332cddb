"""The JSON documents that servers answer with, checked member by member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from kcoral._protocol import fields
from kcoral._protocol.fields import check_members, fail
from kcoral._protocol.request import ProgramRequest
from kcoral._protocol.values import Slot, decode_results, result_kind
from kcoral.result import InstructionError, ProgramResult

_EXECUTION_MEMBERS = (
    "status",
    "request_id",
    "queue_ms",
    "elapsed_ms",
    "lease_wait_ms",
    "lease_held_ms",
    "stdout",
    "stderr",
    "stdout_truncated",
    "stderr_truncated",
    "results",
)
_ERROR_MEMBERS = (
    "kind",
    "message",
    "instruction_index",
    "instruction_op",
    "instruction_id",
    "traceback",
)
_GPU_ACCESS_MEMBERS = ("cuda_call", "location", "interfered_request_id")


@dataclass(frozen=True)
class Execution:
    """COMPLETED or FAILED. The result is whole once every slot has ended."""

    result: ProgramResult
    slots: list[Slot]


@dataclass(frozen=True)
class CacheMiss:
    request_id: str
    missing: list[str]  # digests


@dataclass(frozen=True)
class ErrorReply:
    request_id: str
    kind: str
    message: str


Reply = Execution | CacheMiss | ErrorReply


def decode_reply(document: Any, request: ProgramRequest, http_status: int) -> Reply:
    """The reply to a request. Raises ProtocolError for what does not fit the contract, the HTTP
    status or the request."""
    status = document.get("status") if isinstance(document, dict) else None
    expected = ("COMPLETED", "FAILED", "CACHE_MISS") if http_status == 200 else ("ERROR",)
    if status not in expected:
        fail("status", f"is {str(status)[:80]!r}, which HTTP {http_status} does not go with")
    if status == "CACHE_MISS":
        return _decode_cache_miss(document, request)
    if status == "ERROR":
        return _decode_error_reply(document)
    return _decode_execution(document, request)


def _decode_error_reply(document: dict[str, Any]) -> ErrorReply:
    check_members(document, "the document", ("status", "request_id", "error"))
    error = check_members(document["error"], "error", ("kind", "message"))
    return ErrorReply(
        fields.name(document["request_id"], "request_id"),
        fields.name(error["kind"], "error.kind"),
        fields.string(error["message"], "error.message"),
    )


def _decode_cache_miss(document: dict[str, Any], request: ProgramRequest) -> CacheMiss:
    check_members(document, "the document", ("status", "missing_blobs", "request_id"))
    missing = [
        fields.digest(digest, "missing_blobs")
        for digest in fields.array(document["missing_blobs"], "missing_blobs")
    ]
    wanted = set(missing)
    if not missing or missing != [digest for digest in request.blobs if digest in wanted]:
        fail("missing_blobs", "does not list blobs of the program, in their order, each once")
    return CacheMiss(fields.name(document["request_id"], "request_id"), missing)


def _decode_execution(document: dict[str, Any], request: ProgramRequest) -> Execution:
    failed = document["status"] == "FAILED"
    members = [*_EXECUTION_MEMBERS]
    if request.gpu_count is not None:
        members += ["gpu_ids", "gpu_count"]
    if failed:
        members.append("error")
    check_members(document, "the document", members)
    _check_results(document["results"], request, failed)
    error = _decode_error(document["error"], request) if failed else None
    results, slots = decode_results(document["results"])
    times = {
        name: fields.milliseconds(document[name], name)
        for name in ("queue_ms", "elapsed_ms", "lease_wait_ms", "lease_held_ms")
    }
    result = ProgramResult(
        status=cast(Literal["COMPLETED", "FAILED"], document["status"]),
        request_id=fields.name(document["request_id"], "request_id"),
        **times,
        stdout=fields.string(document["stdout"], "stdout"),
        stderr=fields.string(document["stderr"], "stderr"),
        stdout_truncated=fields.boolean(document["stdout_truncated"], "stdout_truncated"),
        stderr_truncated=fields.boolean(document["stderr_truncated"], "stderr_truncated"),
        gpu_ids=_decode_gpus(document, request.gpu_count),
        results=results,
        error=error,
    )
    return Execution(result, slots)


def _check_results(results: Any, request: ProgramRequest, failed: bool) -> None:
    """All returns of the program in their order; of a failed one, as many as ran."""
    if not isinstance(results, dict):
        fail("results", "is not an object")
    returns = [step for step in request.instructions if step["op"] == "return"]
    keys = [step["key"] for step in returns]
    got = list(results)
    if got != (keys[: len(got)] if failed else keys):
        fail("results", f"has the keys {got!r}, the program returns {keys!r}"[:1000])
    for step, key in zip(returns, got, strict=False):
        if result_kind(results[key]) != step.get("kind"):
            fail(f"results[{key!r}]", f"is not a {step.get('kind', 'value')}")


def _decode_gpus(document: dict[str, Any], asked: int | None) -> list[int] | None:
    if asked is None:
        return None
    ids = [fields.count(gpu, "gpu_ids") for gpu in fields.array(document["gpu_ids"], "gpu_ids")]
    granted = fields.count(document["gpu_count"], "gpu_count")
    # A program that failed before its lease holds none.
    allowed = (asked, 0) if document["status"] == "FAILED" else (asked,)
    if len(ids) not in allowed or len(set(ids)) != len(ids) or granted not in (asked, len(ids)):
        fail(
            "gpu_ids",
            f"lists {len(ids)} GPUs and gpu_count is {granted}, where {asked} were asked for",
        )
    return ids


def _decode_error(value: Any, request: ProgramRequest) -> InstructionError:
    is_gpu_access = isinstance(value, dict) and value.get("kind") == "gpu_access"
    members = (*_ERROR_MEMBERS, *_GPU_ACCESS_MEMBERS) if is_gpu_access else _ERROR_MEMBERS
    error: Mapping[str, Any] = check_members(value, "error", members)
    index = fields.count(error["instruction_index"], "error.instruction_index")
    if index >= len(request.instructions):
        fail("error.instruction_index", f"is {index}, beyond the program's end")
    step = request.instructions[index]
    for member, expected in (("instruction_op", step["op"]), ("instruction_id", step.get("id"))):
        if error[member] != expected:
            fail(f"error.{member}", f"is {str(error[member])[:80]!r}, not {expected!r}")
    return InstructionError(
        kind=fields.name(error["kind"], "error.kind"),
        message=fields.string(error["message"], "error.message"),
        instruction_index=index,
        instruction_op=step["op"],
        instruction_id=step.get("id"),
        traceback=fields.optional_string(error["traceback"], "error.traceback") or "",
        **(_decode_gpu_access(error) if is_gpu_access else {}),
    )


def _decode_gpu_access(error: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "cuda_call": fields.string(error["cuda_call"], "error.cuda_call"),
        "location": fields.string(error["location"], "error.location"),
        "interfered_request_id": fields.optional_string(
            error["interfered_request_id"], "error.interfered_request_id"
        ),
    }
