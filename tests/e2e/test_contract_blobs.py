"""protocol.md, 2, 3 and 5: sizes, the caches, CACHE_MISS, and the order of the checks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from server_process import Server, StartServer
from wire import (
    Gate,
    Instruction,
    Part,
    Reply,
    blob_part,
    call,
    execute,
    form_type,
    module,
    multipart,
    post,
    program_part,
    raw_connection,
    read_raw_reply,
    ref,
    request,
    returned,
    returned_path,
    sha256,
    upload,
)


def fresh(size: int = 16) -> bytes:
    """Bytes that no server has seen."""
    return os.urandom(size)


# ---- Negotiation


def test_missing_blobs_are_listed_in_the_order_of_first_reference(server: Server) -> None:
    a, b, c = fresh(), fresh(), fresh()
    leave_a_trace = "import pathlib; pathlib.Path('ran').touch()"
    instructions = [
        module(leave_a_trace),
        upload("bytes", c, id="1"),
        upload("file", a, id="2", path="a"),
        upload("bytes", c, id="3"),
        upload("tensor", b, id="4", dtype="uint8", shape=[16]),
        upload("bytes", a, id="5"),
    ]
    missing = execute(server, instructions).missing()
    assert missing == [sha256(c), sha256(a), sha256(b)]
    assert server.files("ran") == []


def test_what_was_sent_once_is_not_asked_for_again(server: Server) -> None:
    a, b = fresh(), fresh()
    instructions = [
        upload("bytes", a, id="a"),
        upload("file", b, id="b", path="b"),
        returned("a", "a"),
        returned_path("file", "b", "b"),
    ]
    expected = {"a": a, "b": b}
    assert execute(server, instructions).missing() == [sha256(a), sha256(b)]
    assert execute(server, instructions, blobs=[a]).missing() == [sha256(b)]
    assert execute(server, instructions, blobs=[b]).results() == expected
    assert execute(server, instructions).results() == expected
    assert execute(server, instructions, blobs=[a, b]).results() == expected


def test_a_hit_in_one_cache_says_nothing_about_the_other(server: Server) -> None:
    data = fresh()
    as_bytes = [upload("bytes", data), returned(value="u")]
    as_file = [upload("file", data, path="f"), returned_path("file", "f")]
    assert execute(server, as_bytes, blobs=[data]).results() == {"out": data}
    assert execute(server, as_file).missing() == [sha256(data)]
    assert execute(server, as_bytes).results() == {"out": data}

    other = fresh()
    as_bytes = [upload("bytes", other), returned(value="u")]
    as_file = [upload("file", other, path="f"), returned_path("file", "f")]
    assert execute(server, as_file, blobs=[other]).results() == {"out": other}
    assert execute(server, as_bytes).missing() == [sha256(other)]
    assert execute(server, as_file).results() == {"out": other}


def test_tensors_and_bytes_share_a_cache(server: Server) -> None:
    data = fresh()
    as_bytes = [upload("bytes", data), returned(value="u")]
    as_tensor = [upload("tensor", data, dtype="int32", shape=[2, 2]), returned(value="u")]
    execute(server, as_bytes, blobs=[data]).completed()
    assert execute(server, as_tensor).results() == {"out": ("int32", [2, 2], data)}


def test_one_digest_of_both_kinds_is_offered_to_both_caches(server: Server) -> None:
    data = fresh()
    both = [
        upload("bytes", data, id="b"),
        upload("file", data, id="f", path="f"),
        returned("b", "b"),
        returned_path("file", "f", "f"),
    ]
    assert execute(server, both).missing() == [sha256(data)]
    assert execute(server, both, blobs=[data]).results() == {"b": data, "f": data}
    assert execute(server, both[:1]).completed()
    assert execute(server, both[1:2]).completed()
    assert execute(server, both).results() == {"b": data, "f": data}


def test_a_file_cache_outlives_the_server(start_server: StartServer) -> None:
    data = fresh()
    program = [upload("file", data, path="f"), returned_path("file", "f")]
    first = start_server()
    execute(first, program, blobs=[data]).completed()
    first.stop()
    again = start_server(disk_cache=first.disk_cache)
    assert execute(again, program).results() == {"out": data}


def test_a_damaged_file_in_the_cache_is_a_miss(start_server: StartServer) -> None:
    data = fresh(5000)
    program = [upload("file", data, path="f"), returned_path("file", "f")]
    started = start_server()
    execute(started, program, blobs=[data]).completed()
    (cached,) = [
        path
        for path in started.disk_cache.rglob("*")
        if path.is_file() and path.stat().st_size == len(data)
    ]
    cached.chmod(0o600)
    cached.write_bytes(data[:-1])
    assert execute(started, program).missing() == [sha256(data)]
    assert execute(started, program, blobs=[data]).results() == {"out": data}
    assert execute(started, program).results() == {"out": data}


def test_nothing_is_kept_without_caches(start_server: StartServer) -> None:
    started = start_server("--cache-capacity-bytes", "0", "--disk-cache-capacity-mbytes", "0")
    data = fresh()
    program = [
        upload("bytes", data),
        upload("file", data, id="f", path="f"),
        returned(value="u"),
        returned_path("file", "f", "file"),
    ]
    for _ in range(2):
        assert execute(started, program).missing() == [sha256(data)]
        assert execute(started, program, blobs=[data]).results() == {"out": data, "file": data}


def test_what_fits_no_cache_still_runs_and_the_least_used_goes_first(
    start_server: StartServer,
) -> None:
    started = start_server("--cache-capacity-bytes", "40000")

    def once(data: bytes, *, send: bool) -> Reply:
        return execute(started, [upload("bytes", data)], blobs=[data] if send else [])

    large = fresh(20_000)  # more than a quarter
    once(large, send=True).completed()
    assert once(large, send=False).missing() == [sha256(large)]
    blobs = [fresh(9000) for _ in range(5)]
    for blob in blobs[:4]:
        once(blob, send=True).completed()
    once(blobs[0], send=False).completed()  # used again: no longer the oldest
    once(blobs[4], send=True).completed()
    assert once(blobs[1], send=False).missing() == [sha256(blobs[1])]
    for blob in (blobs[0], blobs[3], blobs[4]):
        once(blob, send=False).completed()


@pytest.mark.parametrize("size", [0, 1, 4095, 65_536, 65_537, 5_000_001])
def test_blobs_of_all_sizes(server: Server, size: int) -> None:
    data = fresh(size)
    program = [
        upload("bytes", data),
        upload("file", data, id="f", path="f"),
        returned(value="u"),
        returned_path("file", ref("f"), "file"),
    ]
    assert execute(server, program, blobs=[data]).results() == {"out": data, "file": data}


# ---- The largest request

LIMIT = 100_000


@pytest.fixture(scope="module")
def small(start_module_server: StartServer) -> Server:
    return start_module_server("--max-request-bytes", str(LIMIT))


def body_of(size: int) -> bytes:
    """A good body of this size."""
    body = multipart([program_part({"instructions": [module("")]})])
    return b"-" * (size - len(body) - 2) + b"\r\n" + body


def test_the_largest_request_is_served_and_one_byte_more_is_413(small: Server) -> None:
    post(small, body_of(LIMIT)).completed()
    assert str(LIMIT) in post(small, body_of(LIMIT + 1)).error(413, "request_too_large")


def test_413_comes_from_the_length_alone(small: Server) -> None:
    reply = request(
        small, "POST", "/execute", headers=[("Content-Length", str(LIMIT + 1)), form_type()]
    )
    reply.error(413, "request_too_large")


def test_413_comes_while_streaming_before_the_end(small: Server) -> None:
    head = (
        f"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"2710\r\n" + b"-" * 10_000 + b"\r\n"
    with raw_connection(small) as connection:
        connection.sendall(head.encode() + chunk * 10)
        connection.sendall(chunk)  # one more than the limit; the body never ends
        read_raw_reply(connection).error(413, "request_too_large")
    with raw_connection(small) as connection:
        body = body_of(LIMIT)
        ends = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        connection.sendall(head.encode() + ends)
        read_raw_reply(connection).completed()


def test_blobs_of_a_request_that_was_cut_off_are_not_kept(small: Server) -> None:
    data = fresh(50_000)
    program = [upload("bytes", data)]
    body = multipart([blob_part(data), Part(b"x" * 60_000)])
    head = (
        f"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with raw_connection(small) as connection:
        connection.sendall(head.encode() + b"%x\r\n%s" % (len(body), body))
        read_raw_reply(connection).error(413, "request_too_large")
    assert execute(small, program).missing() == [sha256(data)]


# ---- The order of checks

BAD_PROGRAM = {"instructions": [{"op": "none"}]}


def test_size_comes_before_the_form_of_the_body(small: Server) -> None:
    body = b"x" * (LIMIT + 1)
    post(small, body, "text/plain").error(413, "request_too_large")


def test_the_form_of_the_body_comes_before_its_digests(server: Server) -> None:
    mismatch = blob_part(b"x", sha256(b"y"))
    parts = [program_part({"instructions": [module("")]}), mismatch]
    assert "closing boundary" in post(server, multipart(parts, closing=b"")).error(400, "parse")
    parts = [mismatch]
    assert "program" in post(server, multipart(parts)).error(400, "parse")


def test_digests_come_before_json(server: Server) -> None:
    parts = [Part(b"no JSON"), blob_part(b"x", sha256(b"y"))]
    assert "mismatch" in post(server, multipart(parts)).error(400, "parse")


def test_the_programs_rules_come_before_unreferenced_blobs(server: Server) -> None:
    parts = [program_part(BAD_PROGRAM), blob_part(b"x")]
    message = post(server, multipart(parts)).error(400, "parse")
    assert message.startswith("instructions[0].op:")


def test_unreferenced_blobs_come_before_missing_ones(server: Server) -> None:
    instructions = [upload("bytes", fresh())]
    message = execute(server, instructions, blobs=[fresh()]).error(400, "parse")
    assert "unreferenced" in message


def tensor(data: bytes, size: int) -> Instruction:
    return upload("tensor", data, id="t", dtype="uint8", shape=[size])


def test_tensor_lengths_come_before_missing_blobs_and_after_the_caches(server: Server) -> None:
    data, other = fresh(), fresh()
    instructions = [tensor(data, 15), upload("bytes", other)]
    # Neither is there: nobody can know the tensor's length.
    assert execute(server, instructions).missing() == [sha256(data), sha256(other)]
    for blobs in ([data], []):  # by now the cache knows
        message = execute(server, instructions, blobs=blobs).error(400, "parse")
        assert message.startswith("instructions[0]") and "expects 15 bytes" in message


def test_missing_blobs_come_before_the_capacity(server: Server) -> None:
    data = fresh()
    options = {"gpu_count": 1}
    assert execute(server, [upload("bytes", data)], options=options).missing() == [sha256(data)]
    message = execute(server, [tensor(data, 15)], blobs=[data], options=options).error(400, "parse")
    assert "expects 15 bytes" in message
    message = execute(server, [upload("bytes", data)], options=options).error(400, "parse")
    assert "capacity" in message


def test_no_check_waits_for_a_worker(start_server: StartServer) -> None:
    started = start_server()
    gate = Gate(started)
    pending = gate.start()
    execute(started, [module("")], options={"gpu_count": 1}).error(400, "parse")
    execute(started, [upload("bytes", fresh())]).missing()
    execute(started, [{"op": "none"}]).error(400, "parse")
    gate.open()
    pending.reply().completed()


DTYPES = {
    **dict.fromkeys(["bool", "uint8", "int8", "float8_e4m3fn", "float8_e5m2"], 1),
    **dict.fromkeys(["int16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["int32", "float32"], 4),
    **dict.fromkeys(["int64", "float64"], 8),
}


def lengths() -> Iterator[tuple[str, list[int], int]]:
    for dtype, size in DTYPES.items():
        yield dtype, [3, 2], 6 * size
        yield dtype, [], size
        yield dtype, [5, 0, 7], 0


@pytest.mark.parametrize(("dtype", "shape", "size"), list(lengths()), ids=str)
def test_a_tensors_length_is_that_of_its_shape(
    server: Server, dtype: str, shape: Sequence[int], size: int
) -> None:
    data = bytes(size)  # zeros are a value of every dtype
    fields: dict[str, Any] = {"dtype": dtype, "shape": list(shape)}
    program = [upload("tensor", data, **fields), returned(value="u")]
    assert execute(server, program, blobs=[data]).results() == {"out": (dtype, shape, data)}
    longer = bytes(size + 1)
    message = execute(server, [upload("tensor", longer, **fields)], blobs=[longer])
    assert f"expects {size} bytes" in message.error(400, "parse")


def test_a_shape_beyond_all_memory_is_refused(server: Server) -> None:
    for shape in ([1 << 62, 1 << 62], [1 << 40], [(1 << 63) - 1] * 3):
        data = b"1234"
        instructions = [upload("tensor", data, dtype="int64", shape=shape)]
        execute(server, instructions, blobs=[data]).error(400, "parse")


# ---- How a request was sent does not change what it means


def test_the_program_may_come_last_and_its_text_may_be_laid_out_freely(server: Server) -> None:
    data = fresh()
    program = {"instructions": [upload("bytes", data), returned(value="u")], "options": {}}
    text = json.dumps(program, indent=3, ensure_ascii=False).replace("\n", "\r\n\t").encode()
    body = multipart([blob_part(data), Part(b" \n" + text + b"\r\n\r\n")])
    assert post(server, body).results() == {"out": data}


def test_one_blob_may_be_named_many_times(server: Server) -> None:
    data = fresh()
    instructions = [upload("bytes", data, id=f"u{i}") for i in range(20)]
    instructions += call(
        "def main(*blobs): return len(set(blobs))", *(ref(f"u{i}") for i in range(20))
    )
    assert execute(server, instructions, blobs=[data]).results() == {"out": 1}
