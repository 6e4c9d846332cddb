"""Writes the golden wire vectors; README.md beside this file says what they are.

python tests/vectors/make.py
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BOUNDARY = "vector-boundary"
REQUEST_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"

Json = Any
Part = tuple[str, str, bytes]  # name, content type, payload


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(folder: str, name: str, document: Json, body: bytes | None = None) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (HERE / folder / f"{name}.json").write_text(text, encoding="utf-8")
    if body is not None:
        (HERE / folder / f"{name}.body").write_bytes(body)


# --- responses

STEPS: list[Json] = [
    {"op": "upload", "id": "upload_0", "kind": "module", "source": "def f(): ..."},
    {"op": "get_function", "id": "get_function_1", "module": {"$ref": "upload_0"}, "name": "f"},
    {"op": "run", "id": "run_2", "fn": {"$ref": "get_function_1"}},
]


def returns(*keys: str) -> list[Json]:
    return [{"op": "return", "key": key, "value": {"$ref": "run_2"}} for key in keys]


def execution(results: Json, **members: Json) -> dict[str, Json]:
    document: dict[str, Json] = {
        "status": "COMPLETED",
        "request_id": REQUEST_ID,
        "queue_ms": 0.25,
        "elapsed_ms": 12.5,
        "lease_wait_ms": 1,
        "lease_held_ms": 10.125,
        "stdout": "hello\n",
        "stderr": "",
        "stdout_truncated": False,
        "stderr_truncated": True,
    }
    document.update({name: members.pop(name) for name in list(members) if name in document})
    error = members.pop("error", None)
    document.update(members)  # gpu_ids, gpu_count
    document["results"] = results
    if error is not None:
        document["error"] = error
    return document


def instruction_error(**members: Json) -> Json:
    error = {
        "kind": "runtime",
        "message": "ZeroDivisionError: division by zero",
        "instruction_index": 2,
        "instruction_op": "run",
        "instruction_id": "run_2",
        "traceback": "Traceback (most recent call last):\n  ...\n",
    }
    error.update(members)
    return error


def binary(index: int, kind: str, payload: bytes, **members: Json) -> Json:
    """A binary node; `parts_of` finds its payload by its digest."""
    PAYLOADS[sha256(payload)] = payload
    return {"type": kind, **members, "part": f"return:{index}", "sha256": sha256(payload)}


PAYLOADS: dict[str, bytes] = {}


def parts_of(document: Json) -> list[Part]:
    """The result part, and those that the values name."""
    parts: list[Part] = [("result", "application/json", json.dumps(document).encode())]

    def visit(node: Json) -> None:
        if isinstance(node, dict) and "part" in node:
            payload = PAYLOADS[node["sha256"]]
            parts.append((node["part"], "application/octet-stream", payload))
        elif isinstance(node, dict):
            for member in node.values():
                visit(member)
        elif isinstance(node, list):
            for element in node:
                visit(element)

    visit(document["results"])
    return parts


def multipart(parts: list[Part], closing: bool = True) -> bytes:
    body = b""
    for name, content_type, payload in parts:
        body += (
            (
                f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n'
                f"Content-Type: {content_type}\r\n\r\n"
            ).encode()
            + payload
            + b"\r\n"
        )
    return body + (f"--{BOUNDARY}--\r\n".encode() if closing else b"")


def expected_values(node: Json) -> Json:
    if isinstance(node, dict) and "part" in node:
        kept = {name: member for name, member in node.items() if name not in ("part", "sha256")}
        return {**kept, "hex": PAYLOADS[node["sha256"]].hex()}
    if isinstance(node, dict):
        return {name: expected_values(member) for name, member in node.items()}
    if isinstance(node, list):
        return [expected_values(element) for element in node]
    return node


def response(
    name: str,
    instructions: list[Json],
    body: bytes,
    expect: Json,
    *,
    status: int = 200,
    content_type: str = "application/json",
    request_id: str = REQUEST_ID,
    gpu_count: int | None = None,
) -> None:
    document = {
        "instructions": instructions,
        "gpu_count": gpu_count,
        "status": status,
        "headers": {"Content-Type": content_type, "X-Request-ID": request_id},
        "expect": expect,
    }
    write("responses", name, document, body)


MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def accepted(
    name: str, instructions: list[Json], document: Json, gpu_count: int | None = None
) -> None:
    parts = parts_of(document)
    beside = {member: value for member, value in document.items() if member != "results"}
    expect = {
        "outcome": "result",
        "document": beside,
        "results": expected_values(document["results"]),
    }
    if len(parts) == 1:
        response(name, instructions, parts[0][2], expect, gpu_count=gpu_count)
    else:
        response(
            name,
            instructions,
            multipart(parts),
            expect,
            content_type=MULTIPART,
            gpu_count=gpu_count,
        )


def refused(
    name: str, instructions: list[Json], body: bytes, needs: str = "", **more: Json
) -> None:
    expect = {"outcome": "protocol_error"}
    if needs:
        expect["needs"] = needs
    response(name, instructions, body, expect, **more)


def json_bytes(document: Json) -> bytes:
    return json.dumps(document).encode()


def without(document: Json, member: str) -> Json:
    return {name: value for name, value in document.items() if name != member}


def make_accepted() -> None:
    one = {"type": "integer", "value": 1}
    accepted("no-results", STEPS, execution({}))
    accepted(
        "scalars",
        STEPS + returns("null", "true", "small", "huge", "negative", "float", "text", "empty"),
        execution(
            {
                "null": {"type": "null"},
                "true": {"type": "boolean", "value": True},
                "small": {"type": "integer", "value": 7},
                "huge": {"type": "integer", "value": 10**400 + 1},
                "negative": {"type": "integer", "value": -(2**63)},
                "float": {"type": "number", "value": 1.5e-300},
                "text": {"type": "string", "value": 'π "quoted" \u0000 \U0001f600'},
                "empty": {"type": "string", "value": ""},
            }
        ),
    )
    accepted(
        "containers",
        STEPS + returns("list", "dict"),
        execution(
            {
                "list": {
                    "type": "array",
                    "value": [one, {"type": "array", "value": []}, {"type": "null"}],
                },
                "dict": {
                    "type": "object",
                    "value": {"z": one, "a": {"type": "object", "value": {}}, "": one},
                },
            }
        ),
    )
    deep: Json = one
    for _ in range(512):
        deep = {"type": "array", "value": [deep]}
    # Too deep for most readers of this vector, too: it says only that there is a result.
    body = json_bytes(execution({"deep": deep}))
    response("deepest", STEPS + returns("deep"), body, {"outcome": "result"})
    floats = struct.pack("<4f", 1, 2, 3, 4)
    accepted(
        "tensor",
        STEPS + returns("output"),
        execution({"output": binary(0, "tensor", floats, dtype="float32", shape=[4])}),
    )
    dtypes = {
        "bool": b"\1\0", "uint8": b"\xff\0", "int8": b"\xff\x7f",
        "float8_e4m3fn": b"\x38\xb8", "float8_e5m2": b"\x3c\xbc",
        "int16": struct.pack("<2h", -1, 258), "float16": struct.pack("<2e", 1, -2),
        "bfloat16": b"\x80\x3f\x00\xc0", "int32": struct.pack("<2i", -1, 66051),
        "float32": struct.pack("<2f", 1, -2), "int64": struct.pack("<2q", -1, 1 << 40),
        "float64": struct.pack("<2d", 1, -2),
    }  # fmt: skip
    accepted(
        "dtypes",
        STEPS + returns(*dtypes),
        execution(
            {
                dtype: binary(i, "tensor", data, dtype=dtype, shape=[1, 2])
                for i, (dtype, data) in enumerate(dtypes.items())
            }
        ),
    )
    accepted(
        "tensor-shapes",
        STEPS + returns("scalar", "empty", "cube"),
        execution(
            {
                "scalar": binary(0, "tensor", b"\7", dtype="uint8", shape=[]),
                "empty": binary(1, "tensor", b"", dtype="float64", shape=[3, 0, 2]),
                "cube": binary(2, "tensor", bytes(range(8)), dtype="uint8", shape=[2, 2, 2]),
            }
        ),
    )
    tricky = f"\r\n--{BOUNDARY[:-1]}\r\n--\r\r\n".encode()
    accepted(
        "bytes",
        STEPS + returns("empty", "nested", "same"),
        execution(
            {
                "empty": binary(0, "bytes", b""),
                "nested": {
                    "type": "object",
                    "value": {
                        "b": binary(1, "bytes", tricky),
                        "a": {"type": "array", "value": [binary(2, "bytes", bytes(range(256)))]},
                    },
                },
                "same": binary(3, "bytes", tricky),
            }
        ),
    )
    file_steps = [
        {"op": "return", "key": "file", "kind": "file", "path": "out.txt"},
        {"op": "return", "key": "folder", "kind": "folder", "path": "out"},
        {"op": "return", "key": "bare", "kind": "folder", "path": "empty"},
    ]
    folder = {
        "type": "folder",
        "files": {
            ".kcoral": binary(1, "file", b"", size=0),
            "a/b.txt": binary(2, "file", b"two\n", size=4),
            "ä": binary(3, "file", b"\xff", size=1),
        },
        "directories": ["a", "a/empty"],
    }
    accepted(
        "files-and-folders",
        STEPS + file_steps,
        execution(
            {
                "file": binary(0, "file", b"one\n", size=4),
                "folder": folder,
                "bare": {"type": "folder", "files": {}, "directories": []},
            }
        ),
    )
    accepted(
        "failed-run",
        STEPS[:2] + returns("never"),
        execution(
            {},
            status="FAILED",
            error=instruction_error(
                instruction_index=1, instruction_op="get_function", instruction_id="get_function_1"
            ),
        ),
    )
    accepted(
        "failed-return-keeps-earlier",
        STEPS + returns("kept", "failed"),
        execution(
            {"kept": binary(0, "bytes", b"kept")},
            status="FAILED",
            error=instruction_error(
                kind="serialization", instruction_index=4, instruction_op="return",
                instruction_id=None,
            ),
        ),
    )  # fmt: skip
    accepted(
        "failed-gpu-access",
        STEPS,
        execution(
            {},
            status="FAILED",
            error=instruction_error(
                kind="gpu_access", cuda_call="cudaMalloc", location="<uploaded:upload_0>:3",
                interfered_request_id=None,
            ),
        ),
    )  # fmt: skip
    accepted(
        "gpus",
        STEPS + returns("a"),
        execution({"a": one}, gpu_ids=[3, 1], gpu_count=2),
        gpu_count=2,
    )
    blobs = [
        {"op": "upload", "id": f"upload_{i}", "kind": "bytes", "blob": sha256(data)}
        for i, data in enumerate((b"first", b"second", b"first"))
    ]
    miss = {
        "status": "CACHE_MISS",
        "missing_blobs": [sha256(b"first"), sha256(b"second")],
        "request_id": REQUEST_ID,
    }
    expect = {"outcome": "cache_miss", "missing": miss["missing_blobs"]}
    response("cache-miss", blobs, json_bytes(miss), expect)
    for name, fault in {
        "reversed": {"missing_blobs": [sha256(b"second"), sha256(b"first")]},
        "repeated": {"missing_blobs": [sha256(b"first")] * 2},
        "unknown": {"missing_blobs": [sha256(b"third")]},
    }.items():
        refused(f"cache-miss-{name}", blobs, json_bytes({**miss, **fault}), needs="program")
    refused("cache-miss-empty", blobs, json_bytes({**miss, "missing_blobs": []}))
    refused("cache-miss-bad-digest", blobs, json_bytes({**miss, "missing_blobs": ["ABC"]}))
    refused("cache-miss-extra-member", blobs, json_bytes({**miss, "results": {}}))
    for status, kind in (
        (400, "parse"), (413, "request_too_large"), (500, "engine"), (500, "response_too_large"),
        (502, "server_transport"), (503, "busy"), (504, "timeout"),
    ):  # fmt: skip
        error = {"kind": kind, "message": f"{kind} it is"}
        body = json_bytes({"status": "ERROR", "request_id": REQUEST_ID, "error": error})
        response(
            f"error-{status}-{kind}", STEPS, body, {"outcome": "error", **error}, status=status
        )


def make_refused_documents() -> None:
    one = {"type": "integer", "value": 1}
    steps = STEPS + returns("a", "b")
    good = execution({"a": one, "b": one})
    for member in good:
        refused(f"document-lacks-{member}", steps, json_bytes(without(good, member)))
    refused("document-extra-member", steps, json_bytes({**good, "extra": 1}))
    refused("document-completed-with-error", steps,
            json_bytes({**good, "error": instruction_error()}))  # fmt: skip
    refused("document-failed-without-error", steps, json_bytes({**good, "status": "FAILED"}))
    refused("document-unknown-status", steps, json_bytes({**good, "status": "DONE"}))
    refused("document-error-with-200", steps, json_bytes(
        {"status": "ERROR", "request_id": REQUEST_ID, "error": {"kind": "parse", "message": ""}}
    ))  # fmt: skip
    refused("document-completed-with-500", steps, json_bytes(good), status=500)
    refused(
        "document-other-request-id",
        steps,
        json_bytes(good),
        request_id="0" * 36,
        needs="X-Request-ID",
    )
    for name, fault in {
        "negative-time": {"queue_ms": -1},
        "boolean-time": {"elapsed_ms": True},
        "text-time": {"elapsed_ms": "1"},
        "null-stdout": {"stdout": None},
        "number-flag": {"stdout_truncated": 0},
        "array-results": {"results": []},
    }.items():
        refused(f"document-{name}", steps, json_bytes({**good, **fault}))
    for name, results in {
        "missing": {"a": one},
        "extra": {"a": one, "b": one, "c": one},
        "renamed": {"a": one, "c": one},
        "reversed": {"b": one, "a": one},
    }.items():
        body = json_bytes(execution(results))
        refused(f"results-{name}", steps, body, needs="program")
    gpus = {**good, "gpu_ids": [0], "gpu_count": 1}
    refused("gpus-not-asked", steps, json_bytes(gpus), needs="program")
    refused("gpus-missing", steps, json_bytes(good), gpu_count=2, needs="program")
    refused("gpus-too-few", steps, json_bytes(gpus), gpu_count=2, needs="program")
    refused("gpus-miscounted", steps, json_bytes({**gpus, "gpu_count": 2}), gpu_count=1)
    text = json.dumps(good)
    for name, body in {
        "empty": b"",
        "truncated": text[:-1].encode(),
        "trailing": text.encode() + b"x",
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "not-utf8": text.encode().replace(b"hello", b"h\xffllo"),
        "duplicate-key": text.replace('"stdout":', '"stdout": "", "stdout":').encode(),
        "nan": text.replace("12.5", "NaN").encode(),
        "overflow": text.replace("12.5", "1e999").encode(),
        "lone-surrogate": text.replace("hello", "\\ud800").encode(),
        "array": b"[]",
    }.items():
        refused(f"json-{name}", steps, body)
    error_steps = STEPS + returns("a")
    for name, error in {
        "extra-member": instruction_error(extra=1),
        "lacks-traceback": without(instruction_error(), "traceback"),
        "text-index": instruction_error(instruction_index="2"),
        "cuda-call-without-gpu-access": instruction_error(cuda_call="cuInit"),
        "gpu-access-without-cuda-call": instruction_error(kind="gpu_access"),
    }.items():
        body = json_bytes(execution({}, status="FAILED", error=error))
        refused(f"instruction-error-{name}", error_steps, body)
    for name, error in {
        "beyond-end": instruction_error(instruction_index=4),
        "other-op": instruction_error(instruction_op="upload"),
        "other-id": instruction_error(instruction_id="run_3"),
    }.items():
        body = json_bytes(execution({}, status="FAILED", error=error))
        refused(f"instruction-error-{name}", error_steps, body, needs="program")
    error = {"kind": "engine", "message": "m"}
    server_error = {"status": "ERROR", "request_id": REQUEST_ID, "error": error}
    for name, document in {
        "extra-member": {**server_error, "results": {}},
        "lacks-message": {**server_error, "error": {"kind": "engine"}},
        "extra-in-error": {**server_error, "error": {**error, "traceback": ""}},
        "lacks-request-id": without(server_error, "request_id"),
    }.items():
        refused(f"error-{name}", STEPS, json_bytes(document), status=500)
    refused("error-html", STEPS, b"<h1>Bad Gateway</h1>", status=502, content_type="text/html")


def make_refused_values() -> None:
    steps = STEPS + returns("a")
    digest = sha256(b"")
    one = {"type": "integer", "value": 1}
    for name, value in {
        "untyped": 1,
        "unknown-type": {"type": "complex", "value": 1},
        "no-type": {"value": 1},
        "null-with-value": {"type": "null", "value": None},
        "extra-member": {"type": "integer", "value": 1, "unit": "ms"},
        "boolean-integer": {"type": "integer", "value": True},
        "float-integer": {"type": "integer", "value": 1.5},
        "text-number": {"type": "number", "value": "1"},
        "integer-boolean": {"type": "boolean", "value": 1},
        "null-string": {"type": "string", "value": None},
        "untyped-element": {"type": "array", "value": [1]},
        "object-array": {"type": "array", "value": {}},
        "array-object": {"type": "object", "value": []},
        "bytes-in-json": {"type": "bytes", "part": "return:0", "sha256": digest},
    }.items():
        refused(f"value-{name}", steps, json_bytes(execution({"a": value})))
    deep: Json = one
    for _ in range(513):
        deep = {"type": "array", "value": [deep]}
    refused("value-too-deep", steps, json_bytes(execution({"a": deep})))
    tensor = binary(0, "tensor", b"\1\2", dtype="uint8", shape=[2])
    for name, node in {
        "unknown-dtype": {**tensor, "dtype": "uint16"},
        "negative-shape": {**tensor, "shape": [-2]},
        "boolean-shape": {**tensor, "shape": [True, 2]},
        "text-shape": {**tensor, "shape": "2"},
        "uppercase-digest": {**tensor, "sha256": tensor["sha256"].upper()},
        "short-digest": {**tensor, "sha256": tensor["sha256"][:-1]},
        "part-1": {**tensor, "part": "return:1"},
        "part-00": {**tensor, "part": "return:00"},
        "part-number": {**tensor, "part": 0},
        "huge": {**tensor, "dtype": "float64", "shape": [1 << 40, 1 << 40]},
    }.items():
        parts = [
            ("result", "application/json", json_bytes(execution({"a": node}))),
            ("return:0", "application/octet-stream", b"\1\2"),
        ]
        refused(f"tensor-{name}", steps, multipart(parts), content_type=MULTIPART)
    file = binary(0, "file", b"x", size=1)
    folder_steps = [*STEPS, {"op": "return", "key": "a", "kind": "folder", "path": "out"}]
    for name, files, directories in (
        ("parent", {"../x": file}, [".."]),
        ("absolute", {"/x": file}, [""]),
        ("empty-name", {"": file}, []),
        ("dot", {"./x": file}, ["."]),
        ("nul", {"x\0": file}, []),
        ("ancestor-missing", {"a/x": file}, []),
        ("deep-ancestor-missing", {"x": file}, ["a/b"]),
        ("repeated-directory", {"x": file}, ["a", "a"]),
        ("unsorted-directories", {"x": file}, ["b", "a"]),
        ("file-is-directory", {"x": file}, ["x"]),
    ):
        node = {"type": "folder", "files": files, "directories": directories}
        body = multipart(parts_of(execution({"a": node})))
        refused(f"folder-{name}", folder_steps, body, content_type=MULTIPART)
    unsorted_files = {"y": file, "x": binary(1, "file", b"y", size=1)}
    node = {"type": "folder", "files": unsorted_files, "directories": []}
    body = multipart(parts_of(execution({"a": node})))
    refused("folder-unsorted-files", folder_steps, body, content_type=MULTIPART)
    body = multipart(parts_of(execution({"a": file})))
    refused("folder-is-file", folder_steps, body, content_type=MULTIPART, needs="program")
    refused("value-is-file", steps, body, content_type=MULTIPART, needs="program")


def make_refused_parts() -> None:
    steps = STEPS + returns("t", "b")
    good = execution(
        {
            "t": binary(0, "tensor", b"\1\2\3\4", dtype="uint8", shape=[4]),
            "b": binary(1, "bytes", b"bytes"),
        }
    )
    result, tensor, blob = parts_of(good)
    octets = "application/octet-stream"

    def case(name: str, parts: list[Part]) -> None:
        refused(f"parts-{name}", steps, multipart(parts), content_type=MULTIPART)

    case("missing-last", [result, tensor])
    case("missing-first", [result, blob])
    case("none", [result])
    case("swapped", [result, blob, tensor])
    case("repeated", [result, tensor, tensor, blob])
    case("extra", [result, tensor, blob, ("return:2", octets, b"")])
    case("extra-named", [result, tensor, blob, ("log", octets, b"")])
    case("result-last", [tensor, blob, result])
    case("result-twice", [result, result, tensor, blob])
    case("renumbered", [result, ("return:1", octets, tensor[2]), ("return:0", octets, blob[2])])
    case("tensor-digest", [result, ("return:0", octets, b"\1\2\3\5"), blob])
    case("bytes-digest", [result, tensor, ("return:1", octets, b"Bytes")])
    case("tensor-short", [result, ("return:0", octets, b"\1\2\3"), blob])
    case("tensor-long", [result, ("return:0", octets, b"\1\2\3\4\5"), blob])
    case("tensor-empty", [result, ("return:0", octets, b""), blob])
    case("tensor-type", [result, ("return:0", "text/plain", tensor[2]), blob])
    case("result-type", [("result", octets, result[2]), tensor, blob])
    case("no-parts-at-all", [])
    whole = multipart([result, tensor, blob])
    for name, body in {
        "truncated-in-head": whole[:40],
        "truncated-in-result": whole[:200],
        "truncated-in-part": whole[: whole.index(b"\1\2\3\4") + 2],
        "truncated-before-closing": multipart([result, tensor, blob], closing=False),
        "truncated-in-closing": whole[:-4],
        "other-boundary": whole.replace(BOUNDARY.encode(), b"another-boundary"),
        "empty": b"",
        "two-dispositions": whole.replace(
            b"Content-Type: application/json",
            b'Content-Disposition: form-data; name="result"\r\nContent-Type: application/json',
        ),
        "no-content-type": whole.replace(b"Content-Type: application/json\r\n", b""),
        "no-name": whole.replace(b'; name="result"', b""),
        "not-form-data": whole.replace(b"form-data; name", b"attachment; name"),
        "base64": whole.replace(
            b"Content-Type: application/json",
            b"Content-Type: application/json\r\nContent-Transfer-Encoding: base64",
        ),
    }.items():
        refused(f"multipart-{name}", steps, body, content_type=MULTIPART)
    for name, content_type in {
        "no-boundary": "multipart/form-data",
        "empty-boundary": "multipart/form-data; boundary=",
        "mixed": f"multipart/mixed; boundary={BOUNDARY}",
        "text": "text/plain",
        "none": "",
        "json": "application/json",
    }.items():
        refused(f"content-type-{name}", steps, whole, content_type=content_type)
    plain = execution({"a": {"type": "integer", "value": 1}})
    refused(
        "multipart-without-parts", STEPS + returns("a"),
        multipart([("result", "application/json", json_bytes(plain))]), content_type=MULTIPART,
    )  # fmt: skip


# --- requests


def request(name: str, calls: list[Json], instructions: list[Json], options: Json = None) -> None:
    """`instructions` is what the calls build, written by hand; blobs are named by their bytes."""
    blobs: dict[str, bytes] = {}
    steps = copy.deepcopy(instructions)
    for step in steps:
        if "blob" in step:
            data = bytes.fromhex(step["blob"])
            step["blob"] = sha256(data)
            blobs.setdefault(sha256(data), data)
    document: dict[str, Json] = {"instructions": steps}
    if options:
        document["options"] = options
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    listed = [{"sha256": digest, "hex": data.hex()} for digest, data in blobs.items()]
    vector = {"calls": calls, "options": options or {}, "text": text, "blobs": listed}
    write("requests", name, vector)


def call(method: str, **arguments: Json) -> Json:
    return {"method": method, **arguments}


def make_requests() -> None:
    source = "def add_one(x):\n    return x + 1\n"
    floats = struct.pack("<4f", 0, 1, 2, 3).hex()
    register = [{"register": i} for i in range(8)]
    request(
        "first-program",
        [
            call("upload", kind="module", source=source),
            call("get_function", module=register[0], name="add_one"),
            call("upload", kind="tensor", value={"blob": floats}, dtype="float32", shape=[4]),
            call("run", fn=register[1], args=[register[2]]),
            call("return_", key="output", value=register[3]),
        ],
        [
            {"op": "upload", "id": "upload_0", "kind": "module", "source": source},
            {"op": "get_function", "id": "get_function_1", "module": {"$ref": "upload_0"},
             "name": "add_one"},
            {"op": "upload", "id": "upload_2", "kind": "tensor", "blob": floats,
             "dtype": "float32", "shape": [4]},
            {"op": "run", "id": "run_3", "fn": {"$ref": "get_function_1"},
             "args": [{"$ref": "upload_2"}]},
            {"op": "return", "key": "output", "value": {"$ref": "run_3"}},
        ],
    )  # fmt: skip
    request(
        "every-instruction",
        [
            call("upload", kind="bytes", value={"blob": "00ff"}, id="upload_2"),
            call("upload", kind="library", value={"blob": "7f454c46"}),
            call("upload", kind="tensor", value={"blob": "01"}, dtype="bool", shape=[]),
            call("upload_file", blob={"blob": "00ff"}, path="./in//data.bin"),
            call("get_function", module=register[1], name="π", cpu_only=True),
            call("run", fn=register[4], id="last"),
            call("return_file", key="file", path="out/./log.txt"),
            call("return_folder", key="folder", path=register[3]),
        ],
        [
            {"op": "upload", "id": "upload_2", "kind": "bytes", "blob": "00ff"},
            {"op": "upload", "id": "upload_0", "kind": "library", "blob": "7f454c46"},
            {"op": "upload", "id": "upload_1", "kind": "tensor", "blob": "01", "dtype": "bool",
             "shape": []},
            {"op": "upload", "id": "upload_3", "kind": "file", "blob": "00ff",
             "path": "in/data.bin"},
            {"op": "get_function", "id": "get_function_4", "module": {"$ref": "upload_0"},
             "name": "π", "cpu_only": True},
            {"op": "run", "id": "last", "fn": {"$ref": "get_function_4"}},
            {"op": "return", "key": "file", "kind": "file", "path": "out/log.txt"},
            {"op": "return", "key": "folder", "kind": "folder", "path": {"$ref": "upload_3"}},
        ],
        {"timeout_seconds": 1.5, "output_limit_bytes": 0, "gpu_count": 8},
    )  # fmt: skip
    arguments = [None, True, -1, 10**30, 0.5, "π\n", [1, [2]], {"b": 1, "a": {"$ref": "x"}}]
    request(
        "arguments",
        [
            call("upload", kind="module", source=""),
            call("get_function", module=register[0], name="f"),
            call("run", fn=register[1], args=[*arguments, register[0]]),
            call("run", fn=register[1], args=[]),
        ],
        [
            {"op": "upload", "id": "upload_0", "kind": "module", "source": ""},
            {"op": "get_function", "id": "get_function_1", "module": {"$ref": "upload_0"},
             "name": "f"},
            {"op": "run", "id": "run_2", "fn": {"$ref": "get_function_1"},
             "args": [*arguments, {"$ref": "upload_0"}]},
            {"op": "run", "id": "run_3", "fn": {"$ref": "get_function_1"}, "args": []},
        ],
    )  # fmt: skip


def main() -> None:
    sys.setrecursionlimit(10_000)
    for folder in ("requests", "responses"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    make_requests()
    make_accepted()
    make_refused_documents()
    make_refused_values()
    make_refused_parts()


if __name__ == "__main__":
    main()
