#!/usr/bin/env bash
# Installs the Debian packages a list names and this machine lacks: install-packages.sh LIST
#
# A line is a package, or alternatives in order of preference with | between; # starts a comment.
set -euo pipefail

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
known() { apt-cache show "$1" >/dev/null 2>&1; }

list=$1
missing=()
while read -r line; do
    line=${line%%#*}
    line=${line//[[:space:]]/}
    [ -n "$line" ] || continue
    IFS='|' read -ra names <<<"$line"
    found=
    for name in "${names[@]}"; do
        if installed "$name"; then found=yes; fi
    done
    [ -n "$found" ] || missing+=("$line")
done <"$list"

[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
    root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root=(sudo)
else
    echo "KCoral needs Debian packages that are not installed here: ${missing[*]}" >&2
    echo "Install them as an administrator (or run make as root), then run make again:" >&2
    echo "    sudo apt-get install --no-install-recommends ${missing[*]%%|*}" >&2
    exit 1
fi

"${root[@]}" apt-get update -q
chosen=()
for line in "${missing[@]}"; do
    IFS='|' read -ra names <<<"$line"
    choice=
    for name in "${names[@]}"; do
        if [ -z "$choice" ] && known "$name"; then choice=$name; fi
    done
    if [ -z "$choice" ]; then
        echo "No package source of this machine knows ${names[*]}; see $list." >&2
        exit 1
    fi
    chosen+=("$choice")
done
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${chosen[@]}"
