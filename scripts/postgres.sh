#!/bin/sh
# Make sure that a PostgreSQL server is installed for the tests, which start one of their own. Where it cannot be, they are skipped and say so.
set -eu

[ -z "${PLAYHEAD_POSTGRES_URL:-}" ] || exit 0
for initdb in "$(command -v initdb || true)" /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb /usr/local/pgsql/bin/initdb; do
    [ ! -x "$initdb" ] || exit 0
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing PostgreSQL for the tests: about half a minute, needs the package mirror"
    add() {
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
    }
    # Without the line in its configuration the package would make and start a server for the whole machine.
    if apt-get update -qq && add postgresql-common && sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf && add postgresql; then
        exit 0
    fi
fi
echo "no PostgreSQL server: its tests are skipped (install the package postgresql, or name a server in PLAYHEAD_POSTGRES_URL)" >&2
