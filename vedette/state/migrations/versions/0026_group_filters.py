"""Options of groups that were stored without an effect are in force now: servers and sensors that
know the list of ingress filters learn that it is another one."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0024"
branch_labels = None
depends_on = None

_VERSION = "ingress_filter_version"


def upgrade() -> None:
    group = sa.table("sensor_group", sa.column("options", sa.Text()))
    value = sa.table("kept_value", sa.column("name", sa.Text()), sa.column("value", sa.Text()))
    is_named = sa.or_(
        group.c.options.contains('"event_exclusions"'),
        group.c.options.contains('"filter_known_dlls"'),
    )
    connection = op.get_bind()
    if connection.scalar(sa.select(sa.func.count()).select_from(group).where(is_named)):
        query = sa.select(value.c.value).where(value.c.name == _VERSION)
        found = connection.scalar(query)
        if found is None:
            op.execute(value.insert().values(name=_VERSION, value="1"))
        else:
            changed = value.update().where(value.c.name == _VERSION)
            op.execute(changed.values(value=str(int(found) + 1)))
