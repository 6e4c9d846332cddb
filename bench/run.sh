#!/bin/sh
# bench/run.sh BUILD_DIR [OPTIONS]: every measurement of the server, beside its floors.
# BUILD_DIR is a build of the preset `bench`; the worker's extension must be built too. `--help`.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../.venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" "$here/run.py" "$@"
