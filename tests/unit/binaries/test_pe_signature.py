"""Verdicts of the reader on signatures that `osslsigncode` creates."""

import io
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.code_signing import CODE_SIGNING, TIME_STAMPING, Identity, identity, signed
from tests.support.pe_file import pe_file
from vedette.binaries.file_facts import FileFacts
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import TrustStore, load_trust
from vedette.errors import StartError

pytestmark = pytest.mark.skipif(
    shutil.which("osslsigncode") is None, reason="osslsigncode is not installed"
)


@dataclass(frozen=True)
class Authorities:
    folder: Path
    root: Identity
    middle: Identity
    signer: Identity
    expired: Identity
    stamper: Identity

    @property
    def trust(self) -> TrustStore:
        return TrustStore((der(self.root),))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Authorities:
    folder = tmp_path_factory.mktemp("signing")
    root = identity(folder, "root", days=(-1_000, 1_000))
    middle = identity(folder, "middle", root, days=(-1_000, 1_000))
    return Authorities(
        folder,
        root,
        middle,
        identity(folder, "signer", middle, usage=CODE_SIGNING),
        identity(folder, "expired", middle, usage=CODE_SIGNING, days=(-100, -1)),
        identity(folder, "stamper", root, usage=TIME_STAMPING, days=(-1_000, 10)),
    )


def der(one: Identity) -> bytes:
    return one.certificate.public_bytes(Encoding.DER)


_READERS: dict[str, FileReader] = {}


@pytest.fixture(scope="module", autouse=True)
def readers() -> Iterator[None]:
    """A process for each set of roots."""
    yield
    for reader in _READERS.values():
        reader.close()
    _READERS.clear()


def read(content: bytes, trust: TrustStore) -> FileFacts:
    reader = _READERS.setdefault(trust.digest, FileReader(trust))
    return reader.read(io.BytesIO(content), len(content))


def tampered(content: bytes) -> bytes:
    return content[:0x400] + b"\x90" + content[0x401:]


def with_wrong_signature(content: bytes) -> bytes:
    """The last bytes of the table are those of the signature value, before the padding."""
    end = len(content.rstrip(b"\0"))
    return content[: end - 40] + bytes(8) + content[end - 32 :]


Case = tuple[str, Callable[[Authorities], bytes], Callable[[Authorities], TrustStore]]
CASES: list[Case] = [
    ("Unsigned", lambda _: pe_file(), lambda made: made.trust),
    ("Signed", lambda made: signed(made.folder, pe_file(), made.signer), lambda made: made.trust),
    ("Expired", lambda made: signed(made.folder, pe_file(), made.expired), lambda made: made.trust),
    (
        "Bad Signature",
        lambda made: tampered(signed(made.folder, pe_file(), made.signer)),
        lambda made: made.trust,
    ),
    (
        "Invalid Signature",
        lambda made: with_wrong_signature(signed(made.folder, pe_file(), made.signer)),
        lambda made: made.trust,
    ),
    (
        "Invalid Chain",
        lambda made: signed(made.folder, pe_file(), made.stamper),
        lambda made: made.trust,
    ),
    (
        "Untrusted Root",
        lambda made: signed(
            made.folder, pe_file(), identity(made.folder, "self", usage=CODE_SIGNING)
        ),
        lambda made: made.trust,
    ),
    (
        "Explicit Distrust",
        lambda made: signed(made.folder, pe_file(), made.signer),
        lambda made: TrustStore(
            (der(made.root),),
            frozenset({made.middle.certificate.fingerprint(hashes.SHA256()).hex()}),
        ),
    ),
]


@pytest.mark.parametrize(("result", "content", "trust"), CASES, ids=[case[0] for case in CASES])
def test_a_signature_has_the_result_that_windows_gives(
    made: Authorities,
    result: str,
    content: Callable[[Authorities], bytes],
    trust: Callable[[Authorities], TrustStore],
) -> None:
    program = content(made)
    facts = read(program, trust(made))
    assert facts.signature.result == result, facts
    if result != "Explicit Distrust":  # the tool has no list of those
        file, roots = made.folder / "verified.exe", made.folder / "root.pem"
        file.write_bytes(program)
        said = subprocess.run(
            ["osslsigncode", "verify", "-CAfile", roots, "-in", file],
            check=False,
            capture_output=True,
        )
        assert (said.returncode == 0) is (result == "Signed")


def test_a_signature_tells_who_made_it_and_when(made: Authorities) -> None:
    found = read(signed(made.folder, pe_file(), made.signer), made.trust).signature
    assert (found.publisher, found.issuer) == ("signer", "middle")
    assert "CN=signer" in found.subject
    assert (found.prog_name, found.result_code) == ("Sheep Counter", "0")
    assert abs(found.sign_time_us / 1e6 - time.time()) < 600
    assert found.countersign_time_us == 0


def test_a_time_stamp_keeps_a_signature_good_after_its_certificate_expired(
    made: Authorities,
) -> None:
    stamped_s = int(time.time()) - 50 * 24 * 3600
    stamp = ("-TSA-certs", made.stamper.chain, "-TSA-key", made.stamper.key_file)
    further = [*map(str, stamp), "-TSA-time", str(stamped_s)]
    try:
        program = signed(made.folder, pe_file(), made.expired, *further)
    except subprocess.CalledProcessError:
        pytest.skip("this osslsigncode makes no time stamps")
    found = read(program, made.trust).signature
    assert (found.result, found.countersign_time_us) == ("Signed", stamped_s * 1_000_000)
    assert found.sign_time_us == found.countersign_time_us
    unknown = TrustStore((der(identity(made.folder, "other")), der(made.middle)))
    assert read(program, unknown).signature.result == "Expired"


def test_without_roots_a_good_signature_is_described_and_not_judged(made: Authorities) -> None:
    found = read(signed(made.folder, pe_file(), made.signer), TrustStore()).signature
    assert (found.result, found.result_code, found.publisher) == ("", "", "signer")


def test_authorities_that_sign_each_other_end(made: Authorities) -> None:
    """Two roots of crossed names, each signed by the other."""
    first = identity(made.folder, "one")
    second = identity(made.folder, "two", first)
    crossed = identity(made.folder, "one", second)
    signer = identity(made.folder, "leaf", crossed, usage=CODE_SIGNING)
    looping = made.folder / "looping.pem"
    looping.write_bytes(signer.pem + crossed.pem + second.pem + first.pem)
    program = signed(
        made.folder, pe_file(), Identity(signer.certificate, signer.key, looping, signer.key_file)
    )
    assert read(program, made.trust).signature.result in {"Untrusted Root", "Invalid Chain"}


def test_the_roots_come_from_files_of_certificates(made: Authorities, tmp_path: Path) -> None:
    roots, against = tmp_path / "roots", tmp_path / "distrusted.txt"
    roots.mkdir()
    (roots / "a.pem").write_bytes(made.root.pem)
    fingerprint = made.signer.certificate.fingerprint(hashes.SHA256()).hex().upper()
    against.write_bytes(fingerprint.encode() + b" # stolen\n" + made.expired.pem)
    trust = load_trust(roots, against)
    assert trust.roots == (der(made.root),)
    assert len(trust.distrusted) == 2
    assert fingerprint.lower() in trust.distrusted
    assert trust.digest != load_trust(roots, None).digest


def test_roots_that_are_not_there_stop_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be read"):
        load_trust(tmp_path / "none.pem", None)
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(StartError, match="no certificate"):
        load_trust(empty, None)
