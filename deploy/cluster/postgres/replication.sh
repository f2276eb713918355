#!/bin/sh
# Run once, when the database is made: the user of the standby, and where it may come from.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$(cat /run/secrets/replication-password)" \
    --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE replication WITH REPLICATION LOGIN PASSWORD :'password';
SQL
echo "host replication replication samenet scram-sha-256" >> "$PGDATA/pg_hba.conf"
