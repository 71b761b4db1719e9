#!/bin/sh
# Make sure that a PostgreSQL server is installed for the tests, which start one of their own. Where it cannot be, they are skipped and say so;
# with PLAYHEAD_POSTGRES=require that is a failure.
# Usage: scripts/postgres.sh [PYTHON]
set -eu
python=${1:-.venv/bin/python}

# The rule of what will do, which version and which programs, is that of the tests.
is_there() {
    "$python" -c 'from tests.postgres import programs; raise SystemExit(programs.found() is None)'
}

[ -z "${PLAYHEAD_POSTGRES_URL:-}" ] || exit 0
! is_there || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing PostgreSQL for the tests: about half a minute, needs the package mirror"
    add() {
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
    }
    # Without the line in its configuration the package would make and start a server for the whole machine.
    if apt-get update -qq && add postgresql-common && sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf && add postgresql && is_there; then
        exit 0
    fi
fi
advice="install the package postgresql, 15 or newer, or name a server in PLAYHEAD_POSTGRES_URL"
if [ "${PLAYHEAD_POSTGRES:-}" = require ]; then
    echo "no PostgreSQL server, which PLAYHEAD_POSTGRES=require asks for: $advice" >&2
    exit 1
fi
echo "no PostgreSQL server: its tests are skipped ($advice)" >&2
