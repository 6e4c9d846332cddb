"""Program: instructions for a server, built one call at a time."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kcoral._arguments import json_snapshot
from kcoral._blob import Blob, blob_of_bytes
from kcoral._folders import files_below, read_regular_file
from kcoral._paths import ancestors, normal_path
from kcoral._protocol.json_text import is_unicode

if TYPE_CHECKING:
    from kcoral.returned_files import ReturnedFolder

UploadKind = Literal["module", "tensor", "bytes", "library"]


@dataclass(frozen=True)
class Register:
    """The value of one instruction, for the later ones of the same program."""

    id: str
    _program: Program = field(repr=False)

    def __deepcopy__(self, memo: object) -> Register:
        return self


class Program:
    """A program: upload, get_function, run, return; executed in this order by one worker.

    Everything passed in is copied when it is passed in. A call that raises changes nothing.
    Not thread-safe while it is being built; any number of executions may share it.
    """

    def __init__(self) -> None:
        self._instructions: list[dict[str, Any]] = []
        self._blobs: dict[str, Blob] = {}  # by digest, in the order of first reference
        self._ids: set[str] = set()
        self._keys: set[str] = set()
        self._files: set[str] = set()  # normal paths of uploaded files
        self._folders: set[str] = set()  # those above them
        self._next_number = 0

    @property
    def instructions(self) -> list[dict[str, Any]]:
        """The instructions so far as they will be sent; a copy."""
        return copy.deepcopy(self._instructions)

    def __repr__(self) -> str:
        return f"<Program of {len(self._instructions)} instructions>"

    # --- instructions

    def upload(
        self,
        *,
        kind: UploadKind,
        id: str | None = None,
        source: str | None = None,
        value: object = None,
        dtype: object = None,
        shape: Sequence[int] | None = None,
    ) -> Register:
        """Sends something to the worker.

        - "module": `source` is Python text, executed to form a module.
        - "tensor": `value` is an array (NumPy of any byte order and strides, torch, DLPack), or raw
          C-contiguous little-endian bytes with `dtype` and `shape`. It lands on the worker's GPU.
        - "bytes": `value` is bytes-like, and stays in host memory.
        - "library": `value` holds the bytes of an ELF shared object, loaded as a TVM FFI module.

        Raises TypeError or ValueError for what cannot be sent or does not belong to the kind.
        """
        given: dict[str, object] = {
            "source": source,
            "value": value,
            "dtype": dtype,
            "shape": shape,
        }
        wanted, allowed = _upload_arguments(kind)
        for name, argument in given.items():
            if argument is not None and name not in allowed:
                raise TypeError(f"upload(kind={kind!r}) takes no {name}=")
        if given[wanted] is None:
            raise TypeError(f"upload(kind={kind!r}) needs {wanted}=")
        fields: dict[str, Any] = {"kind": kind}
        if kind == "module":
            fields["source"] = _check_text(source, "source")
            return self._append("upload", id, fields)
        if kind == "tensor":
            from kcoral._tensors import tensor_of

            tensor = tensor_of(value, dtype, shape)
            fields.update(blob=tensor.blob.digest, dtype=tensor.dtype, shape=tensor.shape)
            return self._append("upload", id, fields, tensor.blob)
        blob = blob_of_bytes(value, f"the value of upload(kind={kind!r})")
        fields["blob"] = blob.digest
        return self._append("upload", id, fields, blob)

    def upload_file(self, *, blob: object, path: str, id: str | None = None) -> Register:
        """Writes a file into the workspace. The Register stands for its normalised path.

        `blob` is bytes-like, or the path of a local file as a pathlib.Path. `path` is relative to
        the workspace; the folders above it are made.
        """
        normal = self._check_destination(path, self._files, self._folders)
        if isinstance(blob, os.PathLike):
            blob = read_regular_file(blob)
        content = blob_of_bytes(blob, "blob (if it is not a pathlib.Path)")
        return self._append_file(normal, content, id)

    def upload_folder(
        self, folder: str | os.PathLike[str] | ReturnedFolder, *, path: str
    ) -> list[Register]:
        """Writes a local folder's files, or those of a returned folder, below `path`.

        `path` "." is the workspace itself. Gives the Registers of the files, sorted by path. Raises
        ValueError for links and special files, and for a folder without files.
        """
        prefix = "" if path in (".", "./") else normal_path(path) + "/"
        contents = _contents_of(folder)
        taken, folders = set(self._files), set(self._folders)
        files: list[tuple[str, Blob]] = []
        for name, content in contents:
            normal = self._check_destination(prefix + name, taken, folders)
            taken.add(normal)
            folders.update(ancestors(normal))
            files.append((normal, blob_of_bytes(content, normal)))
        return [self._append_file(normal, blob, None) for normal, blob in files]

    def get_function(
        self, *, module: Register, name: str, id: str | None = None, cpu_only: bool = False
    ) -> Register:
        """A function of an uploaded module or library.

        Runs of a `cpu_only` function hold no GPU and must not use one.
        """
        if not isinstance(cpu_only, bool):
            raise TypeError(f"cpu_only must be a bool, not {type(cpu_only).__name__}")
        fields: dict[str, Any] = {
            "module": self._reference(module, "module"),
            "name": _check_name(name, "name"),
        }
        if cpu_only:
            fields["cpu_only"] = True
        return self._append("get_function", id, fields)

    def run(
        self, *, fn: Register, args: Sequence[object] | None = None, id: str | None = None
    ) -> Register:
        """Calls a function. Each argument is a Register or a JSON value.

        A dictionary {"$ref": id} that names an earlier instruction is taken for its Register.
        """
        fields: dict[str, Any] = {"fn": self._reference(fn, "fn")}
        if args is not None:
            if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
                raise TypeError(f"args must be a list or tuple, not {type(args).__name__}")
            fields["args"] = [
                self._argument(argument, f"args[{i}]") for i, argument in enumerate(args)
            ]
        return self._append("run", id, fields)

    def return_(self, *, key: str, value: Register) -> None:
        """Sends a value back, as `results[key]`."""
        reference = self._reference(value, "value")
        self._append_return(key, {"value": reference})

    def return_file(self, *, key: str, path: str | Register) -> None:
        """Sends a regular file of the workspace back, as a ReturnedFile.

        `path` is a string, or the Register of one.
        """
        self._append_return(key, {"kind": "file", "path": self._path(path)})

    def return_folder(self, *, key: str, path: str | Register) -> None:
        """Sends a folder of the workspace back, as a ReturnedFolder."""
        self._append_return(key, {"kind": "folder", "path": self._path(path)})

    # --- checks

    def _reference(self, register: object, what: str) -> dict[str, str]:
        if not isinstance(register, Register):
            raise TypeError(f"{what} must be a Register, not {type(register).__name__}")
        if register._program is not self:
            raise ValueError(f"{what}: {register.id!r} is a Register of another program")
        return {"$ref": register.id}

    def _argument(self, argument: object, what: str) -> Any:
        if isinstance(argument, Register):
            return self._reference(argument, what)
        value = json_snapshot(argument, what)
        if isinstance(value, dict) and list(value) == ["$ref"]:
            target = value["$ref"]
            if not isinstance(target, str) or target not in self._ids:
                raise ValueError(
                    f"{what} reads as a reference, and no earlier instruction has the id "
                    f"{target!r}; to pass it as data, put it inside a list"
                )
        return value

    def _path(self, path: object) -> str | dict[str, str]:
        return self._reference(path, "path") if isinstance(path, Register) else normal_path(path)

    @staticmethod
    def _check_destination(path: object, files: set[str], folders: set[str]) -> str:
        normal = normal_path(path)
        if normal in files:
            raise ValueError(f"a file is already uploaded to {normal!r}")
        if normal in folders:
            raise ValueError(f"{normal!r} is a folder of another uploaded file")
        for folder in ancestors(normal):
            if folder in files:
                raise ValueError(f"{folder!r} is an uploaded file, not a folder for {normal!r}")
        return normal

    # --- changes: everything was checked

    def _append_file(self, path: str, blob: Blob, id: str | None) -> Register:
        fields = {"kind": "file", "blob": blob.digest, "path": path}
        register = self._append("upload", id, fields, blob)
        self._files.add(path)
        self._folders.update(ancestors(path))
        return register

    def _append(
        self, op: str, id: str | None, fields: Mapping[str, Any], blob: Blob | None = None
    ) -> Register:
        if id is None:
            number = self._next_number
            while f"{op}_{number}" in self._ids:
                number += 1
            id = f"{op}_{number}"
            self._next_number = number + 1
        else:
            _check_name(id, "id")
            if id in self._ids:
                raise ValueError(f"the id {id!r} is taken by an earlier instruction")
        self._ids.add(id)
        if blob is not None:
            self._blobs.setdefault(blob.digest, blob)
        self._instructions.append({"op": op, "id": id, **fields})
        return Register(id, self)

    def _append_return(self, key: str, fields: Mapping[str, Any]) -> None:
        _check_name(key, "key")
        if key in self._keys:
            raise ValueError(f"the key {key!r} is returned already")
        self._keys.add(key)
        self._instructions.append({"op": "return", "key": key, **fields})


def _upload_arguments(kind: object) -> tuple[str, tuple[str, ...]]:
    """Which argument an upload of this kind needs, and which it takes."""
    if kind == "module":
        return "source", ("source",)
    if kind == "tensor":
        return "value", ("value", "dtype", "shape")
    if kind in ("bytes", "library"):
        return "value", ("value",)
    raise ValueError(
        f"kind must be 'module', 'tensor', 'bytes' or 'library', not {kind!r}; "
        "files have upload_file()"
    )


def _check_text(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, not {type(text).__name__}")
    if not is_unicode(text):
        raise ValueError(f"{what} has a lone surrogate, which UTF-8 cannot say")
    return text


def _check_name(name: object, what: str) -> str:
    text = _check_text(name, what)
    if not text:
        raise ValueError(f"{what} must not be empty")
    return text


def _contents_of(folder: str | os.PathLike[str] | ReturnedFolder) -> list[tuple[str, bytes]]:
    if isinstance(folder, (str, os.PathLike)):
        return [(name, read_regular_file(where)) for name, where in files_below(folder)]
    from kcoral.returned_files import ReturnedFolder

    if isinstance(folder, ReturnedFolder):
        if not folder.files:
            raise ValueError("the returned folder has no files; empty folders cannot be sent")
        return [(name, file.read_bytes()) for name, file in folder.files.items()]
    raise TypeError(f"folder must be a path or a ReturnedFolder, not {type(folder).__name__}")
