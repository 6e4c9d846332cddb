"""The programs of examples/ and of the documents run as they are printed."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from server_process import PATIENCE, REPOSITORY, Server

EXAMPLES = REPOSITORY / "examples"
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
# The address that examples and documents name; ours is put in its place.
WRITTEN_URL = "http://localhost:8000"


@pytest.fixture(scope="module", autouse=True)
def _client() -> None:
    try:
        importlib.import_module("kcoral").Client  # noqa: B018
    except (ImportError, AttributeError) as error:
        pytest.skip(f"the client package is not there: {error}")


def run_python(
    *arguments: str | Path, directory: Path, environment: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_first_program(server: Server, tmp_path: Path) -> None:
    printed = run_python(EXAMPLES / "first_program.py", server.url, directory=tmp_path)
    assert printed.startswith("[1. 2. 3. 4.]\n")


def test_the_remote_compile(server: Server, tmp_path: Path) -> None:
    printed = run_python(EXAMPLES / "remote_compile.py", server.url, directory=tmp_path)
    match = re.search(r"^artifact: (\d+) bytes$", printed, re.MULTILINE)
    assert match and int(match[1]) > 1000
    assert re.search(r"queue [\d.]+ ms, elapsed [\d.]+ ms", printed)


def test_every_example_is_tested() -> None:
    here = Path(__file__).read_text()
    # demo.py starts a server of its own: `make demo` runs it.
    for example in EXAMPLES.glob("*.py"):
        assert example.name in here, f"{example.name} has no test"


@dataclass
class Block:
    name: str
    code: str


def blocks() -> list[Block]:
    """The ```python blocks of the documents. What is no program is marked ```python fragment."""
    found = []
    for document in DOCUMENTS:
        if not document.exists():
            continue
        text = document.read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            found.append(Block(f"{document.relative_to(REPOSITORY)}:{line}", match[1]))
    return found


def expected_output(code: str) -> list[str]:
    """What `print(...)  # [1. 2. 3. 4.]` says it prints."""
    return re.findall(r"^\s*print\(.*\)  # (.+)$", code, re.MULTILINE)


@pytest.mark.parametrize("block", blocks() or [None], ids=lambda b: b.name if b else "none")
def test_a_document_shows_what_works(server: Server, tmp_path: Path, block: Block | None) -> None:
    if block is None:
        pytest.skip("no document has a Python block yet")
    script = tmp_path / "block.py"
    script.write_text(block.code.replace(WRITTEN_URL, server.url))
    environment = {"KCORAL_URL": server.url}
    printed = run_python(script, directory=tmp_path, environment=environment)
    for line in expected_output(block.code):
        assert line in printed, printed
