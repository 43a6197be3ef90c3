# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# A PostgreSQL database of Debian's package on a mounted file system: made, filled by
# pgbench, run, cut off, and its tables' sums compared. The section peers sources this
# file. It must not know what the file system lies on.

PG_BIN=/usr/lib/postgresql/15/bin
PG_CLIENTS=8
PG_SETTINGS="shared_buffers = 12MB
max_wal_size = 128MB
autovacuum = off
listen_addresses = ''"

# as_postgres COMMAND...: PostgreSQL refuses to run as root.
as_postgres() {
	(cd / && runuser -u postgres -- env PATH="$PG_BIN:$PATH" PGHOST="$PG/run" "$@")
}

# pg_make DIRECTORY: makes an empty database there, and sets PG.
pg_make() {
	PG=$1
	mkdir -p "$PG/run"
	chown -R postgres "$PG"
	as_postgres initdb -D "$PG/data" --no-sync --no-locale -E UTF8 >"$PG/initdb.log"
	echo "$PG_SETTINGS
unix_socket_directories = '$PG/run'" >>"$PG/data/postgresql.conf"
}

# The server must not hold this script's files open.
pg_start() {
	as_postgres pg_ctl -s -w -D "$PG/data" -l "$PG/log" start </dev/null >/dev/null 2>&1 ||
		fail "PostgreSQL does not start"
}

# pg_stop fast|immediate: immediate is a crash.
pg_stop() {
	as_postgres pg_ctl -s -w -D "$PG/data" -m "$1" stop
}

pg_fill() {
	as_postgres pgbench -q -i -s "$1" postgres
}

# pg_run SECONDS LOG: runs the clients. LOG has a line for each transaction.
pg_run() {
	as_postgres pgbench -n -c $PG_CLIENTS -T "$1" -l --log-prefix="$2" postgres
	cat "$2".* >"$2"
}

# pg_rates LOG SECONDS: prints transactions per second, the same in the worst 5 seconds, and
# the 99th percentile of a transaction in milliseconds. Seconds at the end that are fewer
# than 5 are left out of the worst.
pg_rates() {
	sort -n -k3,3 "$1" | awk -v seconds="$2" '
		{
			at = $5 + $6 / 1e6
			if (!first || at < first)
				first = at
			took[NR] = $3
			ended[NR] = at
		}
		END {
			for (i = 1; i <= NR; i++)
				part[int((ended[i] - first) / 5)]++
			worst = NR
			for (i = 0; i < int(seconds / 5); i++)
				if (part[i] < worst)
					worst = part[i] + 0
			at = int(NR * 0.99 + 0.999)
			print NR / seconds, worst / 5, took[at] / 1000
		}'
}

# pg_agrees: prints 1 if each of pgbench's tables has the same sum, as after whole
# transactions alone.
pg_agrees() {
	as_postgres psql -qAt postgres -c "SELECT (count(DISTINCT sum) = 1)::int FROM (
		SELECT sum(abalance) FROM pgbench_accounts UNION ALL
		SELECT sum(bbalance) FROM pgbench_branches UNION ALL
		SELECT sum(tbalance) FROM pgbench_tellers UNION ALL
		SELECT sum(delta) FROM pgbench_history) AS sums"
}
