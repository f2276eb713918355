"""Linux system call numbers by architecture, as in audit records.

The tables contain the calls that normalisers use or rules test. `arch` is the value of AUDIT_ARCH_*
(linux/audit.h): the ELF machine with flags for 64 bits and little-endian. Numbers differ between
architectures, so an unknown architecture or number has no name.
"""

from typing import Final

_X32_BIT: Final = 1 << 30
"""Bit that is set in the numbers of x32 calls, which share the `arch` of x86_64."""

_NUMBERS_WRITTEN: Final[dict[str, str]] = {
    "x86_64": """
        execve 59 execve 520 execveat 322 execveat 545 clone 56 clone3 435 fork 57 vfork 58
        exit_group 231 connect 42 accept 43 accept4 288 bind 49 sendto 44 sendmsg 46 sendmsg 518
        open 2 openat 257 openat2 437 open_by_handle_at 304 creat 85 truncate 76 ftruncate 77
        unlink 87 unlinkat 263 rmdir 84 rename 82 renameat 264 renameat2 316 link 86 linkat 265
        symlink 88 symlinkat 266 mkdir 83 mkdirat 258 mknod 133 mknodat 259 ptrace 101
        ptrace 521 process_vm_writev 311 process_vm_writev 540 init_module 175 finit_module 313
        socket 41 listen 50 chmod 90 chown 92 sysinfo 99 syslog 103 setuid 105 personality 135
        mount 165 fchmodat 268 unshare 272 setns 308 memfd_create 319 bpf 321
    """,
    "i386": """
        execve 11 execveat 358 clone 120 clone3 435 fork 2 vfork 190 exit_group 252
        socketcall 102 connect 362 accept4 364 bind 361 sendto 369 sendmsg 370 open 5 openat 295
        openat2 437 open_by_handle_at 342 creat 8 truncate 92 truncate64 193 ftruncate 93
        ftruncate64 194 unlink 10 unlinkat 301 rmdir 40 rename 38 renameat 302 renameat2 353
        link 9 linkat 303 symlink 83 symlinkat 304 mkdir 39 mkdirat 296 mknod 14 mknodat 297
        ptrace 26 process_vm_writev 348 init_module 128 finit_module 350 socket 359 listen 363
        chmod 15 chown 182 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21
        fchmodat 306 unshare 310 setns 346 memfd_create 356 bpf 357
    """,
    "generic": """
        execve 221 execveat 281 clone 220 clone3 435 exit_group 94 connect 203 accept 202
        accept4 242 bind 200 sendto 206 sendmsg 211 openat 56 openat2 437 open_by_handle_at 265
        truncate 45 ftruncate 46 unlinkat 35 renameat 38 renameat2 276 linkat 37 symlinkat 36
        mkdirat 34 mknodat 33 ptrace 117 process_vm_writev 271 init_module 105 finit_module 273
        socket 198 listen 201 sysinfo 179 syslog 116 setuid 146 personality 92 mount 40
        fchmodat 53 unshare 97 setns 268 memfd_create 279 bpf 280
    """,
    "arm": """
        execve 11 execveat 387 clone 120 clone3 435 fork 2 vfork 190 exit_group 248 connect 283
        accept 285 accept4 366 bind 282 sendto 290 sendmsg 296 open 5 openat 322 openat2 437
        open_by_handle_at 371 creat 8 truncate 92 truncate64 193 ftruncate 93 ftruncate64 194
        unlink 10 unlinkat 328 rmdir 40 rename 38 renameat 329 renameat2 382 link 9 linkat 330
        symlink 83 symlinkat 331 mkdir 39 mkdirat 323 mknod 14 mknodat 324 ptrace 26
        process_vm_writev 377 init_module 128 finit_module 379 socket 281 listen 284 chmod 15
        chown 182 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21 fchmodat 333
        unshare 337 setns 375 memfd_create 385 bpf 386
    """,
    "mips": """
        execve 4011 execveat 4356 clone 4120 clone3 4435 fork 4002 exit_group 4246
        socketcall 4102 connect 4170 accept 4168 accept4 4334 bind 4169 sendto 4180 sendmsg 4179
        open 4005 openat 4288 openat2 4437 open_by_handle_at 4340 creat 4008 truncate 4092
        truncate64 4211 ftruncate 4093 ftruncate64 4212 unlink 4010 unlinkat 4294 rmdir 4040
        rename 4038 renameat 4295 renameat2 4351 link 4009 linkat 4296 symlink 4083
        symlinkat 4297 mkdir 4039 mkdirat 4289 mknod 4014 mknodat 4290 ptrace 4026
        process_vm_writev 4346 init_module 4128 finit_module 4348 socket 4183 listen 4174
        chmod 4015 chown 4202 sysinfo 4116 syslog 4103 setuid 4023 personality 4136 mount 4021
        fchmodat 4299 unshare 4303 setns 4344 memfd_create 4354 bpf 4355
    """,
    "mips64": """
        execve 5057 execveat 5316 clone 5055 clone3 5435 fork 5056 exit_group 5205 connect 5041
        accept 5042 accept4 5293 bind 5048 sendto 5043 sendmsg 5045 open 5002 openat 5247
        openat2 5437 open_by_handle_at 5299 creat 5083 truncate 5074 ftruncate 5075 unlink 5085
        unlinkat 5253 rmdir 5082 rename 5080 renameat 5254 renameat2 5311 link 5084 linkat 5255
        symlink 5086 symlinkat 5256 mkdir 5081 mkdirat 5248 mknod 5131 mknodat 5249 ptrace 5099
        process_vm_writev 5305 init_module 5168 finit_module 5307 socket 5040 listen 5049
        chmod 5088 chown 5090 sysinfo 5097 syslog 5101 setuid 5103 personality 5132 mount 5160
        fchmodat 5258 unshare 5262 setns 5303 memfd_create 5314 bpf 5315
    """,
    "mips64n32": """
        execve 6057 execveat 6320 clone 6055 clone3 6435 fork 6056 exit_group 6205 connect 6041
        accept 6042 accept4 6297 bind 6048 sendto 6043 sendmsg 6045 open 6002 openat 6251
        openat2 6437 open_by_handle_at 6304 creat 6083 truncate 6074 ftruncate 6075 unlink 6085
        unlinkat 6257 rmdir 6082 rename 6080 renameat 6258 renameat2 6315 link 6084 linkat 6259
        symlink 6086 symlinkat 6260 mkdir 6081 mkdirat 6252 mknod 6131 mknodat 6253 ptrace 6099
        process_vm_writev 6310 init_module 6168 finit_module 6312 socket 6040 listen 6049
        chmod 6088 chown 6090 sysinfo 6097 syslog 6101 setuid 6103 personality 6132 mount 6160
        fchmodat 6262 unshare 6266 setns 6308 memfd_create 6318 bpf 6319
    """,
    "parisc": """
        execve 11 execveat 342 clone 120 clone3 435 fork 2 vfork 113 exit_group 222 connect 31
        accept 35 accept4 320 bind 22 sendto 82 sendmsg 183 open 5 openat 275 openat2 437
        open_by_handle_at 326 creat 8 truncate 92 truncate64 199 ftruncate 93 ftruncate64 200
        unlink 10 unlinkat 281 rmdir 40 rename 38 renameat 282 renameat2 337 link 9 linkat 283
        symlink 83 symlinkat 284 mkdir 39 mkdirat 276 mknod 14 mknodat 277 ptrace 26
        process_vm_writev 331 init_module 128 finit_module 333 socket 17 listen 32 chmod 15
        chown 180 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21 fchmodat 286
        unshare 288 setns 328 memfd_create 340 bpf 341
    """,
    "alpha": """
        execve 59 execveat 513 clone 312 fork 2 vfork 66 exit_group 405 connect 98 accept 99
        accept4 502 bind 104 sendto 133 sendmsg 114 open 45 openat 450 openat2 547
        open_by_handle_at 498 truncate 129 ftruncate 130 unlink 10 unlinkat 456 rmdir 137
        rename 128 renameat 457 renameat2 510 link 9 linkat 458 symlink 57 symlinkat 459
        mkdir 136 mkdirat 451 mknod 14 mknodat 452 ptrace 26 process_vm_writev 505
        init_module 307 finit_module 507 socket 97 listen 106 chmod 15 chown 16 sysinfo 318
        syslog 310 setuid 23 personality 324 mount 302 fchmodat 461 unshare 465 setns 501
        memfd_create 512 bpf 515
    """,
    "ia64": """
        execve 1033 execveat 1342 clone 1128 clone2 1213 exit_group 1236 connect 1192
        accept 1194 accept4 1334 bind 1191 sendto 1199 sendmsg 1205 open 1028 openat 1281
        openat2 1461 open_by_handle_at 1327 creat 1030 truncate 1097 ftruncate 1098 unlink 1032
        unlinkat 1287 rmdir 1056 rename 1054 renameat 1288 renameat2 1338 link 1031 linkat 1289
        symlink 1091 symlinkat 1290 mkdir 1055 mkdirat 1282 mknod 1037 mknodat 1283 ptrace 1048
        process_vm_writev 1333 init_module 1133 finit_module 1335 socket 1190 listen 1193
        chmod 1038 chown 1039 sysinfo 1127 syslog 1117 setuid 1045 personality 1140 mount 1043
        fchmodat 1292 unshare 1296 setns 1330 memfd_create 1340 bpf 1341
    """,
    "m68k": """
        execve 11 execveat 355 clone 120 clone3 435 fork 2 vfork 190 exit_group 247
        socketcall 102 connect 359 accept4 361 bind 358 sendto 366 sendmsg 367 open 5 openat 288
        openat2 437 open_by_handle_at 341 creat 8 truncate 92 truncate64 193 ftruncate 93
        ftruncate64 194 unlink 10 unlinkat 294 rmdir 40 rename 38 renameat 295 renameat2 351
        link 9 linkat 296 symlink 83 symlinkat 297 mkdir 39 mkdirat 289 mknod 14 mknodat 290
        ptrace 26 process_vm_writev 346 init_module 128 finit_module 348 socket 356 listen 360
        chmod 15 chown 16 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21 fchmodat 299
        unshare 303 setns 344 memfd_create 353 bpf 354
    """,
    "sh": """
        execve 11 execveat 376 clone 120 fork 2 vfork 190 exit_group 252 socketcall 102
        connect 342 accept 344 accept4 358 bind 341 sendto 349 sendmsg 355 open 5 openat 295
        openat2 437 open_by_handle_at 360 creat 8 truncate 92 truncate64 193 ftruncate 93
        ftruncate64 194 unlink 10 unlinkat 301 rmdir 40 rename 38 renameat 302 renameat2 371
        link 9 linkat 303 symlink 83 symlinkat 304 mkdir 39 mkdirat 296 mknod 14 mknodat 297
        ptrace 26 process_vm_writev 366 init_module 128 finit_module 368 socket 340 listen 343
        chmod 15 chown 182 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21
        fchmodat 306 unshare 310 setns 364 memfd_create 374 bpf 375
    """,
    "microblaze": """
        execve 11 execveat 388 clone 120 clone3 435 fork 2 vfork 190 exit_group 252
        socketcall 102 connect 350 accept 349 accept4 362 bind 347 sendto 353 sendmsg 360 open 5
        openat 295 openat2 437 open_by_handle_at 372 creat 8 truncate 92 truncate64 193
        ftruncate 93 ftruncate64 194 unlink 10 unlinkat 301 rmdir 40 rename 38 renameat 302
        renameat2 383 link 9 linkat 303 symlink 83 symlinkat 304 mkdir 39 mkdirat 296 mknod 14
        mknodat 297 ptrace 26 process_vm_writev 378 init_module 128 finit_module 380 socket 345
        listen 348 chmod 15 chown 182 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21
        fchmodat 306 unshare 310 setns 375 memfd_create 386 bpf 387
    """,
    "ppc": """
        execve 11 execveat 362 clone 120 clone3 435 fork 2 vfork 189 exit_group 234
        socketcall 102 connect 328 accept 330 accept4 344 bind 327 sendto 335 sendmsg 341 open 5
        openat 286 openat2 437 open_by_handle_at 346 creat 8 truncate 92 truncate64 193
        ftruncate 93 ftruncate64 194 unlink 10 unlinkat 292 rmdir 40 rename 38 renameat 293
        renameat2 357 link 9 linkat 294 symlink 83 symlinkat 295 mkdir 39 mkdirat 287 mknod 14
        mknodat 288 ptrace 26 process_vm_writev 352 init_module 128 finit_module 353 socket 326
        listen 329 chmod 15 chown 181 sysinfo 116 syslog 103 setuid 23 personality 136 mount 21
        fchmodat 297 unshare 282 setns 350 memfd_create 360 bpf 361
    """,
    "sparc": """
        execve 59 execveat 350 clone 217 fork 2 vfork 66 exit_group 188 socketcall 206
        connect 98 accept 99 accept4 323 bind 353 sendto 133 sendmsg 114 open 5 openat 284
        openat2 437 open_by_handle_at 333 creat 8 truncate 129 truncate64 77 ftruncate 130
        ftruncate64 84 unlink 10 unlinkat 290 rmdir 137 rename 128 renameat 291 renameat2 345
        link 9 linkat 292 symlink 57 symlinkat 293 mkdir 136 mkdirat 285 mknod 14 mknodat 286
        ptrace 26 process_vm_writev 339 init_module 190 finit_module 342 socket 97 listen 354
        chmod 15 chown 13 sysinfo 214 syslog 207 setuid 23 personality 191 mount 167
        fchmodat 295 unshare 299 setns 337 memfd_create 348 bpf 349
    """,
    "s390": """
        execve 11 execveat 354 clone 120 clone3 435 fork 2 vfork 190 exit_group 248
        socketcall 102 connect 362 accept4 364 bind 361 sendto 369 sendmsg 370 open 5 openat 288
        openat2 437 open_by_handle_at 336 creat 8 truncate 92 truncate64 193 ftruncate 93
        ftruncate64 194 unlink 10 unlinkat 294 rmdir 40 rename 38 renameat 295 renameat2 347
        link 9 linkat 296 symlink 83 symlinkat 297 mkdir 39 mkdirat 289 mknod 14 mknodat 290
        ptrace 26 process_vm_writev 341 init_module 128 finit_module 344 socket 359 listen 363
        chmod 15 chown 182 chown 212 sysinfo 116 syslog 103 setuid 23 setuid 213 personality 136
        mount 21 fchmodat 299 unshare 303 setns 339 memfd_create 350 bpf 351
    """,
}
"""Names and numbers by table. `generic` is the table of all architectures since aarch64. A table
includes calls that exist only in the 32-bit or the 64-bit variant of an architecture: the other
variant does not use their numbers."""


def _by_number(written: str) -> dict[int, str]:
    words = written.split()
    return {int(number): name for name, number in zip(words[::2], words[1::2], strict=True)}


_TABLES: Final = {name: _by_number(written) for name, written in _NUMBERS_WRITTEN.items()}

_TABLE_OF: Final[dict[str, str]] = {
    # Maps the name written by `uname -m` and ausearch to a table.
    "x86_64": "x86_64",
    "x32": "x86_64",
    "b64": "x86_64",
    "i386": "i386",
    "i686": "i386",
    "aarch64": "generic",
    "arm64": "generic",
    "riscv64": "generic",
    "riscv32": "generic",
    "loongarch64": "generic",
    "loongarch32": "generic",
    "arc": "generic",
    "csky": "generic",
    "nios2": "generic",
    "openrisc": "generic",
    "arm": "arm",
    "armeb": "arm",
    "armv7l": "arm",
    "ppc": "ppc",
    "ppc64": "ppc",
    "ppc64le": "ppc",
    "s390": "s390",
    "s390x": "s390",
    "mips": "mips",
    "mipsel": "mips",
    "mips64": "mips64",
    "mipsel64": "mips64",
    "mips64n32": "mips64n32",
    "mipsel64n32": "mips64n32",
    "sparc": "sparc",
    "sparc64": "sparc",
    "parisc": "parisc",
    "parisc64": "parisc",
    "alpha": "alpha",
    "ia64": "ia64",
    "m68k": "m68k",
    "sh": "sh",
    "shel": "sh",
    "microblaze": "microblaze",
}

_NAME_OF: Final[dict[int, str]] = {
    0xC000003E: "x86_64",
    0x40000003: "i386",
    0xC00000B7: "aarch64",
    0x40000028: "arm",
    0x00000028: "armeb",
    0xC00000F3: "riscv64",
    0x400000F3: "riscv32",
    0x00000014: "ppc",
    0x80000015: "ppc64",
    0xC0000015: "ppc64le",
    0x00000016: "s390",
    0x80000016: "s390x",
    0xC0000102: "loongarch64",
    0x40000102: "loongarch32",
    0x00000008: "mips",
    0x40000008: "mipsel",
    0x80000008: "mips64",
    0xC0000008: "mipsel64",
    0xA0000008: "mips64n32",
    0xE0000008: "mipsel64n32",
    0x00000002: "sparc",
    0x8000002B: "sparc64",
    0x0000000F: "parisc",
    0x8000000F: "parisc64",
    0xC0009026: "alpha",
    0xC0000032: "ia64",
    0x00000004: "m68k",
    0x0000002A: "sh",
    0x4000002A: "shel",
    0x4000005D: "arc",
    0x0000005D: "arc",
    0x400000C3: "arc",
    0x000000C3: "arc",
    0x400000FC: "csky",
    0x40000071: "nios2",
    0x0000005C: "openrisc",
    0x000000BD: "microblaze",
    0x400000BD: "microblaze",
}
"""Architecture names by AUDIT_ARCH_* value."""

_SOCKET_CALLS: Final = {
    1: "socket",
    2: "bind",
    3: "connect",
    4: "listen",
    5: "accept",
    11: "sendto",
    16: "sendmsg",
    18: "accept4",
}
"""Calls that `socketcall` executes, by its first argument (linux/net.h)."""


def architecture(arch: str) -> str:
    """Returns the architecture for the `arch` of an audit record: hexadecimal, or a name if
    ausearch interpreted it. "" if unknown."""
    text = arch.lower()
    if text in _TABLE_OF:
        return text
    try:
        return _NAME_OF.get(int(text[:18], 16), "")
    except ValueError:
        return ""


def call_name(number: str, arch: str) -> str:
    """Returns the name of a system call by its number and the `arch` of its record; "" if either is
    unknown."""
    table = _TABLES.get(_TABLE_OF.get(architecture(arch), ""))
    if table is None or not (number.isascii() and number.isdecimal()):
        return ""
    value = int(number[:18])
    if value & _X32_BIT and table is _TABLES["x86_64"]:
        value ^= _X32_BIT
    return table.get(value, "")


def call_of(written: str, arch: str, first_argument: int, *, has_execve: bool) -> str:
    """Returns the name of the call of an audit event; "" if unknown.

    `written` is the number of the call, or its name if the sender looked it up. A `socketcall` is
    resolved by its first argument. The kernel writes an EXECVE record only for a started program,
    so an event with that record is an exec whatever the number.
    """
    is_number = written.isdecimal()
    if has_execve and (is_number or written.startswith("unknown")):
        name = call_name(written, arch)
        return name if name == "execveat" else "execve"
    name = call_name(written, arch) if is_number else written
    if name == "socketcall":
        return _SOCKET_CALLS.get(first_argument, name)
    return name


def hexadecimal(text: str) -> int:
    """Parses a call argument as audit records write it; 0 if it is not a number."""
    try:
        return int(text, 16)
    except ValueError:
        return 0
