#!/usr/bin/env bash
# Build the wheel, install it alone into a clean environment and use it, on every Python it is meant for that can be had.
set -euo pipefail
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_version() {  # PROGRAM VERSION
    [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$2" ]
}

find_python() {  # VERSION: on the PATH, one of pyenv's, or one that uv has or can fetch
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if is_version "$candidate" "$1"; then
            echo "$candidate"
            return
        fi
    done
    uv=$(command -v uv || echo "$root/.venv/bin/uv")
    [ -x "$uv" ] || return 1
    timeout 60 "$uv" python install --quiet "$1" >/dev/null 2>&1 || true
    candidate=$("$uv" python find --no-project "$1" 2>/dev/null) && is_version "$candidate" "$1" && echo "$candidate"
}

missing=""
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
for version in 3.11 3.12 3.13 3.14; do
    if ! python=$(find_python "$version"); then
        missing="$missing $version"
        continue
    fi
    "$python" -m venv "$work/$version"
    "$work/$version/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt "$work"/circumspect-*.whl
    mkdir "$work/$version/empty"
    (cd "$work/$version/empty" && ../bin/python "$root/scripts/try_core.py")
    rm -rf "${work:?}/$version"
done
if [ -n "$missing" ]; then
    echo "=== wheel: NOT TRIED on Python$missing, which cannot be had here: put python3.x on the PATH ==="
fi
