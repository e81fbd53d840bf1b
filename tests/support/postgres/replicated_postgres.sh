#!/usr/bin/env bash
# A PostgreSQL with a streaming replica. Prints the address of each on a line of its own, runs
# until its standard input closes, and leaves nothing behind.
set -euo pipefail

# The newest server programs: what pg_config names, Debian's layout, PATH.
for programs in "$(pg_config --bindir 2>/dev/null || true)" \
    $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse) \
    "$(dirname "$(command -v pg_basebackup || echo /)")"; do
    [ -x "$programs/pg_basebackup" ] && [ -x "$programs/initdb" ] && break
done

# Not TMPDIR: a socket's path must be short, and the server's user must be able to enter.
home=$(env -u TMPDIR mktemp -d -t assent-replica.XXXXXX)

# PostgreSQL refuses to run as root.
server_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user" "$home"
    server_user=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
fi

in_server() {
    (cd "$home" && LC_ALL=C "${server_user[@]}" "$programs/$1" "${@:2}") >>"$home.log" 2>&1 </dev/null
}

clean_up() {
    [ -n "${is_up:-}" ] || cat "$home.log" >&2
    for node in replica primary; do
        in_server pg_ctl stop --pgdata="$home/$node" --mode=immediate --silent || true
    done
    rm -rf "$home" "$home.log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

start() {
    in_server pg_ctl start --wait --silent --pgdata="$home/$1" --log="$home/$1.log" \
        --options="-c fsync=off -c listen_addresses= -c unix_socket_directories=$home -c port=$2 -c timezone=UTC"
}

in_server initdb --pgdata="$home/primary" --username=postgres --auth=trust --encoding=UTF8 \
    --locale=C --no-sync --no-instructions
start primary 5432
in_server pg_basebackup --pgdata="$home/replica" --host="$home" --port=5432 --username=postgres \
    --write-recovery-conf --wal-method=stream --checkpoint=fast --no-sync
start replica 5433

for port in 5432 5433; do
    echo "postgres://postgres@localhost:$port/postgres?host=${home//\//%2F}&sslmode=disable"
done
is_up=yes
cat >/dev/null
