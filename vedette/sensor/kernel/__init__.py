"""Event sources of the Linux kernel: audit, proc connector, fanotify, /proc, sock_diag."""
