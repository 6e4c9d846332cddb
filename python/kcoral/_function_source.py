"""The text of one self-contained function, as a module that defines it and nothing else.

Comments and lines stay as they are, so that remote tracebacks read like the caller's file. Defaults
are bound by the caller and replaced here; annotations are not evaluated.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
from collections.abc import Callable
from typing import Any


def module_source_of(function: Callable[..., Any]) -> str:
    """Raises TypeError for what is no plain function, ValueError for what cannot stand alone."""
    name = _check_is_plain(function)
    text = _source_text(function, name)
    definition = _definition_in(text, name)
    _check_decorators(definition, name)
    _check_names(function, text, name)
    lines = text.split("\n")
    _blank_defaults(lines, definition)
    body = "\n".join(lines[definition.lineno - 1 : definition.end_lineno])
    indented = "if True:\n" if body[:1].isspace() else ""
    return f"from __future__ import annotations\n\n{indented}{body}\n"


def _check_is_plain(function: Any) -> str:
    if not inspect.isfunction(function):
        raise TypeError(f"only a function can be remote, not {type(function).__name__}")
    name = function.__name__
    for test, kind in (
        (inspect.iscoroutinefunction, "async"),
        (inspect.isasyncgenfunction, "an async generator"),
        (inspect.isgeneratorfunction, "a generator"),
    ):
        if test(function):
            raise TypeError(f"{name}() is {kind}; only ordinary functions can be remote")
    if name == "<lambda>":
        raise TypeError("a lambda cannot be remote; define a function with def")
    if hasattr(function, "__wrapped__"):
        raise ValueError(f"{name}() is wrapped by another decorator; it cannot be remote")
    if function.__code__.co_freevars:
        variables = ", ".join(repr(variable) for variable in function.__code__.co_freevars)
        raise ValueError(
            f"{name}() is a closure over {variables}; pass what it needs as an argument"
        )
    return str(name)


def _source_text(function: Callable[..., Any], name: str) -> str:
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source of {name}() cannot be had ({error}); define it in a file or a notebook "
            "cell, or upload its text with Program.upload(kind='module')"
        ) from None
    # An indented definition parses inside a block: the text is not changed by a single space.
    return f"if True:\n{text}" if text[:1].isspace() else text


def _definition_in(text: str, name: str) -> ast.FunctionDef:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"the source of {name}() does not parse: {error}") from None
    first = tree.body[0]
    if isinstance(first, ast.If):
        first = first.body[0]
    if not isinstance(first, ast.FunctionDef) or first.name != name:
        raise ValueError(f"the source of {name}() is not a definition of its own")
    return first


def _check_decorators(definition: ast.FunctionDef, name: str) -> None:
    """The only one may be that which makes the function remote."""
    if len(definition.decorator_list) > 1:
        others = ", ".join(f"@{ast.unparse(each)}" for each in definition.decorator_list)
        raise ValueError(f"{name}() has several decorators ({others}); a remote one has no other")


def _check_names(function: Callable[..., Any], text: str, name: str) -> None:
    """Every name must be the function's own, or a builtin."""
    root = symtable.symtable(text, "<source>", "exec")
    table = next(child for child in _descendants(root) if child.get_name() == name)
    foreign: set[str] = set()
    for scope in (table, *_descendants(table)):
        for symbol in scope.get_symbols():
            own = symbol.get_name() == name and not symbol.is_assigned()
            if symbol.is_global() and not own and not hasattr(builtins, symbol.get_name()):
                foreign.add(symbol.get_name())
    if foreign:
        first = min(foreign)
        value = getattr(function, "__globals__", {}).get(first)
        advice = (
            f"import it inside {name}()"
            if inspect.ismodule(value)
            else f"define it inside {name}() or pass it as an argument"
        )
        names = ", ".join(repr(variable) for variable in sorted(foreign))
        raise ValueError(f"{name}() uses the global {names}, which the server lacks; {advice}")


def _descendants(table: symtable.SymbolTable) -> list[symtable.SymbolTable]:
    found: list[symtable.SymbolTable] = []
    for child in table.get_children():
        # Annotation and type-parameter scopes are never evaluated on the server.
        if child.get_type() in ("function", "class"):
            found += [child, *_descendants(child)]
    return found


def _blank_defaults(lines: list[str], definition: ast.FunctionDef) -> None:
    """Puts None where defaults were; on their lines, so that the lines below keep their numbers."""
    arguments = definition.args
    defaults = [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]
    # From the end on, so that positions stay true.
    for default in sorted(defaults, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        assert default.end_lineno is not None and default.end_col_offset is not None
        first, last = default.lineno - 1, default.end_lineno - 1
        before = lines[first].encode()[: default.col_offset].decode()
        after = lines[last].encode()[default.end_col_offset :].decode()
        if first == last:
            lines[first] = f"{before}None{after}"
        else:
            lines[first] = f"{before}None"
            lines[first + 1 : last] = [""] * (last - first - 1)
            lines[last] = after
