"""Activities of Linux servers: requests, timers, backups, builds, administration."""

from vedette.simulate.activity import Activity
from vedette.simulate.addresses import (
    GIT_NAME,
    MONITOR_NAME,
    PACKAGE_NAMES,
    WEB_NAMES,
    address_of,
    workstation_address,
)
from vedette.simulate.machine import SECOND_US, Process
from vedette.simulate.unix.linux import LinuxMachine

_SERVICES: tuple[tuple[str, str, str, str], ...] = (
    ("sshd", "/usr/sbin/sshd", "sshd: /usr/sbin/sshd -D", "root"),
    ("cron", "/usr/sbin/cron", "/usr/sbin/cron -f", "root"),
    ("rsyslog", "/usr/sbin/rsyslogd", "/usr/sbin/rsyslogd -n -iNONE", "root"),
    ("monitor", "/opt/halden/monitor-agent", "/opt/halden/monitor-agent --daemon", "root"),
)
_JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
_ROLE_SERVICES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "linux_web": (("nginx", "/usr/sbin/nginx", "nginx: worker process", "www-data"),),
    "linux_app": (
        ("java", _JAVA, f"{_JAVA} -Xmx4g -jar /opt/shop/shop.jar --spring.profiles=prod", "tomcat"),
    ),
    "linux_database": (
        ("postgres", "/usr/lib/postgresql/15/bin/postgres", "postgres: checkpointer", "postgres"),
    ),
    "linux_build": (
        ("runner", "/opt/runner/bin/runner", "/opt/runner/bin/runner run --once=false", "builder"),
    ),
}


def boot(m: LinuxMachine) -> None:
    """Adds the processes that run when the day begins."""
    for number, service in enumerate(_SERVICES + _ROLE_SERVICES.get(m.host.role, ())):
        m.add_running(*service, m.boot_us + (number + 5) * SECOND_US)


def _run_short(
    m: LinuxMachine, at: int, path: str, line: str, parent: Process, user: str = ""
) -> Process:
    """Runs a command that starts and ends."""
    process = m.run(at, path, line, parent, user)
    m.exit(at + 4_000 + m.within(0.4), process)
    return process


def run_timers(m: LinuxMachine, at: int) -> None:
    user, line = m.rng.choice(_CRON_LINES)
    shell = m.run(at, "/usr/bin/dash", f"/bin/sh -c '{line}'", m.resident["cron"], user)
    program, _, _ = line.partition(" ")
    _run_short(m, at + 5_000, program, line, shell)
    if m.rng.random() < 0.4:
        m.write(at + 8_000, shell, f"/var/tmp/cron-{m.nonce()}.log")  # noqa: S108
    m.exit(at + SECOND_US, shell)


_CRON_LINES = (
    ("root", "/usr/lib/sysstat/sa1 1 1"),
    ("root", "/usr/sbin/logrotate /etc/logrotate.conf"),
    ("root", "/opt/halden/bin/check-disk --warn 80 --crit 90"),
    ("www-data", "/usr/bin/php /var/www/portal/cron.php --quiet"),
    ("root", "/usr/bin/find /tmp -mtime +7 -delete"),
    ("root", "/usr/bin/certbot renew --quiet --deploy-hook /bin/true"),
)


def report_health(m: LinuxMachine, at: int) -> None:
    monitor = m.resident["monitor"]
    for number, (path, line) in enumerate(m.rng.sample(_PROBES, 2)):
        _run_short(m, at + number * 40_000, path, line, monitor)
    m.connect(at + 120_000, monitor, address_of(MONITOR_NAME), 9443, MONITOR_NAME)


_PROBES = (
    ("/usr/bin/df", "df -P -x tmpfs -x overlay"),
    ("/usr/bin/ps", "ps -eo pid,ppid,rss,comm --no-headers"),
    ("/usr/bin/ss", "ss -s"),
    ("/usr/bin/uptime", "uptime"),
    ("/usr/bin/systemctl", "systemctl is-system-running"),
    ("/usr/bin/cat", "cat /proc/loadavg"),
)


def serve_pages(m: LinuxMachine, at: int) -> None:
    server = m.resident["nginx"]
    for number in range(3 + int(m.rng.random() * 9)):
        m.accept(at + number * 11_000, server, workstation_address(m.rng), 443)
        m.connect(at + number * 11_000 + 900, server, "10.10.0.26", 8080)
    if m.rng.random() < 0.3:
        m.write(at + 50_000, server, f"/var/lib/nginx/proxy/{m.nonce()}")
        m.delete(at + 90_000, server, f"/var/lib/nginx/proxy/{m.nonce()}")


def serve_shop(m: LinuxMachine, at: int) -> None:
    java = m.resident["java"]
    for number in range(2 + int(m.rng.random() * 6)):
        m.accept(at + number * 17_000, java, "10.10.0.25", 8080)
        m.connect(at + number * 17_000 + 3_000, java, "10.10.0.30", 5432)
    if m.rng.random() < 0.2:
        name = m.rng.choice(WEB_NAMES)
        m.connect(at + 140_000, java, address_of(name), 443, name)
    m.write(at + 150_000, java, f"/opt/shop/cache/session-{m.nonce()}.ser")


def serve_queries(m: LinuxMachine, at: int) -> None:
    postgres = m.resident["postgres"]
    for number in range(2 + int(m.rng.random() * 5)):
        m.accept(at + number * 20_000, postgres, "10.10.0.26", 5432)
    m.write(
        at + 150_000, postgres, f"/var/lib/postgresql/15/main/base/pgsql_tmp/pgsql_tmp{m.nonce()}"
    )


def administrate(m: LinuxMachine, at: int) -> None:
    """Simulates an administrator who logs in over ssh and runs some commands."""
    sshd = m.resident["sshd"]
    m.accept(at, sshd, workstation_address(m.rng), 22)
    session = m.run(at + 30_000, "/usr/sbin/sshd", "sshd: /usr/sbin/sshd -D -R", sshd)
    shell = m.run(at + 400_000, "/usr/bin/bash", "-bash", session, m.user)
    moment = at + SECOND_US
    for path, line in m.rng.sample(_COMMANDS, 4):
        moment += m.within(25)
        user = "root" if line.startswith("sudo") else m.user
        _run_short(m, moment, path, line, shell, user)
    m.exit(moment + 5 * SECOND_US, shell)
    m.exit(moment + 5 * SECOND_US + 9_000, session)


_COMMANDS = (
    ("/usr/bin/ls", "ls --color=auto -la /var/log"),
    ("/usr/bin/tail", "tail -n 200 /var/log/syslog"),
    ("/usr/bin/grep", "grep -i error /var/log/nginx/error.log"),
    ("/usr/bin/sudo", "sudo systemctl restart shop.service"),
    ("/usr/bin/sudo", "sudo journalctl -u shop.service --since today"),
    ("/usr/bin/vim.basic", "vim /etc/nginx/sites-available/portal.conf"),
    ("/usr/bin/curl", "curl -sS http://localhost:8080/health"),
    ("/usr/bin/id", "id"),
    ("/usr/bin/uname", "uname -a"),
)


def update_packages(m: LinuxMachine, at: int) -> None:
    line = "/usr/bin/apt-get -qq -y dist-upgrade"
    apt = m.run(at, "/usr/bin/apt-get", line, m.resident["cron"], "root")
    fetcher = m.run(at + 200_000, "/usr/lib/apt/methods/http", "/usr/lib/apt/methods/http", apt)
    name = m.rng.choice(PACKAGE_NAMES)
    m.connect(at + 400_000, fetcher, address_of(name), 443, name)
    for number in range(3 + int(m.rng.random() * 8)):
        moment = at + (number + 2) * SECOND_US
        archive = f"/var/cache/apt/archives/{m.rng.choice(_PACKAGES)}_{number}-1+deb12u1_amd64.deb"
        m.write(moment, fetcher, archive)
        unpack = m.run(moment + 500_000, "/usr/bin/dpkg", f"/usr/bin/dpkg --unpack {archive}", apt)
        m.write(moment + 600_000, unpack, f"/usr/lib/x86_64-linux-gnu/{m.nonce()}.so.dpkg-new")
        m.exit(moment + 900_000, unpack)
    m.exit(at + 14 * SECOND_US, fetcher)
    m.exit(at + 15 * SECOND_US, apt)


_PACKAGES = ("libssl3", "openssh-server", "curl", "nginx-core", "python3.11-minimal", "libc6")


def run_backup(m: LinuxMachine, at: int) -> None:
    folder = m.rng.choice(("/etc", "/var/www", "/opt/shop", "/var/lib/postgresql"))
    archive = f"/backup/{m.nonce()}.tar.gz"
    tar = m.run(at, "/usr/bin/tar", f"tar -czf {archive} {folder}", m.resident["cron"], "root")
    zipper = m.run(at + 3_000, "/usr/bin/gzip", "/bin/gzip", tar)
    m.write(at + 9_000, tar, archive)
    target = "rsync://backup.halden.example/nightly/"
    sender = m.run(at + 40 * SECOND_US, "/usr/bin/rsync", f"rsync -a {archive} {target}", tar)
    m.connect(at + 41 * SECOND_US, sender, "10.10.0.203", 873, "backup.halden.example")
    for number, process in enumerate((zipper, sender, tar)):
        m.exit(at + (50 + number) * SECOND_US, process)


def build_project(m: LinuxMachine, at: int) -> None:
    root = f"/srv/build/{m.nonce()}"
    runner = m.resident["runner"]
    git = _run_short(
        m, at, "/usr/bin/git", f"git clone --depth 1 https://{GIT_NAME}/shop.git {root}", runner
    )
    m.connect(at + 2_000, git, address_of(GIT_NAME), 443, GIT_NAME)
    make = m.run(at + SECOND_US, "/usr/bin/make", f"make -C {root} -j8 all", runner)
    for number in range(5 + int(m.rng.random() * 12)):
        moment = at + SECOND_US + number * 300_000
        source = f"src/{m.rng.choice(('http', 'json', 'queue', 'pool', 'log'))}{number}"
        line = f"gcc -O2 -Wall -Iinclude -c {source}.c -o {source}.o"
        driver = m.run(moment, "/usr/bin/x86_64-linux-gnu-gcc-12", line, make)
        compiler = _run_short(
            m,
            moment + 4_000,
            "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
            f"/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet {source}.c -o /tmp/cc{m.nonce()}.s",
            driver,
        )
        m.write(moment + 6_000, compiler, f"/tmp/cc{m.nonce()}.s")  # noqa: S108
        m.write(moment + 150_000, driver, f"{root}/{source}.o")
        m.exit(moment + 200_000, driver)
    m.exit(at + 9 * SECOND_US, make)


ACTIVITIES: tuple[Activity[LinuxMachine], ...] = (
    Activity(run_timers, 5),
    Activity(report_health, 5),
    Activity(administrate, 0.6),
    Activity(update_packages, 0.15),
    Activity(run_backup, 0.3),
    Activity(serve_pages, 8, frozenset({"linux_web"})),
    Activity(serve_shop, 9, frozenset({"linux_app"})),
    Activity(serve_queries, 9, frozenset({"linux_database"})),
    Activity(build_project, 3, frozenset({"linux_build"})),
    Activity(administrate, 4, frozenset({"linux_bastion"})),
)
