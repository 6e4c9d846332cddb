"""Measures servers and the floors under them in one run, and prints the ratios that count.

Absolute numbers differ between machines and with what else runs there; the ratios should not. The
floors of fresh workers are measured before and after the servers they are held against. A server
keeps more workers in the making than it has seats, so the floor it is held against is the best that
bare seats reach however many are in flight.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from server import Server

ROOT = Path(__file__).resolve().parent.parent
Row = dict[str, float]


@dataclass
class Plan:
    """How long each measurement takes, and which are made."""

    seconds: float
    connections: str
    seats: tuple[int, ...]
    in_flight: str


FULL = Plan(seconds=2.0, connections="1,8,64", seats=(1, 2, 8), in_flight="1,2,4,8")
QUICK = Plan(seconds=0.7, connections="1,8", seats=(2,), in_flight="2,4")


@dataclass
class Ratio:
    name: str
    value: float
    aim: float
    at_most: bool = False
    unit: str = ""

    def met(self) -> bool:
        return self.value <= self.aim if self.at_most else self.value >= self.aim

    def line(self) -> str:
        sign = "<=" if self.at_most else ">="
        verdict = "met" if self.met() else "MISSED"
        value, aim = f"{self.value:,.2f}{self.unit}", f"aim {sign} {self.aim:,.2f}{self.unit}"
        return f"{self.name:<58} {value:>12}   {aim:<20} {verdict}"


class Bench:
    def __init__(self, arguments: argparse.Namespace, plan: Plan) -> None:
        self.programs = arguments.build_dir / "bench"
        self.kcoral = arguments.kcoral or arguments.build_dir / "src/cli/kcoral"
        self.python = arguments.python
        self.sandbox = arguments.sandbox
        self.plan = plan
        self.rows: list[dict[str, object]] = []

    def run(self, *command: str) -> list[Row]:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{command[0]} failed with status {done.returncode}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def note(self, what: str, row: Row) -> Row:
        self.rows.append({"what": what, **row})
        return row

    def server(self, workers: int, requests_per_worker: int) -> Server:
        return Server(
            self.kcoral,
            self.python,
            *("--num-workers", str(workers)),
            *("--max-requests-per-worker", str(requests_per_worker)),
            *("--sandbox", self.sandbox),
        )

    def load(self, what: str, url: str, request: str, connections: str) -> list[Row]:
        rows = self.run(
            str(self.programs / "bench_http_load"),
            *("--url", url, "--request", request, "--json"),
            *("--connections", connections, "--seconds", str(self.plan.seconds)),
        )
        for row in rows:
            self.note(what, row)
            speed = f"{row['megabytes_per_second']:8.0f} MB/s" if request == "upload" else ""
            print(
                f"{what:<34} {request:<8} {row['connections']:>4} connections"
                f" {row['requests_per_second']:>9.1f}/s  p50 {row['p50_ms']:>8.3f}"
                f"  p90 {row['p90_ms']:>8.3f}  p99 {row['p99_ms']:>8.3f} ms {speed}",
                flush=True,
            )
        return rows

    def upload_floors(self) -> Row:
        command = str(self.programs / "bench_floors"), "upload"
        [floors] = self.run(*command, "--seconds", str(self.plan.seconds / 2))
        print(
            f"floors: cat through a socket {floors['socket_megabytes_per_second']:.0f} MB/s, "
            f"fresh memory {floors['memory_megabytes_per_second']:.0f} MB/s, "
            f"SHA-256 on one core {floors['sha256_megabytes_per_second']:.0f} MB/s"
        )
        return self.note("upload floors", floors)

    def fork_floors(self) -> float:
        """The most seats a second that any number of them in flight reaches."""
        command = [str(self.programs / "bench_floors"), "forks", "--python", str(self.python)]
        command += ["--concurrency", self.plan.in_flight, "--seconds", str(self.plan.seconds / 2)]
        if self.sandbox == "none":
            command.append("--no-sandbox")
        rows = self.run(*command)
        for row in rows:
            self.note("fork floors", row)
            print(
                f"floors: {row['concurrency']:>2} at a time: "
                f"{row['plain_forks']:8.1f} plain forks/s {row['seats']:8.1f} seats/s",
                flush=True,
            )
        return max(row["seats"] for row in rows)

    def reused_workers(self) -> list[Ratio]:
        floors = self.upload_floors()
        with self.server(workers=2, requests_per_worker=0) as server:
            self.load("reused workers", server.url, "health", self.plan.connections)
            rows = self.load("reused workers", server.url, "program", self.plan.connections)
            [upload] = self.load("64 MiB uploads", server.url, "upload", "1")
        speed = upload["megabytes_per_second"]
        best = max(row["requests_per_second"] for row in rows)
        return [
            Ratio("programs/s on reused workers", best, 2000),
            Ratio("latency of one on an idle server, p50", rows[0]["p50_ms"], 1, True, " ms"),
            Ratio(
                "upload / SHA-256 of one core", speed / floors["sha256_megabytes_per_second"], 0.6
            ),
        ]

    def fresh_workers(self) -> list[Ratio]:
        before = self.fork_floors()
        best = 0.0
        for seats in self.plan.seats:
            with self.server(workers=seats, requests_per_worker=1) as server:
                what = f"fresh workers, {seats} seats"
                rows = self.load(what, server.url, "program", self.plan.connections)
            best = max(best, *(row["requests_per_second"] for row in rows))
        after = self.fork_floors()
        floor = (before + after) / 2
        return [Ratio("programs/s on fresh workers / bare seats/s", best / floor, 0.9)]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__)
    parser.add_argument("build_dir", type=Path, help="a build of the preset `bench`")
    parser.add_argument("--quick", action="store_true", help="20 seconds instead of minutes")
    parser.add_argument("--kcoral", type=Path, help="the server; default: the one in BUILD_DIR")
    parser.add_argument(
        "--python", type=Path, default=Path(sys.executable), help="the workers' interpreter"
    )
    parser.add_argument("--sandbox", choices=("required", "none"), default="required")
    parser.add_argument("--json", type=Path, help="write every row and ratio here, too")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    bench = Bench(arguments, QUICK if arguments.quick else FULL)
    busy = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {busy:.1f} before the start, sandbox {bench.sandbox}")
    ratios = bench.reused_workers() + bench.fresh_workers()
    print()
    for ratio in ratios:
        print(ratio.line())
    if arguments.json:
        summary = [{**vars(ratio), "met": ratio.met()} for ratio in ratios]
        report = {"cores": os.cpu_count(), "load": busy, "rows": bench.rows, "ratios": summary}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
