"""Activities of Windows users: browsing, documents, chat, development."""

from vedette.simulate.addresses import (
    CHAT_NAMES,
    FILES_NAME,
    GIT_NAME,
    MAIL_NAME,
    OFFICE_NAMES,
    WEB_NAMES,
    address_of,
)
from vedette.simulate.machine import SECOND_US
from vedette.simulate.software import PROGRAM
from vedette.simulate.windows.machine import WindowsMachine
from vedette.simulate.windows.short_programs import load_modules, run_tool


def browse(m: WindowsMachine, at: int) -> None:
    browser = m.resident["browser"]
    for number in range(1 + int(m.rng.random() * 5)):
        name = m.rng.choice(WEB_NAMES)
        m.connect(at + (number + 1) * 150_000, browser, address_of(name), 443, name)
    cache = rf"{m.profile}\AppData\Local\Google\Chrome\User Data\Default\Cache\Cache_Data"
    for number in range(int(m.rng.random() * 5)):
        m.write(at + number * 40_000, browser, rf"{cache}\f_{m.nonce()}")
    if m.rng.random() < 0.35:
        line = (
            f'"{browser.path}" --type=renderer --lang=en-GB --device-scale-factor=1'
            f" --renderer-client-id={int(m.rng.random() * 900)} --launch-time-ticks={m.nonce()}"
        )
        tab = m.run(at + 30_000, "chrome.exe", line, browser)
        load_modules(m, at + 30_000, tab, 20)
        m.open_process(at + 50_000, browser, tab, 0x1FFFFF)
        m.exit(at + m.within(900) + SECOND_US, tab)


def fetch_file(m: WindowsMachine, at: int) -> None:
    name = m.rng.choice(WEB_NAMES)
    m.connect(at, m.resident["browser"], address_of(name), 443, name)
    file = f"{m.rng.choice(DOCUMENT_NAMES)}-{m.nonce()}.{m.rng.choice(('pdf', 'zip', 'xlsx'))}"
    m.download(
        at + SECOND_US,
        m.resident["browser"],
        rf"{m.profile}\Downloads\{file}",
        f"https://{name}/{file}",
    )


DOCUMENT_NAMES = (
    "invoice",
    "offer",
    "minutes",
    "forecast",
    "contract",
    "price-list",
    "travel",
    "budget",
    "roadmap",
    "lens-drawing",
    "order",
    "protocol",
    "newsletter",
    "timesheet",
    "audit",
)


def read_mail(m: WindowsMachine, at: int) -> None:
    outlook = m.resident["outlook"]
    m.connect(at, outlook, address_of(MAIL_NAME), 443, MAIL_NAME)
    folder = rf"{m.profile}\AppData\Local\Microsoft\Windows\INetCache\Content.Outlook\{m.nonce()}"
    for number in range(int(m.rng.random() * 3)):
        m.write(at + (number + 1) * 80_000, outlook, rf"{folder}\image{number:03d}.png")
    key = rf"HKU\{m.host.user.sid}\SOFTWARE\Microsoft\Office\16.0\Outlook\Logging\LastSync"
    m.set_value(at + 300_000, outlook, key, f"DWORD (0x{m.nonce()})")


def edit_document(m: WindowsMachine, at: int) -> None:
    program = m.rng.choice(("winword.exe", "excel.exe"))
    kind = "docx" if program == "winword.exe" else "xlsx"
    folder = (
        rf"{m.profile}\Documents"
        if m.rng.random() < 0.5
        else rf"\\{FILES_NAME}\{m.host.user.department}"
    )
    document = rf"{folder}\{m.rng.choice(DOCUMENT_NAMES)}-{m.nonce()[:4]}.{kind}"
    office = m.run(at, program, f'"{PROGRAM[program]}" /n "{document}"', m.resident["explorer"])
    load_modules(m, at, office, 34)
    name = m.rng.choice(OFFICE_NAMES)
    m.connect(at + 700_000, office, address_of(name), 443, name)
    mru = (
        rf"HKU\{m.host.user.sid}\SOFTWARE\Microsoft\Office\16.0\Common\Open Find\Recent\{m.nonce()}"
    )
    m.set_value(at + 800_000, office, mru, document)
    saves = 1 + int(m.rng.random() * 6)
    for number in range(saves):
        moment = at + (number + 1) * 40 * SECOND_US + m.within(20)
        scratch = rf"{folder}\~WRL{m.nonce()}.tmp"
        m.write(moment, office, scratch)
        m.write(moment + 30_000, office, document)
        m.delete(moment + 60_000, office, scratch)
    m.exit(at + (saves + 1) * 40 * SECOND_US + m.within(300), office)


def use_chat(m: WindowsMachine, at: int) -> None:
    program = m.resident["chat"]
    name = m.rng.choice(CHAT_NAMES)
    m.connect(at, program, address_of(name), 443, name)
    m.write(at + 50_000, program, rf"{m.profile}\AppData\Roaming\Teamline\Cache\{m.nonce()}.blob")


def use_files(m: WindowsMachine, at: int) -> None:
    explorer = m.resident["explorer"]
    root = rf"HKU\{m.host.user.sid}\SOFTWARE\Microsoft\Windows\CurrentVersion\Explorer"
    m.set_value(at, explorer, rf"{root}\RecentDocs\MRUListEx", "Binary Data")
    m.set_value(
        at + 2_000, explorer, rf"{root}\UserAssist\{{CEBFF5CD}}\Count\{m.nonce()}", "Binary Data"
    )
    m.write(
        at + 9_000,
        explorer,
        rf"{m.profile}\AppData\Roaming\Microsoft\Windows\Recent\{m.rng.choice(DOCUMENT_NAMES)}.lnk",
    )
    m.connect(at + 20_000, m.root(), address_of(FILES_NAME), 445, "")
    if m.rng.random() < 0.15:
        archive = rf"{m.profile}\Documents\{m.rng.choice(DOCUMENT_NAMES)}.zip"
        zipper = run_tool(
            m,
            at + SECOND_US,
            "7zg.exe",
            rf'"C:\Program Files\7-Zip\7zG.exe" a "{archive}"',
            explorer,
        )
        m.write(at + SECOND_US + 30_000, zipper, archive)


def run_diagnostics(m: WindowsMachine, at: int) -> None:
    """Simulates network troubleshooting: commands that attackers use as well."""
    shell = m.run(at, "cmd.exe", r'"C:\Windows\system32\cmd.exe"', m.resident["explorer"])
    console = m.run(
        at + 20_000,
        "conhost.exe",
        r"\??\C:\Windows\system32\conhost.exe 0xffffffff -ForceV1",
        shell,
    )
    for number, (path, line) in enumerate(m.rng.sample(_QUESTIONS, 3)):
        run_tool(m, at + (number + 1) * 6 * SECOND_US, path, line, shell)
    m.exit(at + 60 * SECOND_US, console)
    m.exit(at + 60 * SECOND_US + 5_000, shell)


_QUESTIONS = (
    ("ipconfig.exe", "ipconfig /all"),
    ("ping.exe", "ping -n 4 files-001.halden.example"),
    ("nslookup.exe", "nslookup www.example.com"),
    ("whoami.exe", "whoami"),
    ("net.exe", "net use"),
    ("tasklist.exe", "tasklist /svc"),
    ("systeminfo.exe", "systeminfo"),
)


def build_software(m: WindowsMachine, at: int) -> None:
    root = rf"C:\src\{m.rng.choice(('lens-control', 'calibrator', 'shop', 'firmware'))}"
    line = rf'"{PROGRAM["msbuild.exe"]}" {root}\all.sln /m /p:Configuration=Release'
    build = m.run(at, "msbuild.exe", line, m.resident["editor"])
    load_modules(m, at, build, 20)
    steps = 4 + int(m.rng.random() * 10)
    for number in range(steps):
        moment = at + (number + 1) * SECOND_US + m.within(0.5)
        source = rf"{root}\src\{m.rng.choice(_SOURCE_NAMES)}{number}.cpp"
        options = rf'/c /Zi /nologo /W4 /O2 /std:c++20 /I"{root}\include"'
        line = rf'cl.exe {options} /Fo"{root}\obj\\" "{source}"'
        compiler = run_tool(m, moment, "cl.exe", line, build, 6)
        m.write(moment + 50_000, compiler, rf"{root}\obj\{m.nonce()}.obj")
    link = (
        rf'link.exe /OUT:"{root}\bin\app.exe" /NOLOGO /MACHINE:X64 @{root}\obj\link-{m.nonce()}.rsp'
    )
    linker = run_tool(m, at + (steps + 1) * SECOND_US, "link.exe", link, build)
    m.write(at + (steps + 1) * SECOND_US + 30_000, linker, rf"{root}\bin\app.exe")
    m.exit(at + (steps + 3) * SECOND_US, build)


_SOURCE_NAMES = ("parser", "device", "matrix", "cache", "socket", "window", "sensor", "report")


def use_git(m: WindowsMachine, at: int) -> None:
    verb = m.rng.choice(
        ("status --porcelain", "fetch origin", "log --oneline -n 30", "diff --stat")
    )
    git = run_tool(m, at, "git.exe", f"git.exe {verb}", m.resident["editor"])
    if verb == "fetch origin":
        m.connect(at + 40_000, git, address_of(GIT_NAME), 443, GIT_NAME)
        m.write(at + 50_000, git, rf"C:\src\shop\.git\objects\pack\tmp_pack_{m.nonce()}")
    script = rf"C:\src\shop\node_modules\.bin\eslint --stdin --stdin-filename app-{m.nonce()}.ts"
    node = f'"{PROGRAM["node.exe"]}" {script}'
    run_tool(m, at + SECOND_US, "node.exe", node, m.resident["editor"], 12)
