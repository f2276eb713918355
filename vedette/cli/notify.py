"""`vedette notify`: tests whether messages reach the configured recipients."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, SetOption, load_settings
from vedette.clock import SystemClock
from vedette.errors import StartError
from vedette.notify.delivery import Envelope, Sender
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules, checked_url, place_of
from vedette.notify.mail import MailSender, mail_server
from vedette.notify.mail_page import TEMPLATES
from vedette.notify.syslog import SyslogSender, syslog_server
from vedette.notify.trial import trial_notice
from vedette.notify.webhook import Receiver, WebhookSender
from vedette.settings import Settings

app = typer.Typer(no_args_is_help=True)


@app.callback()
def notify() -> None:
    """Messages to people and other systems."""


@app.command("test")
def send_test(
    email: Annotated[
        str | None,
        typer.Option("--email", metavar="ADDRESS", help="Send an email to this address."),
    ] = None,
    syslog: Annotated[bool, typer.Option("--syslog", help="Send a syslog message.")] = False,
    webhook: Annotated[bool, typer.Option("--webhook", help="Post to webhook_url.")] = False,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Post to this URL.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="NAME", help="Template; default: webhook_template."),
    ] = None,
    assignments: SetOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Send a test message at once, without the outbox, and show the receiver's error."""
    settings = load_settings(data, config, assignments).settings
    wanted: list[tuple[str, Sender]] = []
    if email is not None:
        address = email
        place = f"{address} through {settings.smtp_host}:{settings.smtp_port}"
        wanted.append((place, MailSender(mail_server(settings), lambda *_: address)))
    if syslog:
        place = f"{settings.syslog_host}:{settings.syslog_port} ({settings.syslog_transport})"
        wanted.append((place, SyslogSender(syslog_server(settings))))
    if webhook or url is not None:
        wanted.append(_webhook(settings, url, template))
    if not wanted:
        raise StartError("specify --email ADDRESS, --syslog, --webhook, or --url URL")
    for place, sender in wanted:
        sender.send([_envelope()])
        typer.echo(f"sent to {place}")


def _webhook(settings: Settings, url: str | None, template: str | None) -> tuple[str, Sender]:
    wanted = checked_url(url or settings.webhook_url, "--url" if url else "webhook_url")
    secret = "" if url else settings.webhook_secret
    receiver = Receiver(wanted, template or settings.webhook_template, secret)
    rules = PostRules(EgressPolicy.of(settings.egress_allow), settings.webhook_ca)
    sender = WebhookSender(
        lambda _: receiver, rules, SystemClock(), settings.public_url, settings.data / TEMPLATES
    )
    return place_of(wanted), sender


def _envelope() -> Envelope:
    notice = trial_notice("vedette notify test", SystemClock().now_us())
    return Envelope(0, notice.id, notice)
