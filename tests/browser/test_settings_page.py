"""The page of settings says where all of it comes from, and the sign-in what server it is."""

import hashlib
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Visiting
from tests.support.served import Server, hire, start_server
from vedette.model.principal import Role

SECRET = "hooks.example.test-path-of-a-webhook"
PASSWORD = "a-password-of-the-mail-server"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "vedette.toml").write_text(
        f'# where it comes from\nsmtp_host = "mail.example"\nsmtp_password = "{PASSWORD}"\n'
    )
    yield from start_server(folder, "--set", f"webhook_url=https://{SECRET}/x")


def fingerprint(server: Server) -> str:
    der = ssl.PEM_cert_to_DER_cert(Path(server.data / "tls" / "cert.pem").read_text())
    return hashlib.sha256(der).hexdigest().upper()


def test_each_setting_says_where_it_came_from(visiting: Visiting, server: Server) -> None:
    with visiting() as visit:
        page = visit.open("/ui/settings")
        origin = "td[data-label=From]"
        of_file = page.locator(f"tr[data-row=smtp_host] {origin}").inner_text()
        assert of_file.startswith("file")
        assert of_file.endswith("vedette.toml:2")
        assert page.locator(f"tr[data-row=data] {origin}").inner_text().startswith("flag --data")
        of_flag = page.locator(f"tr[data-row=webhook_url] {origin}").inner_text()
        assert of_flag == "flag --set webhook_url"
        assert page.locator(f"tr[data-row=tls_ciphers] {origin}").inner_text().strip() == ""
        assert SECRET not in page.content()
        assert PASSWORD not in page.content()


def test_certificate_targets_and_vendored_parts_are_on_the_page(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        options = {"pseudonymise_users": True}
        assert client.put("/api/v1/group/1", json=options).is_success
    with visiting() as visit:
        text = visit.open("/ui/settings").inner_text("main")
        assert fingerprint(server) in text.replace(":", "")
        assert "localhost" in text
        assert "mail.example:587" in text
        assert "htmx.org" in text
        assert "0BSD" in text
        assert "user names" in text


def test_settings_are_for_global_administrators(server: Server) -> None:
    token = hire(server, "not-an-administrator", {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get("/ui/settings").status_code == 403


def test_the_sign_in_shows_the_fingerprint_of_the_certificate(
    visiting: Visiting, server: Server
) -> None:
    with visiting(cookie=None) as visit:
        page = visit.page
        page.goto(visit.url + "/ui/sign-in")
        assert "no license" in page.inner_text("form")
        page.click("text=Certificate fingerprint")
        shown = page.inner_text("details code.whole")
        assert shown.replace(":", "") == fingerprint(server)
        assert shown.count(":") == 31


def test_a_proxy_that_ends_tls_has_a_certificate_of_its_own(tmp_path: Path) -> None:
    for server in start_server(tmp_path / "d", "--set", "trusted_proxies=127.0.0.1"):
        with server.client() as client:
            assert "SHA-256" not in client.get("/ui/sign-in").text
