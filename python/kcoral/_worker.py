"""The zygote: imports what programs will need once, then forks workers until its channel ends.

Started by the server as ``python -m kcoral._worker --channel FD``. It runs no user code, keeps one
thread, and must not touch a GPU: a preload that opens one, or that leaves threads behind, is dropped
by starting over without it. The loop that forks, and all that a worker does, is in ``_core``.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import importlib
import importlib.metadata
import importlib.util
import io
import os
import sys
import time
import types
from dataclasses import dataclass

from kcoral import _core

DEFAULT_PRELOADS = ("torch", "numpy", "ml_dtypes", "triton", "tvm_ffi")

# Parts that a package leaves for later and that many programs use, or every worker itself.
PARTS = {"numpy": ("numpy.random", "numpy.fft", "numpy.testing")}
STANDARD_LIBRARY = ("dataclasses", "inspect", "json", "linecache", "subprocess", "tempfile", "typing")

# What /health calls a component -> the distributions that may bring it, first one installed wins.
COMPONENTS = {
    "torch": ("torch",),
    "cuda": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12"),
    "tvm": ("apache-tvm", "tvm", "mlc-ai-nightly-cu130", "mlc-ai-cu130"),
    "tvm_ffi": ("apache-tvm-ffi",),
    "triton": ("triton", "pytorch-triton"),
    "cutlass": ("nvidia-cutlass-dsl",),
    "flashinfer": ("flashinfer-python", "flashinfer"),
}


@dataclass
class Preload:
    """What became of one module of the preload list."""

    module: str
    milliseconds: float = 0.0
    error: str = ""


def main() -> None:
    arguments = parse_arguments()
    os.set_inheritable(arguments.channel, True)  # a start without a dropped preload needs it again
    make_streams()
    dropped = dict(entry.split("=", 1) for entry in arguments.drop)
    for name in STANDARD_LIBRARY:
        importlib.import_module(name)
    preloads = [preload(name, dropped) for name in requested_preloads(arguments.preload)]
    os.set_inheritable(arguments.channel, False)
    versions = component_versions()
    become_blank()
    ready = [(entry.module, entry.milliseconds, entry.error) for entry in preloads]
    _core.serve(
        channel=arguments.channel,
        sandboxed=arguments.sandboxed,
        workspaces=arguments.workspaces,
        preloads=ready,
        versions=versions,
        limits=arguments.limits,
    )
    os._exit(0)  # workers end with us; there is nothing to tidy up


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kcoral._worker")
    parser.add_argument("--preload", help="modules to import, comma-separated")
    parser.add_argument("--drop", action="append", default=[], metavar="MODULE=WHY")
    parser.add_argument("--sandboxed", action="store_true", help="bubblewrap is around us")
    parser.add_argument("--workspaces", required=True, help="the folder of all workspaces")
    parser.add_argument("--limits", default="", help="of each seat: 'processes=100 memory=...'")
    parser.add_argument("--channel", type=int, required=True)
    return parser.parse_args()


def make_streams() -> None:
    """Python's own output streams without a buffer: what a program printed outlives its crash."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        raw = io.FileIO(descriptor, "w", closefd=False)
        raw.name = f"<{name}>"
        stream = io.TextIOWrapper(
            raw, encoding="utf-8", errors="backslashreplace", write_through=True
        )
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def requested_preloads(value: str | None) -> list[str]:
    """The names asked for, or those of the default list that are installed."""
    if value is None:
        return [name for name in DEFAULT_PRELOADS if importlib.util.find_spec(name)]
    return [name for name in value.split(",") if name]


def preload(name: str, dropped: dict[str, str]) -> Preload:
    if name in dropped:
        return Preload(name, error=dropped[name])
    started = time.perf_counter()
    try:
        for part in (name, *PARTS.get(name, ())):
            importlib.import_module(part)
    except BaseException as error:  # a broken package must not take the zygote with it
        return Preload(name, error=f"{type(error).__name__}: {error}")
    milliseconds = (time.perf_counter() - started) * 1000
    if opened_gpu():
        start_over_without(name, "importing it opened the GPU")
    if count_threads() > 1:
        end_pool_threads()
        if (count := count_threads()) > 1:
            start_over_without(name, f"importing it started {count - 1} threads")
    return Preload(name, milliseconds)


def opened_gpu() -> bool:
    """Whether this process has an NVIDIA device node open or mapped."""
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue  # the listing's own descriptor
        if target.startswith("/dev/nvidia"):
            return True
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any("/dev/nvidia" in line for line in maps)


def count_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def end_pool_threads() -> None:
    """Forks once: libraries with a thread pool (OpenBLAS) end it before a fork, and start it anew in
    a child that computes."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def start_over_without(name: str, why: str) -> None:
    arguments = sys.orig_argv[1:] + ["--drop", f"{name}={why}"]
    os.execv(sys.executable, [sys.executable, *arguments])


def component_versions() -> dict[str, str]:
    versions = {}
    for component, distributions in COMPONENTS.items():
        for distribution in distributions:
            try:
                versions[component] = importlib.metadata.version(distribution)
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    torch = sys.modules.get("torch")
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
    if cuda:
        versions["cuda"] = cuda
    return versions


def become_blank() -> None:
    """Leaves what a program finds in an interpreter of its own: an empty __main__, no arguments, the
    working directory on the import path."""
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv[:] = [""]
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # where the zygote was started
    sys.path.insert(0, "")
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None
    faulthandler.enable(file=2)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
