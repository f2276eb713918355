"""An identity provider on loopback that answers what a test tells it to, with keys of its own: for
everything that a real one does not do."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc.jwk import RSAKey

CLIENT_ID = "console"
CLIENT_SECRET = "marked-hostile-secret-0123456789"

Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class HostileProvider:
    """Configurable answers of an identity provider. `claims` and `header` change the token that it
    issues for a code."""

    port: int = 0
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first"}))
    metadata: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    subject: str = "person"
    nonce: str = ""
    token: Callable[[], str] | None = None
    """In place of a signed token."""
    answer: Answer | None = None
    """To every code, in place of a token."""
    delay_s: float = 0.0
    codes: list[dict[str, str]] = field(default_factory=list)
    """Forms that came to the token endpoint."""
    asked: list[str] = field(default_factory=list)
    """Paths that were asked for."""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def good_claims(self) -> dict[str, Any]:
        now_s = int(time.time())
        given = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": self.subject,
            "nonce": self.nonce,
            "iat": now_s,
            "exp": now_s + 300,
        }
        return {name: value for name, value in (given | self.claims).items() if value is not None}

    def signed(self) -> str:
        header = {"alg": "RS256", "kid": self.key.kid, **self.header}
        return rs256(self.key, header, self.good_claims())

    def document(self, path: str) -> Answer:
        self.asked.append(path)
        time.sleep(self.delay_s)
        body: dict[str, Any]
        match path:
            case "/.well-known/openid-configuration":
                body = {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize?realm=all",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    **self.metadata,
                }
            case "/keys":
                body = {"keys": [self.key.as_dict(private=False)]}
            case "/token":
                if self.answer is not None:
                    return self.answer
                text = self.token() if self.token else self.signed()
                body = {"access_token": "marked-access-token", "token_type": "Bearer"}
                body |= {"id_token": text} if text else {}
            case _:
                return 404, b"{}", {}
        return 200, json.dumps(body).encode(), {}


def rs256(key: RSAKey, header: Any, claims: Any) -> str:
    """A token whose signature is right, whatever header and claims say."""
    content = f"{segment(header)}.{segment(claims)}"
    private = key.private_key
    assert private is not None
    signature = private.sign(content.encode(), PKCS1v15(), SHA256())
    return f"{content}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def segment(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@contextmanager
def hostile_provider() -> Iterator[HostileProvider]:
    provider = HostileProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*provider.document(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            form = {name: texts[0] for name, texts in parse_qs(body).items()}
            provider.codes.append(form | {"authorization": self.headers.get("Authorization", "")})
            self._send(*provider.document(self.path))

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # a client that did not wait

    with Server(("127.0.0.1", 0), Handler) as server:
        provider.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
