"""Paths below a workspace: which are allowed, and their one normal form."""

from __future__ import annotations

from kcoral._protocol.json_text import is_unicode

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 4096


def normal_path(path: object, what: str = "path") -> str:
    """The normal form: no empty and no `.` components. Raises TypeError or ValueError.

    `what` begins the message.
    """
    if not isinstance(path, str):
        raise TypeError(f"{what} must be a string, not {type(path).__name__}")
    for fault, broken in (
        ("must not be empty", not path),
        ("must be relative, not begin with '/'", path.startswith("/")),
        ("must not contain NUL", "\0" in path),
        ("must use '/', not a backslash", "\\" in path),
        ("must be valid Unicode", not is_unicode(path)),
    ):
        if broken:
            raise ValueError(f"{what} {fault}: {path!r}")
    components = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in components:
        raise ValueError(f"{what} must not contain '..': {path!r}")
    if not components:
        raise ValueError(f"{what} must name something below the workspace: {path!r}")
    if components[0] == ".kcoral":
        raise ValueError(f"{what}: the top-level '.kcoral' is reserved: {path!r}")
    if any(len(part.encode()) > MAX_COMPONENT_BYTES for part in components):
        raise ValueError(f"{what}: a component has at most {MAX_COMPONENT_BYTES} bytes: {path!r}")
    normal = "/".join(components)
    if len(normal.encode()) > MAX_PATH_BYTES:
        raise ValueError(f"{what} has at most {MAX_PATH_BYTES} bytes")
    return normal


def is_normal_path(path: str) -> bool:
    """Whether this is a normal form already; below a returned folder `.kcoral` is allowed."""
    return (
        "\0" not in path
        and is_unicode(path)
        and len(path.encode()) <= MAX_PATH_BYTES
        and all(
            part not in ("", ".", "..") and len(part.encode()) <= MAX_COMPONENT_BYTES
            for part in path.split("/")
        )
    )


def ancestors(path: str) -> list[str]:
    """The folders above a normal path, outermost first, without the root."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
