"""Programs in a line, for tests of the worker."""

from __future__ import annotations

from seats import digest


def program(source: str, *arguments: object, function: str = "main") -> list[dict]:
    return [
        {"op": "upload", "kind": "module", "id": "m", "source": source},
        {"op": "get_function", "id": "f", "module": {"$ref": "m"}, "name": function},
        {"op": "run", "id": "r", "fn": {"$ref": "f"}, "args": list(arguments)},
        {"op": "return", "key": "out", "value": {"$ref": "r"}},
    ]


def upload(blob: bytes, kind: str, id: str, **fields: object) -> dict:
    return {"op": "upload", "kind": kind, "id": id, "blob": digest(blob), **fields}
