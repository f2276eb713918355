"""Fields that an event may have a value of although its record has none: derived from other
members, or known of its process. A value of any other field is the record's own."""

from typing import Final

from vedette.detect.process_fields import FIELDS
from vedette.detect.views.windows import LOOKED_UP

ANSWERED: Final = FIELDS | LOOKED_UP
