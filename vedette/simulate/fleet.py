"""The simulated company: hosts, users, sites and addresses.

`build_fleet` takes any number of hosts; the mix of roles stays the same, and every role is among
the first fourteen hosts, so that every attack story finds its hosts.
"""

from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import Literal
from uuid import UUID

Role = Literal[
    "workstation",
    "developer",
    "domain_controller",
    "mail_server",
    "web_server",
    "file_server",
    "database_server",
    "linux_web",
    "linux_app",
    "linux_database",
    "linux_build",
    "linux_bastion",
    "mac",
    "mac_osquery",
]
OsType = Literal["windows", "linux", "osx"]

DOMAIN = "halden.example"
"""DNS name of the company; a reserved top-level domain."""

NETBIOS = "HALDEN"

ROLES: tuple[Role, ...] = (
    "workstation",
    "domain_controller",
    "mail_server",
    "web_server",
    "file_server",
    "linux_web",
    "linux_app",
    "mac",
    "developer",
    "database_server",
    "linux_database",
    "linux_build",
    "linux_bastion",
    "mac_osquery",
    *("workstation", "developer", "workstation", "linux_web") * 3,
    *("workstation", "workstation", "mac", "developer", "workstation") * 2,
    *("workstation", "linux_app", "workstation") * 2,
    "workstation",
    "developer",
    "workstation",
    "workstation",
    "mac_osquery",
    "workstation",
    "workstation",
    "file_server",
    "workstation",
    "domain_controller",
    "workstation",
    "linux_app",
    "workstation",
    "web_server",
    "workstation",
    "developer",
    "workstation",
    "mac",
)
"""Roles of one company of 60 hosts; larger fleets repeat them."""

OS_OF_ROLE: dict[Role, OsType] = {
    "workstation": "windows",
    "developer": "windows",
    "domain_controller": "windows",
    "mail_server": "windows",
    "web_server": "windows",
    "file_server": "windows",
    "database_server": "windows",
    "linux_web": "linux",
    "linux_app": "linux",
    "linux_database": "linux",
    "linux_build": "linux",
    "linux_bastion": "linux",
    "mac": "osx",
    "mac_osquery": "osx",
}

_SERVER_NAMES: dict[Role, str] = {
    "domain_controller": "dc",
    "mail_server": "mail",
    "web_server": "iis",
    "file_server": "files",
    "database_server": "sql",
    "linux_web": "web",
    "linux_app": "app",
    "linux_database": "pg",
    "linux_build": "build",
    "linux_bastion": "jump",
}

_FIRST_NAMES = (
    "Amira",
    "Bela",
    "Carmen",
    "Dario",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Katja",
    "Leon",
    "Mira",
    "Nils",
    "Olga",
    "Pablo",
    "Quirin",
    "Rosa",
    "Stefan",
    "Tilda",
    "Uwe",
    "Vera",
    "Wanda",
    "Xenia",
    "Yusuf",
    "Zora",
)
_LAST_NAMES = (
    "Abel",
    "Brandt",
    "Castell",
    "Dorn",
    "Ebner",
    "Falk",
    "Gruber",
    "Hartwig",
    "Iversen",
    "Jansen",
    "Kessler",
    "Lorenz",
    "Marten",
    "Nowak",
    "Ostrow",
    "Perlin",
    "Quast",
    "Riedel",
    "Sommer",
    "Tanner",
    "Ulbrich",
    "Vogt",
    "Weller",
    "Yilmaz",
    "Zander",
)
_DEPARTMENTS = ("finance", "sales", "hr", "legal", "operations", "support")


@dataclass(frozen=True, slots=True)
class Site:
    """An office with its own subnet and local time."""

    code: str
    subnet: int
    utc_offset_hours: int


SITES = (Site("ber", 20, 1), Site("lee", 30, 0), Site("bos", 40, -5))
SERVER_SITE = Site("dc1", 10, 0)


@dataclass(frozen=True, slots=True)
class User:
    login: str
    """Login without the domain: `m.kessler`."""
    full_name: str
    department: str
    sid: str
    uid: int


@dataclass(frozen=True, slots=True)
class Host:
    index: int
    name: str
    """Full host name in lower case."""
    role: Role
    os_type: OsType
    site: Site
    ip: str
    user: User
    """The user of the host; for servers, the responsible administrator."""
    ring: int
    """Update ring, 0 or 1: selects the installed version of a program."""
    agent_id: str
    guid_prefix: str
    """First eight digits of every ProcessGuid of the host."""

    @property
    def short_name(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_server(self) -> bool:
        return self.role in _SERVER_NAMES


@dataclass(frozen=True, slots=True)
class Fleet:
    seed: int
    hosts: tuple[Host, ...]

    def first(self, role: Role) -> Host:
        """Returns the first host of a role. Raises LookupError if the fleet is too small."""
        for host in self.hosts:
            if host.role == role:
                return host
        raise LookupError(f"no {role} among {len(self.hosts)} hosts")


def build_fleet(seed: int, host_count: int = 60, *, only: OsType | None = None) -> Fleet:
    """Builds a fleet deterministically from the seed. `only` restricts it to the roles of one
    operating system."""
    rng = Random(f"fleet {seed}")
    roles = [role for role in ROLES if only in (None, OS_OF_ROLE[role])]
    numbers: dict[str, int] = {}
    hosts = tuple(
        _build_host(index, role, numbers, rng)
        for index, role in enumerate(islice(cycle(roles), host_count))
    )
    return Fleet(seed, hosts)


def _build_host(index: int, role: Role, numbers: dict[str, int], rng: Random) -> Host:
    user = _build_user(index, role, rng)
    site = SERVER_SITE if role in _SERVER_NAMES else SITES[index % len(SITES)]
    stem = _SERVER_NAMES.get(role) or f"{site.code}-{_workstation_name(role, user)}"
    numbers[stem] = numbers.get(stem, 0) + 1
    return Host(
        index=index,
        name=f"{stem}-{numbers[stem]:03d}.{DOMAIN}",
        role=role,
        os_type=OS_OF_ROLE[role],
        site=site,
        ip=f"10.{site.subnet + index // 50_000}.{index // 200 % 250}.{index % 200 + 20}",
        user=user,
        ring=int(rng.random() < 0.4),
        agent_id=str(UUID(int=rng.getrandbits(128), version=4)),
        guid_prefix=f"{rng.getrandbits(32):08x}",
    )


def _workstation_name(role: Role, user: User) -> str:
    return "mbp" if role.startswith("mac") else user.department[:3]


def _build_user(index: int, role: Role, rng: Random) -> User:
    first, last = rng.choice(_FIRST_NAMES), rng.choice(_LAST_NAMES)
    department = "engineering" if role in ("developer", "mac") else rng.choice(_DEPARTMENTS)
    suffix = "" if index < 200 else str(index)
    return User(
        login=f"{first[0]}.{last}{suffix}".lower(),
        full_name=f"{first} {last}",
        department=department,
        sid=f"S-1-5-21-1004336348-1177238915-682003330-{1100 + index}",
        uid=501 if role.startswith("mac") else 1000 + index % 500,
    )
