"""All kinds of targets with their senders. To add a kind, add it to `SENDERS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from vedette.clock import Clock
from vedette.notify.app_control import AppControlSender, AppControlServer
from vedette.notify.delivery import Sender
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules
from vedette.notify.mail import MailSender, mail_server
from vedette.notify.mail_page import TEMPLATES
from vedette.notify.notice import Notice
from vedette.notify.syslog import SyslogSender, syslog_server
from vedette.notify.targets import APP_CONTROL, MAIL, SYSLOG, WEBHOOK
from vedette.notify.trial import is_trial
from vedette.notify.webhook import WebhookSender
from vedette.notify.webhook_receivers import StoredReceivers
from vedette.settings import Settings
from vedette.state.accounts.readers import mail_address, own_address
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.policy import app_control

APP_CONTROL_PURPOSE: Final = "app_control token"
"""Purpose with which the token of the application-control server is sealed."""


@dataclass(frozen=True, slots=True)
class SenderContext:
    """Dependencies that all senders share."""

    settings: Settings
    clock: Clock
    database: Database
    sealing: Sealing

    @property
    def rules(self) -> PostRules:
        """Rules for reaching HTTP receivers."""
        policy = EgressPolicy.of(self.settings.egress_allow)
        return PostRules(policy, self.settings.webhook_ca)


SENDERS: Final[tuple[tuple[str, Callable[[SenderContext], Sender]], ...]] = (
    (
        MAIL,
        lambda here: MailSender(mail_server(here.settings), partial(_mail_address, here.database)),
    ),
    (SYSLOG, lambda here: SyslogSender(syslog_server(here.settings))),
    (
        WEBHOOK,
        lambda here: WebhookSender(
            StoredReceivers(here.database, here.sealing, here.settings),
            here.rules,
            here.clock,
            here.settings.public_url,
            here.settings.data / TEMPLATES,
        ),
    ),
    (
        APP_CONTROL,
        lambda here: AppControlSender(
            lambda: _app_control(here), here.rules, here.clock, here.settings.public_url
        ),
    ),
)


def all_senders(here: SenderContext) -> Mapping[str, Sender]:
    """Returns a sender for each kind of target."""
    return {kind: make(here) for kind, make in SENDERS}


def _mail_address(database: Database, notice: Notice) -> str:
    if is_trial(notice):
        return own_address(database, notice.recipient_id)
    return mail_address(database, notice.recipient_id, notice.sensor_id)


def _app_control(here: SenderContext) -> AppControlServer:
    with here.database.reading() as connection:
        found = app_control.load(connection)
    token = here.sealing.open(found.sealed_token, APP_CONTROL_PURPOSE)
    return AppControlServer(found.server_url, found.is_verified, token, found.is_exporting)
