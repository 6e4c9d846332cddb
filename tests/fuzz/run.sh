#!/usr/bin/env bash
# Runs every fuzz target on a copy of its seeds, all together for about the given time.
#
# usage: tests/fuzz/run.sh BUILD_DIR SECONDS_TOTAL
# Exits 1 at the first finding; the input that led to it is kept in BUILD_DIR/fuzz-findings.
set -euo pipefail

if [[ $# -ne 2 || ! $2 =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: $0 BUILD_DIR SECONDS_TOTAL" >&2
    exit 2
fi
build=$1
seconds_total=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
findings=$build/fuzz-findings

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}

targets=()
for seeds in "$here"/corpus/*/; do
    targets+=("$(basename "$seeds")")
done
seconds=$((seconds_total / ${#targets[@]}))
if [[ $seconds -lt 1 ]]; then seconds=1; fi

runs_total=0
for target in "${targets[@]}"; do
    program=$build/tests/fuzz/fuzz_$target
    if [[ ! -x $program ]]; then
        echo "fuzz: $program is missing; build the fuzz preset first" >&2
        exit 1
    fi
    cp -r "$here/corpus/$target" "$work/$target"
    dictionary=()
    if [[ -f $here/$target.dict ]]; then dictionary=("-dict=$here/$target.dict"); fi
    mkdir -p "$findings"
    log=$work/$target.log
    if ! "$program" "$work/$target" "${dictionary[@]}" -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$findings/$target-" \
        -print_final_stats=1 >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        echo "fuzz: $target has a finding; its input is in $findings" >&2
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [[ -z $runs || $runs -eq 0 ]]; then
        tail -n 60 "$log" >&2
        echo "fuzz: $target ran nothing" >&2
        exit 1
    fi
    echo "fuzz: $target: $runs runs in $seconds s"
    runs_total=$((runs_total + runs))
done
echo "fuzz: ${#targets[@]} targets, $runs_total runs, no findings"
