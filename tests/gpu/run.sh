#!/usr/bin/env bash
# What runs on a machine with a real GPU: builds offline, runs the tests with torch in the workers'
# Python, and the examples with the CUDA compiler. Writes its report to docs/reports/.
#
#   KCORAL_DEBS=DIR   Debian packages this machine lacks; they are unpacked beside the build, never
#                     over the system
#   KCORAL_PYTHON     the workers' Python (default: python3 on PATH)
#   KCORAL_REPORT     where the report goes (default: docs/reports/gpu-<date>.md)
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$PWD/build/gpu
python=${KCORAL_PYTHON:-$(command -v python3)}
report=${KCORAL_REPORT:-docs/reports/gpu-$(date -u +%Y-%m-%d).md}
log=$build/log
rm -rf "$log"
mkdir -p "$build" "$log" "$(dirname "$report")"

prefix=$build/packages
for package in "${KCORAL_DEBS:-/nonexistent}"/*.deb; do
    [ -f "$package" ] && dpkg -x "$package" "$prefix"
done
export PATH=$prefix/usr/bin:$PATH
export LD_LIBRARY_PATH=$prefix/usr/lib/x86_64-linux-gnu:$prefix/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LIBRARY_PATH=$prefix/usr/lib/x86_64-linux-gnu
export CPATH=$prefix/usr/include
export CMAKE_PREFIX_PATH=$prefix/usr

failed=0
rows=()
summary() {  # the closing line of a test runner, if the file has one
    grep -hE '[0-9]+ passed|tests passed' "$1" | tail -n 1 | tr -d '=|' || true
}
step() {  # step NAME COMMAND...: runs it, notes how it ended and how long it took
    local name=$1 start=$SECONDS outcome=passed
    shift
    "$@" >"$log/$name.txt" 2>&1 || { outcome="FAILED ($?)"; failed=1; tail -n 30 "$log/$name.txt"; }
    rows+=("| $name | $outcome | $((SECONDS - start)) | $(summary "$log/$name.txt") |")
    echo "${rows[-1]}"
}

step configure cmake --fresh -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DKCORAL_PYTHON="$python" \
    -DKCORAL_BINARY_DIR="$build/bin"
step build cmake --build "$build" -j "$(nproc)"
[ $failed = 0 ] || exit 1
step unit-tests ctest --test-dir "$build" --output-on-failure -j 8
export KCORAL_BINARY=$build/bin/kcoral PYTHONPATH=$PWD/python 
step python-tests "$python" -m pytest tests/python -q
step worker-tests "$python" -m pytest tests/worker -q
step e2e-tests "$python" -m pytest tests/e2e -q
step demo "$python" examples/demo.py

{
    echo "# On a GPU machine, $(date -u +%Y-%m-%d)"
    echo
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/- GPU: /'
    echo "- $(. /etc/os-release && echo "$PRETTY_NAME"), $(nproc) cores, $(c++ --version | head -n 1)"
    echo "- $("$python" --version), torch $("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null || echo none)"
    echo "- sandbox: $(grep -ho 'sandbox=[a-z]*' "$log/demo.txt" | head -n 1)"
    echo
    echo "| step | outcome | seconds | |"
    echo "|---|---|---|---|"
    printf '%s\n' "${rows[@]}"
    echo
    echo "The demo's output:"
    echo
    sed -E 's/^/    /; s#(python=|    )/[^ ]*/([^/ ]+)#\1\2#' "$log/demo.txt"
} >"$report"
echo "report: $report"
exit $failed
