"""Fields that can have a value although the record lacks them: derived from other members, or taken
from the process's metadata. Values of all other fields come from the record."""

from typing import Final

from vedette.detect.process_fields import FIELDS, OF_CREATION
from vedette.detect.views.windows import LOOKED_UP

ANSWERED: Final = FIELDS | LOOKED_UP

COLUMN_OF: Final = {
    field: column for field, column in OF_CREATION.items() if field not in LOOKED_UP
}
"""Maps a field to the column of the acting process's metadata that provides it: for every event, or
only for the process start. Excludes fields that a record may provide."""
