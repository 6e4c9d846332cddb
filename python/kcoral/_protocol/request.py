"""What is sent: a program's text, its blobs, and what its answer must fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcoral._blob import Blob
from kcoral._protocol import json_text
from kcoral._protocol.multipart import MultipartBody, OutgoingPart

MAX_GPU_COUNT = 8


@dataclass(frozen=True)
class ProgramRequest:
    """A program ready to be sent, any number of times, always with the same text."""

    text: bytes
    instructions: list[dict[str, Any]]
    blobs: Mapping[str, Blob]  # by digest, in the order of first reference
    gpu_count: int | None

    def body(self, digests: Iterable[str]) -> MultipartBody:
        """The program, and these of its blobs."""
        parts = [OutgoingPart("program", "application/json", memoryview(self.text))]
        parts += [
            OutgoingPart(f"blob:{digest}", "application/octet-stream", self.blobs[digest].data)
            for digest in digests
        ]
        return MultipartBody(parts)


def program_request(
    instructions: list[dict[str, Any]],
    blobs: Mapping[str, Blob],
    *,
    timeout_seconds: float | None = None,
    gpu_count: int | None = None,
    output_limit_bytes: int | None = None,
) -> ProgramRequest:
    """Raises TypeError or ValueError for options that no server takes, and for an empty program."""
    if not instructions:
        raise ValueError("the program has no instructions")
    options: dict[str, Any] = {}
    if timeout_seconds is not None:
        options["timeout_seconds"] = _check_timeout(timeout_seconds)
    if output_limit_bytes is not None:
        options["output_limit_bytes"] = _check_count(
            output_limit_bytes, "output_limit_bytes", 0, None
        )
    if gpu_count is not None:
        options["gpu_count"] = _check_count(gpu_count, "gpu_count", 1, MAX_GPU_COUNT)
    document: dict[str, Any] = {"instructions": instructions}
    if options:
        document["options"] = options
    return ProgramRequest(json_text.write(document), instructions, blobs, gpu_count)


def _check_timeout(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"timeout_seconds must be a number, not {type(seconds).__name__}")
    if not math.isfinite(seconds) or seconds <= 0:
        raise ValueError(f"timeout_seconds must be finite and more than 0, not {seconds}")
    return seconds


def _check_count(count: object, what: str, least: int, most: int | None) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{what} must be an integer, not {type(count).__name__}")
    if count < least or (most is not None and count > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} must be {bounds}, not {count}")
    return count
