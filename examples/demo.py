"""The first minute with KCoral: start a server, run two programs on it, stop it.

This is what `make demo` runs. The server takes a free port and a GPU where there is one.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
KCORAL = os.environ.get("KCORAL_BINARY", HERE.parent / "build" / "kcoral")


def start_server() -> tuple[subprocess.Popen[str], str]:
    """Starts a server and gives it with its URL, once it says that it is ready."""
    server = subprocess.Popen(
        [KCORAL, "server", "--device", "auto", "--port", "0", "--python", sys.executable],
        stderr=subprocess.PIPE,
        text=True,
    )
    url = None
    ready = False
    assert server.stderr is not None
    for line in server.stderr:
        print("  server:", line, end="")
        if match := re.search(r"listening on (\S+)", line):
            url = match.group(1)
        ready = ready or "pool_ready" in line
        if url and ready:
            return server, url
    raise SystemExit(f"the server ended with code {server.wait()} before it was ready")


def main() -> None:
    server, url = start_server()
    try:
        for example in ("first_program.py", "remote_compile.py"):
            print(f"\n{example}")
            subprocess.run([sys.executable, HERE / example, url], check=True)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
    print("\nBoth programs ran. Next: README.md, `build/kcoral server --help`.")


if __name__ == "__main__":
    main()
