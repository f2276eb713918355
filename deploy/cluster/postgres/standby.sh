#!/bin/sh
# A standby: copies the primary at the first start, then follows it.
set -eu
export PGDATA=/var/lib/postgresql/data/standby
PGPASSWORD=$(cat /run/secrets/replication-password)
export PGPASSWORD
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    rm -rf "$PGDATA"
    pg_basebackup --host postgres --username replication --pgdata "$PGDATA" --wal-method stream \
        --write-recovery-conf
    chmod 700 "$PGDATA"
fi
exec postgres -c hot_standby=on -c cluster_name=standby \
    -c "primary_conninfo=host=postgres user=replication password=$PGPASSWORD application_name=standby"
