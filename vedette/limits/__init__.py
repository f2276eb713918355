"""Limits that several modules share, with units and reasons: one module per area.

A limit with a single user is defined in that user's module, marked as `NAME: Limit[int] = ...`,
with a docstring that gives unit and reason. `docs/reference/limits.md` lists all limits. Limits
marked (setting) can be changed by a setting; the rest are part of the design.
"""

from typing import Annotated, TypeVar

from vedette.limits.alerts import *
from vedette.limits.backup import *
from vedette.limits.binaries import *
from vedette.limits.blobs import *
from vedette.limits.cli import *
from vedette.limits.cloud import *
from vedette.limits.console import *
from vedette.limits.detect import *
from vedette.limits.feeds import *
from vedette.limits.forwarder import *
from vedette.limits.http import *
from vedette.limits.importer import *
from vedette.limits.ingest import *
from vedette.limits.kept_views import *
from vedette.limits.notify import *
from vedette.limits.oidc import *
from vedette.limits.policy import *
from vedette.limits.query import *
from vedette.limits.search import *
from vedette.limits.sensors import *
from vedette.limits.server import *
from vedette.limits.state import *
from vedette.limits.store import *
from vedette.limits.watchlists import *
from vedette.limits.write_path import *

_Number = TypeVar("_Number", int, float)

Limit = Annotated[_Number, "listed in docs/reference/limits.md"]
"""Type of a limit that is defined outside this package."""
