"""Activities of Windows servers: directory, web, files, databases, backup."""

from vedette.simulate.addresses import (
    workstation_address,
)
from vedette.simulate.machine import SECOND_US
from vedette.simulate.software import PROGRAM
from vedette.simulate.windows.machine import WindowsMachine, domain_user
from vedette.simulate.windows.short_programs import load_modules, run_tool
from vedette.simulate.windows.workstation import DOCUMENT_NAMES


def serve_directory(m: WindowsMachine, at: int) -> None:
    lsass = m.resident["lsass"]
    for number in range(2 + int(m.rng.random() * 6)):
        m.accept(
            at + number * 30_000,
            lsass,
            workstation_address(m.rng),
            m.rng.choice((88, 389, 389, 636, 3268)),
        )
    m.accept(at + 5_000, m.resident.get("dns", lsass), workstation_address(m.rng), 53)
    user, address = domain_user(f"host{int(m.rng.random() * 60)}$"), workstation_address(m.rng)
    m.grant_ticket(at + 60_000, user, address)
    m.logon(at + 70_000, user, 3, address)


_COMPILED_PAGES = r"C:\Windows\Microsoft.NET\Framework64\v4.0.30319\Temporary ASP.NET Files\root"


def serve_web(m: WindowsMachine, at: int) -> None:
    worker = m.resident["w3wp"]
    for number in range(2 + int(m.rng.random() * 8)):
        m.accept(at + number * 25_000, worker, workstation_address(m.rng), 443)
    m.write(at + 90_000, worker, rf"C:\inetpub\temp\IIS Temporary Compressed Files\{m.nonce()}.js")
    if m.rng.random() < 0.06:
        folder = rf"{_COMPILED_PAGES}\{m.nonce()}"
        line = rf'"{PROGRAM["csc.exe"]}" /t:library /utf8output /out:"{folder}\App_Web.dll"'
        compiler = run_tool(m, at + 200_000, "csc.exe", line, worker)
        m.write(at + 260_000, compiler, rf"{folder}\App_Web_{m.nonce()}.dll")


def serve_files(m: WindowsMachine, at: int) -> None:
    for number in range(2 + int(m.rng.random() * 6)):
        m.accept(at + number * 40_000, m.root(), workstation_address(m.rng), 445)
        folder = m.rng.choice(("finance", "sales", "hr", "legal", "operations"))
        m.write(
            at + number * 40_000 + 9_000,
            m.root(),
            rf"D:\shares\{folder}\{m.rng.choice(DOCUMENT_NAMES)}-{m.nonce()[:4]}.xlsx",
        )


def serve_sql(m: WindowsMachine, at: int) -> None:
    for number in range(1 + int(m.rng.random() * 4)):
        m.accept(at + number * 60_000, m.resident["sql"], "10.10.0.26", 1433)
    if m.rng.random() < 0.2:
        m.write(at + 100_000, m.resident["sql"], rf"E:\backup\shop_log_{m.nonce()}.trn")


def run_backup(m: WindowsMachine, at: int) -> None:
    target = r"\\backup.halden.example\nightly"
    line = rf"robocopy.exe D:\shares {target} /MIR /R:1 /W:1 /LOG+:C:\Logs\backup.log"
    copier = m.run(at, "robocopy.exe", line, m.resident["svchost0"])
    load_modules(m, at, copier, 10)
    for number in range(10):
        m.connect(at + number * SECOND_US, copier, "10.10.0.203", 445)
    m.exit(at + 600 * SECOND_US, copier)
