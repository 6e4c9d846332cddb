"""Returned values: from the typed tree, and the parts beside it, to Python's own."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kcoral._dtypes import ITEM_SIZES, numpy_dtype, tensor_size
from kcoral._paths import ancestors, is_normal_path
from kcoral._protocol import fields
from kcoral._protocol.fields import check_members, fail
from kcoral.errors import ProtocolError
from kcoral.returned_files import ReturnedFile, ReturnedFolder

if TYPE_CHECKING:
    import numpy as np

MAX_VALUE_DEPTH = 512


class Slot(ABC):
    """A place in a decoded value that waits for the bytes of a part."""

    def __init__(self, part: str, digest: str, size: int | None) -> None:
        self.part = part
        self.digest = digest
        self.size = size  # None: whatever comes
        self._received = 0
        self._hash = hashlib.sha256()

    @abstractmethod
    def begin(self) -> None:
        """The part's bytes come now."""

    def add(self, data: memoryview) -> None:
        self._keep(data, self._received)
        self._received += len(data)
        self._hash.update(data)

    def end(self) -> None:
        """All bytes are there: verifies them and puts the value in its place."""
        if self.size is not None and self._received != self.size:
            raise ProtocolError(
                f"part {self.part} has {self._received} bytes, its value says {self.size}"
            )
        if self._hash.hexdigest() != self.digest:
            raise ProtocolError(
                f"part {self.part} does not have the bytes that its value says: their SHA-256 is "
                f"{self._hash.hexdigest()}, not {self.digest}"
            )
        self._place()

    @abstractmethod
    def _keep(self, data: memoryview, offset: int) -> None: ...

    @abstractmethod
    def _place(self) -> None: ...


class BytesSlot(Slot):
    """Bytes, or with `as_file` a ReturnedFile."""

    def __init__(
        self, part: str, digest: str, size: int | None, container: Any, place: Any, as_file: bool
    ) -> None:
        super().__init__(part, digest, size)
        self._container = container
        self._key = place
        self._as_file = as_file
        self._pieces: list[bytes] = []

    def begin(self) -> None:
        self._pieces.clear()

    def _keep(self, data: memoryview, offset: int) -> None:
        self._pieces.append(bytes(data))

    def _place(self) -> None:
        content = b"".join(self._pieces)
        self._pieces.clear()
        self._container[self._key] = (
            ReturnedFile(len(content), self.digest, content) if self._as_file else content
        )


class TensorSlot(Slot):
    """A tensor, received into the memory of the array that the caller gets."""

    def __init__(
        self, part: str, digest: str, dtype: str, shape: list[int], container: Any, place: Any
    ) -> None:
        super().__init__(part, digest, tensor_size(dtype, shape))
        self._dtype = dtype
        self._shape = shape
        self._container = container
        self._key = place
        self._array: np.ndarray[Any, Any] | None = None
        self._memory: memoryview | None = None

    def begin(self) -> None:
        import numpy as np

        try:
            self._array = np.empty(self._shape, numpy_dtype(self._dtype))
        except ValueError as error:
            raise ProtocolError(f"part {self.part} cannot be an array: {error}") from None
        self._memory = self._array.reshape(-1).view(np.uint8).data

    def _keep(self, data: memoryview, offset: int) -> None:
        assert self._memory is not None
        self._memory[offset : offset + len(data)] = data

    def _place(self) -> None:
        self._memory = None
        self._container[self._key] = self._array


def decode_results(results: Any) -> tuple[dict[str, Any], list[Slot]]:
    """The values of an execution's `results`, and the slots of its parts in their order.

    The values are whole once every slot has ended. Raises ProtocolError.
    """
    if not isinstance(results, dict):
        fail("results", "is not an object")
    return _Decoder().decode(results)


class _Decoder:
    """Walks the tree depth first with a stack of its own: values nest deeper than Python calls."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        # What is still to be decoded: the node, where its value goes, its path, its depth.
        self._stack: list[tuple[Any, Any, Any, _Path, int]] = []

    def decode(self, results: dict[str, Any]) -> tuple[dict[str, Any], list[Slot]]:
        values: dict[str, Any] = {}
        self._push(results.items(), values, (None, "results"), 1)
        while self._stack:
            node, container, place, path, depth = self._stack.pop()
            self._decode_node(node, container, place, path, depth)
        return values, self._slots

    def _push(self, items: Any, container: Any, path: _Path, depth: int) -> None:
        self._stack += [
            (node, container, place, (path, place), depth) for place, node in reversed(items)
        ]

    def _decode_node(self, node: Any, container: Any, place: Any, path: _Path, depth: int) -> None:
        kind = node.get("type") if isinstance(node, dict) else None
        members = _MEMBERS.get(kind) if isinstance(kind, str) else None
        if members is None:
            fail(_text_of(path), "is not a typed value")
        if node.keys() != members:
            check_members(node, _text_of(path), members)
        if kind in _SCALARS:
            container[place] = _scalar(kind, node.get("value"), path)
        elif kind == "array" or kind == "object":
            if depth > MAX_VALUE_DEPTH:
                fail(_text_of(path), f"is nested more than {MAX_VALUE_DEPTH} levels deep")
            self._open(kind, node["value"], container, place, path, depth)
        elif kind == "tensor":
            self._add_tensor(node, container, place, path)
        elif kind == "bytes":
            self._add_bytes(node, None, container, place, path)
        elif kind == "file":
            self._add_file(node, container, place, path)
        else:
            self._add_folder(node, container, place, path)

    def _open(
        self, kind: str, inner: Any, container: Any, place: Any, path: _Path, depth: int
    ) -> None:
        if kind == "array":
            elements = fields.array(inner, _text_of((path, "value")))
            container[place] = [None] * len(elements)
            self._push(list(enumerate(elements)), container[place], path, depth + 1)
        else:
            if not isinstance(inner, dict):
                fail(_text_of((path, "value")), "is not an object")
            container[place] = {}
            self._push(inner.items(), container[place], path, depth + 1)

    def _part(self, node: dict[str, Any], path: _Path) -> tuple[str, str]:
        expected = f"return:{len(self._slots)}"
        if node["part"] != expected:
            fail(_text_of((path, "part")), f"is {str(node['part'])[:80]!r}, not {expected!r}")
        return expected, fields.digest(node["sha256"], _text_of((path, "sha256")))

    def _add_bytes(
        self, node: dict[str, Any], size: int | None, container: Any, place: Any, path: _Path
    ) -> None:
        part, digest = self._part(node, path)
        container[place] = None  # holds the place in the order of the members
        as_file = size is not None
        self._slots.append(BytesSlot(part, digest, size, container, place, as_file))

    def _add_file(self, node: dict[str, Any], container: Any, place: Any, path: _Path) -> None:
        size = fields.count(node["size"], _text_of((path, "size")))
        self._add_bytes(node, size, container, place, path)

    def _add_tensor(self, node: dict[str, Any], container: Any, place: Any, path: _Path) -> None:
        part, digest = self._part(node, path)
        dtype = node["dtype"]
        if not isinstance(dtype, str) or dtype not in ITEM_SIZES:
            fail(_text_of((path, "dtype")), "is not one of the contract's")
        where = _text_of((path, "shape"))
        shape = [fields.count(size, where) for size in fields.array(node["shape"], where)]
        container[place] = None
        self._slots.append(TensorSlot(part, digest, dtype, shape, container, place))

    def _add_folder(self, node: dict[str, Any], container: Any, place: Any, path: _Path) -> None:
        where = _text_of((path, "files"))
        files = node["files"]
        if not isinstance(files, dict):
            fail(where, "is not an object")
        directories = [
            fields.string(directory, _text_of((path, "directories")))
            for directory in fields.array(node["directories"], _text_of((path, "directories")))
        ]
        _check_folder(list(files), directories, _text_of(path))
        contents: dict[str, ReturnedFile] = {}
        for name, file in files.items():
            file_path = ((path, "files"), name)
            check_members(file, _text_of(file_path), _MEMBERS["file"])
            if file["type"] != "file":
                fail(_text_of(file_path), "is not a file")
            self._add_file(file, contents, name, file_path)
        container[place] = ReturnedFolder(contents, directories)


# The path to a container and the place in it; of the root, None and its name.
_Path = tuple[Any, Any]

_MEMBERS = {
    "null": {"type"},
    "boolean": {"type", "value"},
    "integer": {"type", "value"},
    "number": {"type", "value"},
    "string": {"type", "value"},
    "array": {"type", "value"},
    "object": {"type", "value"},
    "bytes": {"type", "part", "sha256"},
    "tensor": {"type", "dtype", "shape", "part", "sha256"},
    "file": {"type", "size", "part", "sha256"},
    "folder": {"type", "files", "directories"},
}
_SCALARS = {"null", "boolean", "integer", "number", "string"}


def _text_of(path: _Path) -> str:
    """results.output[3].value; written only for an error, without recursion."""
    texts: list[str] = []
    rest: Any = path
    while rest is not None:
        rest, place = rest
        if isinstance(place, int):
            texts.append(f"[{place}]")
        else:
            plain = re.fullmatch(r"[A-Za-z_]\w{0,80}", place)
            texts.append(f".{place}" if plain else f"[{place[:80]!r}]")
    whole = "".join(reversed(texts)).lstrip(".")
    return whole if len(whole) <= 400 else f"{whole[:200]}...{whole[-200:]}"


def _scalar(kind: str, value: Any, path: _Path) -> Any:
    if kind == "null":
        return None
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "number":
        return fields.number(value, _text_of(path))
    fail(_text_of((path, "value")), f"is not of the type {kind}")


def _check_folder(files: list[str], directories: list[str], where: str) -> None:
    known = set(directories)
    if files != sorted(files) or directories != sorted(known):
        fail(where, "does not list its files and directories sorted, each once")
    for path in (*files, *directories):
        if not is_normal_path(path):
            fail(where, f"has the unsafe path {path[:200]!r}")
        for above in ancestors(path):
            if above not in known:
                fail(where, f"does not list the directory {above!r}")
    if both := known.intersection(files):
        fail(where, f"has both a file and a directory {min(both)!r}")


def result_kind(node: Any) -> str | None:
    """ "file" or "folder" for what those returns give, None for any other value."""
    kind = node.get("type") if isinstance(node, dict) else None
    return kind if kind in ("file", "folder") else None
