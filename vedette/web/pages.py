"""Routers of all pages below `/ui/`."""

from typing import Final

from vedette.web.accounts import identity_sign_in_screen, sign_in_screen
from vedette.web.accounts import screen as accounts_screen
from vedette.web.alerts import hits_screen
from vedette.web.alerts import screen as alerts_screen
from vedette.web.feeds import screen as feeds_screen
from vedette.web.feeds import threat_reports_screen
from vedette.web.fleet import groups_screen, jobs_screen
from vedette.web.fleet import screen as fleet_screen
from vedette.web.http.pages import Pages
from vedette.web.http.router import Router
from vedette.web.logs import screen as logs_screen
from vedette.web.page import static_files
from vedette.web.page.failure import failure_page
from vedette.web.policy import bans_screen, filters_screen
from vedette.web.processes import search_screen
from vedette.web.processes.analysis import screen as analysis_screen
from vedette.web.programs import screen as programs_screen
from vedette.web.rules import screen as rules_screen
from vedette.web.server import data_screen, home_screen, settings_screen, unknown_screen
from vedette.web.watchlists import screen as watchlists_screen

ROUTERS: Final[tuple[Router, ...]] = (
    static_files.router,
    sign_in_screen.router,
    identity_sign_in_screen.router,
    home_screen.router,
    alerts_screen.router,
    hits_screen.router,
    fleet_screen.router,
    groups_screen.router,
    jobs_screen.router,
    bans_screen.router,
    logs_screen.router,
    programs_screen.router,
    watchlists_screen.router,
    rules_screen.router,
    feeds_screen.router,
    threat_reports_screen.router,
    filters_screen.router,
    data_screen.router,
    accounts_screen.router,
    settings_screen.router,
    search_screen.router,
    analysis_screen.router,
    unknown_screen.router,  # last: it matches all paths below /ui/
)
"""A new screen adds its router here."""

PAGES: Final = Pages(ROUTERS, failure_page)
