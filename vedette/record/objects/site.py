"""A site, which groups sensor groups."""

from dataclasses import dataclass
from typing import Annotated, Final

from vedette.limits import STATE_NAME_CHARS_MAX
from vedette.record.answers import answer_model
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import short_name
from vedette.record.member import Access, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site with a unique name."""

    id: Annotated[int, Member("Site id", Access.READ_ONLY)] = 0
    name: Annotated[str, short_name(STATE_NAME_CHARS_MAX, strips=False), Member("Name, unique")]


SITE: Final = answer_model(Site)
NEW_SITE: Final = RecordBody("NewSite", Site, Request, creates=True)
SITE_CHANGE: Final = RecordBody("SiteChange", Site, Request, creates=False)
