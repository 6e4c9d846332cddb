"""The golden vectors, read without a socket."""

from __future__ import annotations

from typing import Any

import pytest

from kcoral import Program, ProtocolError, Register
from kcoral._protocol.documents import CacheMiss, ErrorReply, Execution, Reply
from kcoral._protocol.request import program_request
from kcoral._protocol.response import ResponseReader
from vectors import REQUESTS, RESPONSES, ResponseVector, load_request


def read(vector: ResponseVector, size: int) -> Reply:
    reader = ResponseReader(vector.head(), vector.request())
    for begin in range(0, len(vector.body), size):
        reader.feed(vector.body[begin : begin + size])
    return reader.finish()


@pytest.mark.parametrize("size", [1 << 30, 61, 1], ids=["whole", "pieces", "bytes"])
@pytest.mark.parametrize("name", RESPONSES)
def test_response_means_what_the_vector_says(name: str, size: int) -> None:
    vector = ResponseVector(name)
    expect = vector.expect
    if expect["outcome"] == "protocol_error":
        with pytest.raises(ProtocolError) as caught:
            read(vector, size)
        assert caught.value.status_code == vector.status
        return
    reply = read(vector, size)
    if isinstance(reply, Execution):
        vector.check_result(reply.result)
    elif isinstance(reply, CacheMiss):
        assert expect == {"outcome": "cache_miss", "missing": reply.missing}
    else:
        assert isinstance(reply, ErrorReply)
        assert expect == {"outcome": "error", "kind": reply.kind, "message": reply.message}


@pytest.mark.parametrize("name", REQUESTS)
def test_calls_build_the_text_and_the_blobs(name: str) -> None:
    vector = load_request(name)
    program = Program()
    registers: list[Any] = []

    def argument(value: Any) -> Any:
        if isinstance(value, dict) and "blob" in value:
            return bytes.fromhex(value["blob"])
        if isinstance(value, dict) and "register" in value:
            register = registers[value["register"]]
            assert isinstance(register, Register)
            return register
        return [argument(element) for element in value] if isinstance(value, list) else value

    for call in vector["calls"]:
        method = getattr(program, call.pop("method"))
        registers.append(method(**{name: argument(value) for name, value in call.items()}))
    request = program_request(program.instructions, program._blobs, **vector["options"])
    assert request.text.decode() == vector["text"]
    assert [
        {"sha256": digest, "hex": bytes(blob.data).hex()} for digest, blob in request.blobs.items()
    ] == vector["blobs"]
