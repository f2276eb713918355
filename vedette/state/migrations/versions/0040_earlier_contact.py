"""When a sensor had its last contact on a day before that of its last contact.

Of the sensors that there are it is not known: those with a contact today count as they did, as
if they had been there the day before.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

_DAY_US = 24 * 3600 * 1_000_000


def upgrade() -> None:
    earlier = sa.Column("earlier_seen_us", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("sensor", earlier)
    names = ("first_seen_us", "last_seen_us", "earlier_seen_us")
    sensor = sa.table("sensor", *(sa.column(name, sa.BigInteger()) for name in names))
    last = sensor.c.last_seen_us
    op.execute(
        sa.update(sensor)
        .where(sensor.c.first_seen_us < last - last % _DAY_US)
        .values(earlier_seen_us=last - _DAY_US)
    )
