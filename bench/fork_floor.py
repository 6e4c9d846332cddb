"""Runs the floors of fork_floor.hpp in a process that is what the server's zygote is.

``fork_floor.py LIBRARY CONCURRENCIES SECONDS WORKSPACES SANDBOXED``: one JSON object a line.
"""

import ctypes
import json
import sys

from kcoral import _worker


def main() -> None:
    path, concurrencies, seconds, workspaces, sandboxed = sys.argv[1:]
    _worker.make_streams()
    for name in _worker.requested_preloads(None):
        _worker.preload(name, {})
    _worker.become_blank()
    library = ctypes.PyDLL(path)
    library.bench_plain_forks.restype = library.bench_seats.restype = ctypes.c_double
    length = ctypes.c_double(float(seconds))
    folder = workspaces.encode()
    for concurrency in map(int, concurrencies.split(",")):
        plain = library.bench_plain_forks(concurrency, length)
        seats = library.bench_seats(concurrency, length, int(sandboxed), folder)
        if plain < 0 or seats < 0:
            sys.exit(1)
        row = {"concurrency": concurrency, "plain_forks": plain, "seats": seats}
        print(json.dumps(row), flush=True)


main()
