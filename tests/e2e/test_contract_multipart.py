"""protocol.md, 2: which bodies are a request, and which are refused with 400 `parse`."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from server_process import Server
from wire import (
    BOUNDARY,
    BYTES_TYPE,
    Part,
    blob_part,
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
    sha256,
    upload,
)

DATA = b"\r\n--not-the-boundary\r\n\0\xff" * 10
PROGRAM = program_part({"instructions": [upload("bytes", DATA), returned(value="u")]})
BLOB = blob_part(DATA)
GOOD = multipart([PROGRAM, BLOB])


def disposition(text: str) -> str:
    return f"Content-Disposition: {text}"


def with_headers(*headers: str, part: Part = PROGRAM) -> bytes:
    """A body whose program part has these headers and no others."""
    return multipart([Part(part.data, headers=headers), BLOB])


FORM = 'Content-Disposition: form-data; name="program"'
TYPE = "Content-Type: application/json"
DELIMITER = f"--{BOUNDARY}".encode()


@dataclass
class Broken:
    name: str
    body: bytes
    says: str  # a word of the message
    type: str | None = None


BROKEN = [
    # The body's own type
    Broken("a JSON body", PROGRAM.data, "multipart/form-data", "application/json"),
    Broken(
        "another multipart", GOOD, "multipart/form-data", f"multipart/mixed; boundary={BOUNDARY}"
    ),
    Broken("an empty type", GOOD, "multipart/form-data", ""),
    Broken("no boundary", GOOD, "boundary", "multipart/form-data"),
    Broken("an empty boundary", GOOD, "boundary", "multipart/form-data; boundary="),
    Broken("an empty quoted boundary", GOOD, "boundary", 'multipart/form-data; boundary=""'),
    Broken("two boundaries", GOOD, "boundary", "multipart/form-data; boundary=a; boundary=b"),
    Broken("a boundary too long", GOOD, "boundary", f"multipart/form-data; boundary={'b' * 71}"),
    Broken("an unclosed quote", GOOD, "quote", 'multipart/form-data; boundary="b'),
    # Its frame
    Broken("nothing", b"", "closing boundary"),
    Broken("another boundary", multipart([PROGRAM, BLOB], boundary="other"), "closing boundary"),
    Broken("no closing boundary", multipart([PROGRAM, BLOB], closing=b""), "closing boundary"),
    Broken("half a closing boundary", GOOD[:-4], "closing boundary"),
    Broken("an end within a header", DELIMITER + b"\r\nContent-Dispo", "closing boundary"),
    Broken("an end within the data", GOOD[: GOOD.index(DATA) + 20], "closing boundary"),
    Broken("no parts", DELIMITER + b"--\r\n", "program"),
    # A part's headers
    Broken("no disposition", with_headers(TYPE), "Content-Disposition"),
    Broken("two dispositions", with_headers(FORM, FORM, TYPE), "Content-Disposition"),
    Broken(
        "an attachment", with_headers(FORM.replace("form-data", "attachment"), TYPE), "form-data"
    ),
    Broken("a part without a name", with_headers(disposition("form-data"), TYPE), "name"),
    Broken("an empty name", with_headers(disposition('form-data; name=""'), TYPE), "name"),
    Broken("two names", with_headers(FORM + '; name="program"', TYPE), "name"),
    Broken("no part type", with_headers(FORM), "Content-Type"),
    Broken("two part types", with_headers(FORM, TYPE, TYPE), "Content-Type"),
    Broken("an empty part type", with_headers(FORM, "Content-Type:"), "Content-Type"),
    Broken("a program as text", with_headers(FORM, "Content-Type: text/plain"), "application/json"),
    Broken(
        "a nested multipart",
        with_headers(FORM, "Content-Type: multipart/mixed; boundary=inner"),
        "multipart",
    ),
    Broken(
        "a blob as JSON",
        multipart([PROGRAM, Part(DATA, f"blob:{sha256(DATA)}")]),
        "application/octet-stream",
    ),
    Broken(
        "base64", with_headers(FORM, TYPE, "Content-Transfer-Encoding: base64"), "Transfer-Encoding"
    ),
    Broken(
        "quoted-printable",
        with_headers(FORM, TYPE, "Content-Transfer-Encoding: quoted-printable"),
        "Transfer-Encoding",
    ),
    Broken(
        "7bit", with_headers(FORM, TYPE, "Content-Transfer-Encoding: 7bit"), "Transfer-Encoding"
    ),
    Broken("a line without a colon", with_headers(FORM, TYPE, "what is this"), "header"),
    Broken("a NUL in a header", with_headers(FORM, TYPE, "X-Note: a\0b"), "control"),
    Broken("endless headers", with_headers(FORM, TYPE, *["X-Note: " + "x" * 1000] * 100), "header"),
    # Which parts there are
    Broken("no program", multipart([BLOB]), "program"),
    Broken("two programs", multipart([PROGRAM, PROGRAM, BLOB]), "twice"),
    Broken("another name", multipart([PROGRAM, BLOB, Part(b"", "result")]), "result"),
    Broken("another case", multipart([Part(PROGRAM.data, "Program"), BLOB]), "Program"),
    Broken("a blob twice", multipart([PROGRAM, BLOB, BLOB]), "twice"),
    Broken("a short digest", multipart([PROGRAM, blob_part(DATA, sha256(DATA)[:-1])]), "64"),
    Broken("an upper-case digest", multipart([PROGRAM, blob_part(DATA, "A" * 64)]), "64"),
    Broken("no digest", multipart([PROGRAM, Part(DATA, "blob:", BYTES_TYPE)]), "64"),
    Broken(
        "a digest of something else",
        multipart([PROGRAM, blob_part(b"x", sha256(DATA))]),
        "mismatch",
    ),
    Broken("a blob nobody names", multipart([PROGRAM, BLOB, blob_part(b"x")]), "unreferenced"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_body_is_refused(server: Server, broken: Broken) -> None:
    assert broken.says in post(server, broken.body, broken.type).error(400, "parse")


def test_a_body_without_a_type_is_refused(server: Server) -> None:
    assert "Content-Type" in request(server, "POST", "/execute", GOOD).error(400, "parse")


def test_a_body_with_two_types_is_refused(server: Server) -> None:
    reply = request(server, "POST", "/execute", GOOD, [form_type(), form_type()])
    assert "Content-Type" in reply.error(400, "parse")


@dataclass
class Tolerated:
    name: str
    body: bytes
    type: str = form_type()[1]


QUOTED = "multipart/form-data; boundary=\"a boundary: (with) 'marks'\""

TOLERATED = [
    Tolerated("plain", GOOD),
    Tolerated("blobs first", multipart([BLOB, PROGRAM])),
    Tolerated("a preamble", multipart([PROGRAM, BLOB], preamble=b"This is multipart.\r\n")),
    Tolerated("an epilogue", GOOD + b"--" + DELIMITER + b"\r\nanything at all"),
    Tolerated("no line end at the end", GOOD[:-2]),
    Tolerated("LF", multipart([PROGRAM, BLOB], newline=b"\n")),
    Tolerated("blanks after a boundary", GOOD.replace(DELIMITER + b"\r", DELIMITER + b" \t\r", 1)),
    Tolerated("a filename", with_headers(FORM + '; filename="p.json"', TYPE)),
    Tolerated("binary", with_headers(FORM, TYPE, "Content-Transfer-Encoding: binary")),
    Tolerated("8bit", with_headers(FORM, TYPE, "content-transfer-encoding: 8BIT")),
    Tolerated("other headers", with_headers(FORM, TYPE, "X-Note: hello")),
    Tolerated("the case of names", with_headers(FORM.replace("C", "c", 1), TYPE.upper())),
    Tolerated("a charset", with_headers(FORM, TYPE + "; charset=utf-8")),
    Tolerated("an unquoted name", with_headers(disposition("form-data; name=program"), TYPE)),
    Tolerated(
        "a folded header", with_headers("Content-Disposition: form-data;\r\n name=program", TYPE)
    ),
    Tolerated("a quoted boundary", GOOD, f'multipart/form-data; boundary="{BOUNDARY}"'),
    Tolerated("the case of the type", GOOD, f"Multipart/Form-Data; Boundary={BOUNDARY}"),
    Tolerated("other parameters", GOOD, f"multipart/form-data; charset=utf-8; boundary={BOUNDARY}"),
    Tolerated(
        "the longest boundary",
        multipart([PROGRAM, BLOB], boundary="b" * 70),
        f"multipart/form-data; boundary={'b' * 70}",
    ),
    Tolerated(
        "marks in the boundary",
        multipart([PROGRAM, BLOB], boundary="a boundary: (with) 'marks'"),
        QUOTED,
    ),
]


@pytest.mark.parametrize("tolerated", TOLERATED, ids=lambda tolerated: tolerated.name)
def test_what_the_contract_tolerates_runs(server: Server, tolerated: Tolerated) -> None:
    assert post(server, tolerated.body, tolerated.type).results() == {"out": DATA}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"\r\n--",
        DELIMITER[:-1],
        b"\r\n" + DELIMITER[:-1],
        b"x" + DELIMITER + b"--",  # a boundary, but at no line's beginning
        b"\r\n" + DELIMITER + b"x",  # more than a boundary
        b"\r" * 100,
        b"\r\r\n" * 100,
        bytes(range(256)) * 300,
    ],
    ids=range(10),
)
def test_a_blob_may_hold_any_bytes(server: Server, data: bytes) -> None:
    instructions = [upload("bytes", data), returned(value="u")]
    assert execute(server, instructions, blobs=[data]).results() == {"out": data}


def test_how_the_body_arrives_does_not_matter(server: Server) -> None:
    head = (
        f"POST /execute HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
        f"Content-Length: {len(GOOD)}\r\n\r\n"
    )
    with raw_connection(server) as connection:
        connection.setsockopt(6, 1, 1)  # TCP_NODELAY: each byte on its own
        for byte in head.encode() + GOOD:
            connection.sendall(bytes([byte]))
        assert read_raw_reply(connection).results() == {"out": DATA}


def test_hundreds_of_blobs_are_as_good_as_one(server: Server) -> None:
    blobs = [b"%d" % i for i in range(500)]
    instructions = [upload("bytes", blob, id=f"u{i}") for i, blob in enumerate(blobs)]
    instructions.append(module("def main(*blobs): return [len(blobs), b','.join(blobs)]"))
    instructions.append({"op": "get_function", "id": "f", "module": ref("m"), "name": "main"})
    instructions.append(
        {"op": "run", "id": "r", "fn": ref("f"), "args": [ref(f"u{i}") for i in range(500)]}
    )
    instructions.append(returned())
    reply = execute(server, instructions, blobs=blobs)
    assert reply.results() == {"out": [500, b",".join(blobs)]}


def test_a_program_may_be_large(server: Server) -> None:
    source = f"TEXT = {'x' * 3_000_000!r}\ndef main(): return len(TEXT)"
    program = {
        "instructions": [
            module(source),
            {"op": "get_function", "id": "f", "module": ref("m"), "name": "main"},
            {"op": "run", "id": "r", "fn": ref("f"), "args": []},
            returned(),
        ]
    }
    body = multipart([Part(json.dumps(program).encode())])
    assert post(server, body).results() == {"out": 3_000_000}
