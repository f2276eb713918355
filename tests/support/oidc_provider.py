"""A real OpenID provider on loopback: idpyoidc's, in a process of its own over plain HTTP.

    python -m tests.support.oidc_provider PORT FOLDER

FOLDER has `people.json`, the claims of each person by name, and `client.json`, the one client. Who
comes is signed in as the person that the cookie `person` names, as somebody who has a session at
their provider is. Keys are made anew in FOLDER when they are missing there.
"""

import json
import os
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

CLIENT_ID = "vedette-console"
CLIENT_SECRET = "marked-client-secret-0123456789abcdef"
START_S = 60


class Provider:
    """A running provider; `person` is who has a session there in this browser."""

    def __init__(self, issuer: str, folder: Path) -> None:
        self.issuer = issuer
        self.folder = folder

    def visit(self, url: str, person: str) -> str:
        """Where the provider sends a browser that comes to it with an address, signed in there as a
        person."""
        answer = httpx.get(url, cookies={"person": person}, timeout=60)
        assert answer.status_code in (302, 303), answer.text
        return str(answer.headers["location"])


@contextmanager
def oidc_provider(
    folder: Path, port: int, redirect_uri: str, people: Mapping[str, Mapping[str, Any]]
) -> Iterator[Provider]:
    """Runs one; with the keys of the folder, so that a second run has those of the first."""
    folder.mkdir(exist_ok=True)
    (folder / "people.json").write_text(json.dumps(people))
    (folder / "client.json").write_text(json.dumps({"redirect_uris": [[redirect_uri, {}]]}))
    command = [sys.executable, "-m", "tests.support.oidc_provider", str(port), str(folder)]
    with (folder / "provider.log").open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=dict(os.environ))
    issuer = f"http://127.0.0.1:{port}"
    try:
        _wait(process, issuer, folder)
        yield Provider(issuer, folder)
    finally:
        process.terminate()
        process.wait(20)


def _wait(process: "subprocess.Popen[bytes]", issuer: str, folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=5)
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the provider did not start:\n" + (folder / "provider.log").read_text()[-4_000:])


def _configuration(issuer: str, folder: Path) -> dict[str, Any]:
    def endpoint(path: str, name: str, *methods: str) -> dict[str, Any]:
        client_methods = list(methods) or None
        return {
            "path": path,
            "class": f"idpyoidc.server.oidc.{name}",
            "kwargs": {"client_authn_method": client_methods},
        }

    secret_methods = ("client_secret_basic", "client_secret_post")
    return {
        "issuer": issuer,
        "httpc_params": {"verify": False},
        "preference": {
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        },
        "key_conf": {
            "key_defs": [
                {"type": "RSA", "use": ["sig"]},
                {"type": "EC", "crv": "P-256", "use": ["sig"]},
            ],
            "private_path": str(folder / "private.json"),
            "public_path": str(folder / "public.json"),
            "read_only": False,
            "uri_path": "jwks.json",
        },
        "token_handler_args": {
            "key_conf": {"key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}]},
            "code": {"lifetime": 600, "kwargs": {"crypt_conf": _encrypting()}},
            "token": {
                "class": "idpyoidc.server.token.jwt_token.JWTToken",
                "kwargs": {"lifetime": 600, "aud": [issuer]},
            },
            "id_token": {
                "class": "idpyoidc.server.token.id_token.IDToken",
                "kwargs": {"add_claims_by_scope": True},
            },
        },
        "session_params": {
            "sub_func": {
                "public": {
                    "class": "idpyoidc.server.session.manager.PublicID",
                    "kwargs": {"salt": "the same after a restart"},
                }
            }
        },
        "cookie_handler": {
            "class": "idpyoidc.server.cookie_handler.CookieHandler",
            "kwargs": {
                "keys": {
                    "key_defs": [
                        {"type": "OCT", "kid": "sig", "use": ["sig"]},
                        {"type": "OCT", "kid": "enc", "use": ["enc"]},
                    ]
                },
                "name": {"session": "op", "register": "op_rp", "session_management": "sman"},
            },
        },
        "endpoint": {
            "provider_config": endpoint(
                ".well-known/openid-configuration", "provider_config.ProviderConfiguration"
            ),
            "authorization": endpoint("authorize", "authorization.Authorization"),
            "token": endpoint("token", "token.Token", *secret_methods),
        },
        "userinfo": {
            "class": "idpyoidc.server.user_info.UserInfo",
            "kwargs": {"db": json.loads((folder / "people.json").read_text())},
        },
        "authentication": {
            "anon": {
                "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
                "class": "idpyoidc.server.user_authn.user.NoAuthn",
                "kwargs": {"user": "nobody"},
            }
        },
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {
                "grant_config": {
                    "usage_rules": {
                        "authorization_code": {
                            "supports_minting": ["access_token", "id_token"],
                            "max_usage": 1,
                            "expires_in": 120,
                        },
                        "access_token": {"expires_in": 600},
                    },
                    "expires_in": 43_200,
                }
            },
        },
        "add_ons": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}},
            }
        },
        "scopes_to_claims": {
            "openid": ["sub"],
            "profile": ["preferred_username", "given_name", "family_name"],
            "email": ["email"],
            "groups": ["groups"],
        },
    }


def _encrypting() -> dict[str, Any]:
    return {"kwargs": {"password": "code password", "salt": "code salt", "iterations": 1}}


def _server(issuer: str, folder: Path) -> Any:
    from idpyoidc.server import Server
    from idpyoidc.server.configure import OPConfiguration

    server = Server(OPConfiguration(conf=_configuration(issuer, folder), base_path=str(folder)))
    client = json.loads((folder / "client.json").read_text())
    server.context.cdb[CLIENT_ID] = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [tuple(one) for one in client["redirect_uris"]],
        "response_types_supported": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "allowed_scopes": ["openid", "profile", "email", "groups"],
        "id_token_signed_response_alg": "RS256",
    }
    server.context.keyjar.add_symmetric(CLIENT_ID, CLIENT_SECRET)
    return server


class _Handler(BaseHTTPRequestHandler):
    server_of: Any
    """The provider."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        match parts.path:
            case "/jwks.json":
                self._send(200, (self.server_of.folder / "public.json").read_bytes())
            case "/.well-known/openid-configuration":
                self._run("provider_config", {})
            case "/authorize":
                values = {name: texts[0] for name, texts in parse_qs(parts.query).items()}
                cookie = SimpleCookie(self.headers.get("Cookie", ""))
                person = cookie["person"].value if "person" in cookie else "nobody"
                method = self.server_of.context.authn_broker.db["anon"]["method"]
                method.user = urlsafe_b64encode(json.dumps({"uid": person}).encode()).decode()
                self._run("authorization", values)
            case _:
                self._send(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        values = {name: texts[0] for name, texts in parse_qs(body).items()}
        self._run("token", values)

    def _run(self, name: str, values: dict[str, str]) -> None:
        endpoint = self.server_of.get_endpoint(name)
        headers = {key.lower(): text for key, text in self.headers.items()}
        http_info = {"headers": headers, "method": self.command, "url": self.path}
        asked = endpoint.parse_request(values, http_info=http_info)
        if "error" in asked:
            self._send(400, asked.to_json().encode())
            return
        done = endpoint.process_request(asked, http_info=http_info)
        if "error" in done:
            self._send(400, json.dumps({"error": str(done["error"])}).encode())
            return
        info = endpoint.do_response(request=asked, **done)
        text = (
            info["response"] if isinstance(info["response"], str) else json.dumps(info["response"])
        )
        if name == "authorization":
            self.send_response(303)
            self.send_header("Location", text)
            self.end_headers()
        else:
            self._send(200, text.encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    provider = _server(f"http://127.0.0.1:{port}", folder)
    provider.folder = folder
    _Handler.server_of = provider
    ThreadingHTTPServer(("127.0.0.1", port), _Handler).serve_forever()


if __name__ == "__main__":
    main()
