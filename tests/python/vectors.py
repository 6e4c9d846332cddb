"""The golden vectors as tests use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kcoral import ProgramResult, ReturnedFile, ReturnedFolder
from kcoral._blob import Blob, blob_of_bytes
from kcoral._protocol import json_text
from kcoral._protocol.request import ProgramRequest, program_request
from kcoral._protocol.response import ResponseHead
from kcoral.program import Program

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
REQUESTS = sorted(path.stem for path in (FOLDER / "requests").glob("*.json"))
RESPONSES = sorted(path.stem for path in (FOLDER / "responses").glob("*.json"))


def load_request(name: str) -> Any:
    return json_text.parse((FOLDER / "requests" / f"{name}.json").read_bytes())


class ResponseVector:
    def __init__(self, name: str) -> None:
        document = json_text.parse((FOLDER / "responses" / f"{name}.json").read_bytes())
        self.body = (FOLDER / "responses" / f"{name}.body").read_bytes()
        self.instructions: list[dict[str, Any]] = document["instructions"]
        self.gpu_count: int | None = document["gpu_count"]
        self.status: int = document["status"]
        self.headers: dict[str, str] = document["headers"]
        self.expect: dict[str, Any] = document["expect"]

    def head(self) -> ResponseHead:
        return ResponseHead(
            status=self.status,
            content_type=self.headers["Content-Type"],
            content_length=len(self.body),
            request_id=self.headers["X-Request-ID"],
        )

    def blobs(self) -> dict[str, Blob]:
        """By the digests that the program names; their bytes do not matter."""
        digests = [step["blob"] for step in self.instructions if "blob" in step]
        return dict.fromkeys(digests, blob_of_bytes(b"", ""))

    def request(self) -> ProgramRequest:
        return program_request(self.instructions, self.blobs(), gpu_count=self.gpu_count)

    def program(self) -> Program:
        program = Program()
        program._instructions = self.instructions
        program._blobs = self.blobs()
        return program

    def check_result(self, result: ProgramResult) -> None:
        """The result is the one that the vector expects."""
        assert self.expect["outcome"] == "result"
        if "results" not in self.expect:
            return
        results = {key: canonical(value) for key, value in result.results.items()}
        assert results == self.expect["results"]
        assert list(results) == list(self.expect["results"])
        document = dict(self.expect["document"])
        assert result.gpu_ids == document.pop("gpu_ids", None)
        assert result.gpu_count == document.pop("gpu_count", None)
        error = document.pop("error", None)
        assert (result.error is None) == (error is None)
        for member, value in (error or {}).items():
            assert result.error is not None
            assert result.error[member] == value
        for member, value in document.items():
            assert getattr(result, member) == value


def canonical(value: Any) -> Any:
    """A decoded value as the vectors write it."""
    if value is None:
        return {"type": "null"}
    if isinstance(value, np.ndarray):
        assert value.flags.owndata
        assert value.flags.writeable
        assert value.flags.c_contiguous
        name, shape = value.dtype.name, list(value.shape)
        return {"type": "tensor", "dtype": name, "shape": shape, "hex": value.tobytes().hex()}
    if isinstance(value, bytes):
        return {"type": "bytes", "hex": value.hex()}
    if isinstance(value, ReturnedFile):
        return {"type": "file", "size": value.size, "hex": value.read_bytes().hex()}
    if isinstance(value, ReturnedFolder):
        files = {path: canonical(file) for path, file in value.files.items()}
        return {"type": "folder", "files": files, "directories": value.directories}
    if isinstance(value, list):
        return {"type": "array", "value": [canonical(element) for element in value]}
    if isinstance(value, dict):
        return {
            "type": "object",
            "value": {name: canonical(member) for name, member in value.items()},
        }
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[type(value)], "value": value}
