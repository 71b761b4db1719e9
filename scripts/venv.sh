#!/bin/sh
# Make .venv with playhead and its development tools. Usage: scripts/venv.sh DIR
set -eu
venv=$1
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1

fail() {
    echo "error: $1" >&2
    exit 1
}

new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=
for name in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
    if new_enough "$name"; then
        python=$name
        break
    fi
done
[ -n "$python" ] || fail "playhead needs Python 3.11 or newer and found none; install one, or name it: make PYTHON=/path/to/python3.12"

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "setting up $venv with $("$python" -V): about half a minute, needs the package registry"
    if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear --without-pip "$venv"
        "$python" -m pip -qq --python "$venv/bin/python" install pip
    elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$(basename "$python")-venv" >/dev/null
        "$python" -m venv --clear "$venv"
    else
        fail "$python has neither ensurepip nor pip; install its venv package first (Debian, Ubuntu: apt-get install python3-venv)"
    fi
else
    echo "updating $venv, needs the package registry"
fi

# -qq leaves only errors. --group needs pip 25.1.
"$venv/bin/python" -m pip -qq install "pip>=25.1"
"$venv/bin/python" -m pip -qq install --editable . --group dev
