"""Every limit of the server, with its unit and its reason: one module for each area. Settings may
lower or raise those marked (setting); the rest are part of the design."""

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
