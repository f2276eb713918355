"""Activities of Macs: launchd's helpers, browsers, development."""

from vedette.simulate.activity import Activity
from vedette.simulate.addresses import GIT_NAME
from vedette.simulate.machine import SECOND_US, Process
from vedette.simulate.unix.mac import MacMachine

_SERVICES: tuple[tuple[str, str], ...] = (
    ("spotlight", "/System/Library/Frameworks/CoreServices.framework/Support/mds"),
    ("updates", "/System/Library/CoreServices/softwareupdated"),
    ("agent", "/Library/Halden/monitor-agent"),
)
_SESSION: tuple[tuple[str, str], ...] = (
    ("finder", "/System/Library/CoreServices/Finder.app/Contents/MacOS/Finder"),
    ("browser", "/Applications/Safari.app/Contents/MacOS/Safari"),
    ("terminal", "/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal"),
    ("chat", "/Applications/Teamline.app/Contents/MacOS/Teamline"),
)


def boot(m: MacMachine) -> None:
    """Adds the processes that run when the day begins."""
    for number, (name, path) in enumerate(_SERVICES):
        m.add_running(name, path, path, "root", m.boot_us + (number + 4) * SECOND_US)


def resume_session(m: MacMachine) -> None:
    for number, (name, path) in enumerate(_SESSION):
        m.add_running(name, path, path, m.user, m.start_us - (80 - number) * 60 * SECOND_US)


def log_on(m: MacMachine, at: int) -> None:
    for number, (name, path) in enumerate(_SESSION):
        m.resident[name] = m.run(at + number * 3 * SECOND_US, path, path, m.root(), m.user)


def log_off(m: MacMachine, at: int) -> None:
    for number, (name, _) in enumerate(reversed(_SESSION)):
        m.exit(at + number * 200_000, m.resident.pop(name))


def _run_short(m: MacMachine, at: int, path: str, line: str, parent: Process) -> Process:
    process = m.run(at, path, line, parent)
    m.exit(at + 9_000 + m.within(1), process)
    return process


def index_files(m: MacMachine, at: int) -> None:
    path = "/System/Library/Frameworks/CoreServices.framework/Support/mdworker_shared"
    worker = m.run(at, path, f"{path} -s mdworker -c MDSImporterWorker", m.resident["spotlight"])
    for number in range(int(m.rng.random() * 4)):
        m.write(at + (number + 1) * 60_000, worker, f"/private/var/folders/zz/mds/{m.nonce()}")
    m.exit(at + m.within(200) + SECOND_US, worker)


def check_for_updates(m: MacMachine, at: int) -> None:
    path = "/usr/sbin/softwareupdate"
    _run_short(m, at, path, f"{path} --list --no-scan", m.resident["updates"])


def report_health(m: MacMachine, at: int) -> None:
    for number, line in enumerate(("/bin/df -kP", "/usr/bin/uptime", "/usr/sbin/sysctl hw.model")):
        _run_short(m, at + number * 70_000, line.split()[0], line, m.resident["agent"])


def browse(m: MacMachine, at: int) -> None:
    browser = m.resident["browser"]
    path = "/System/Library/Frameworks/WebKit.framework/com.apple.WebKit.WebContent"
    tab = m.run(at, path, path, browser)
    cache = f"/Users/{m.user}/Library/Caches/com.apple.Safari/WebKitCache/Records"
    for number in range(2 + int(m.rng.random() * 6)):
        m.write(at + (number + 1) * 90_000, tab, f"{cache}/{m.nonce()}")
    if m.rng.random() < 0.1:
        m.write(at + SECOND_US, browser, f"/Users/{m.user}/Downloads/paper-{m.nonce()}.pdf")
    m.exit(at + m.within(600) + 2 * SECOND_US, tab)


def develop(m: MacMachine, at: int) -> None:
    shell = m.run(at, "/bin/zsh", "-zsh", m.resident["terminal"])
    git = "/Library/Developer/CommandLineTools/usr/bin/git"
    _run_short(m, at + 900_000, git, f"git pull https://{GIT_NAME}/shop.git main", shell)
    clang = "/Library/Developer/CommandLineTools/usr/bin/clang"
    for number in range(2 + int(m.rng.random() * 7)):
        source = f"Sources/{m.rng.choice(('View', 'Model', 'Store', 'Client'))}{number}"
        compiler = _run_short(
            m,
            at + (number + 2) * SECOND_US,
            clang,
            f"{clang} -O2 -fobjc-arc -c {source}.m -o build/{m.nonce()}.o",
            shell,
        )
        object_path = f"/Users/{m.user}/src/app/build/{m.nonce()}.o"
        m.write(at + (number + 2) * SECOND_US + 5_000, compiler, object_path)
    m.exit(at + 40 * SECOND_US, shell)


def install_tool(m: MacMachine, at: int) -> None:
    shell = m.run(
        at, "/bin/bash", "/bin/bash /opt/homebrew/bin/brew upgrade", m.resident["terminal"]
    )
    ruby = m.run(at + 60_000, "/opt/homebrew/bin/ruby", "ruby brew.rb upgrade", shell)
    curl = "/usr/bin/curl --location --remote-time --output bottle.tar.gz https://bottles.software.test"
    _run_short(m, at + SECOND_US, "/usr/bin/curl", curl, ruby)
    for number in range(6):
        m.write(
            at + (2 * SECOND_US) + number * 9_000, ruby, f"/opt/homebrew/Cellar/jq/1.7/{m.nonce()}"
        )
        m.delete(at + (3 * SECOND_US) + number * 9_000, ruby, f"/opt/homebrew/var/tmp/{m.nonce()}")
    m.exit(at + 5 * SECOND_US, ruby)
    m.exit(at + 6 * SECOND_US, shell)


ACTIVITIES: tuple[Activity[MacMachine], ...] = (
    Activity(index_files, 6),
    Activity(report_health, 4),
    Activity(check_for_updates, 1),
    Activity(browse, 12, needs_user=True),
    Activity(develop, 3, needs_user=True),
    Activity(install_tool, 0.4, needs_user=True),
)
