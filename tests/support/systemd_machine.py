"""Boots systemd as the first process of namespaces of its own, over a copy of this machine's root
whose changes are lost, with an unpacked Debian package in it; starts the package's unit as it is,
looks at it and stops it. Needs root and `systemd`; it starts no unit of this machine.
"""

import subprocess
from pathlib import Path
from typing import Final

NO_OVERLAY: Final = 77
BOOT_S: Final = 180

_SET_UP: Final = r"""
set -e
mount --make-rprivate /
mount -t tmpfs -o size=2g none $WORK
mkdir $WORK/changes $WORK/work $WORK/root
mount -t overlay overlay $WORK/root \
    -o lowerdir=/,upperdir=$WORK/changes,workdir=$WORK/work || exit 77
cd $WORK/root
mkdir -p opt/vedette etc/vedette out old
mount --bind $TREE/opt/vedette opt/vedette
mount --bind $OUT out
cp $TREE/usr/bin/vedette usr/bin/
cp $TREE/lib/systemd/system/vedette.service lib/systemd/system/
cp $TREE/etc/vedette/vedette.toml etc/vedette/
mount -t proc none proc
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 none dev
for name in null zero full random urandom tty; do
    touch dev/$name
    mount --bind /dev/$name dev/$name
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 none dev/pts
mount -t tmpfs none dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=1777 none tmp
rm -rf etc/systemd/system var/lib/vedette
mkdir -p etc/systemd/system
for name in systemd-udevd systemd-udev-trigger systemd-networkd systemd-resolved \
    systemd-timesyncd systemd-logind systemd-hwdb-update systemd-journal-flush; do
    ln -s /dev/null etc/systemd/system/$name.service
done
cat >etc/systemd/system/trial.service <<'UNIT'
[Unit]
DefaultDependencies=no
Wants=vedette.service
After=vedette.service
[Service]
Type=oneshot
ExecStart=/bin/sh /out/trial.sh
StandardOutput=append:/out/told
StandardError=append:/out/told
UNIT
chroot . /bin/sh -e <<'USER'
getent passwd vedette >/dev/null || adduser --system --group --quiet --no-create-home \
    --home /var/lib/vedette --shell /usr/sbin/nologin vedette
install -d -m 0700 -o vedette -g vedette /var/lib/vedette
chown root:vedette /etc/vedette/vedette.toml
USER
pivot_root . old
umount -l /old
mount --make-rshared /  # as the first process of a machine finds it
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system \
    --unit=trial.service --log-target=journal-or-kmsg --show-status=false
"""
_TRIAL: Final = r"""
n=0
until [ -e /var/lib/vedette/server.json ]; do
    n=$((n + 1)); [ $n -lt 90 ] || break
    systemctl is-failed --quiet vedette && break
    sleep 1
done
systemctl show vedette -p ActiveState,SubState,NRestarts
pid=$(systemctl show vedette -p MainPID --value)
grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/$pid/status
echo devices $(nsenter -t $pid -m ls /dev)
nsenter -t $pid -m touch /opt/vedette/here || echo cannot write /opt
nsenter -t $pid -m touch /etc/here || echo cannot write /etc
VEDETTE_CONFIG=/etc/vedette/vedette.toml vedette completeness show && echo it answers
systemctl stop vedette
systemctl show vedette -p Result,ExecMainStatus
journalctl -u vedette --no-pager -o cat
systemctl exit 7 --no-block
"""


def unit_started(tree: Path, directory: Path) -> tuple[int, str]:
    """The exit status, 7 where all was looked at, and what was seen."""
    out, work = directory / "out", directory / "work"
    out.mkdir()
    work.mkdir()
    (out / "trial.sh").write_text(_TRIAL)
    reported = out / "told"
    reported.touch()
    command = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"]
    ran = subprocess.run(
        [*command, "--fork", "--kill-child", "sh", "-c", _SET_UP],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOOT_S,
        cwd="/",
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "TREE": str(tree),
            "WORK": str(work),
            "OUT": str(out),
        },
    )
    return ran.returncode, reported.read_text() + ran.stdout + ran.stderr
