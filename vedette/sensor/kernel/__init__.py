"""What the Linux kernel tells: audit, proc connector, fanotify, /proc."""
