"""What a worker does to itself before it reads a program: the operating system's layers.

Each layer is one function that takes hold or says why it cannot; none depends on another, and a
machine without one still has the rest. The order matters: what needs privileges comes first, the
filter that refuses further changes comes last. Linux has them all; elsewhere the resource limits
and the audit hook remain, and `Layer.held` says so. Nothing here knows Python's language: that is
`policy`. Nothing here can be taken back by the process that called it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from meta_tui.sandbox import syscalls

LINUX: Final = sys.platform == "linux"
ARCHITECTURE: Final = os.uname().machine.lower() if hasattr(os, "uname") else ""
MACHINE: Final = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}.get(ARCHITECTURE)

FILE_BYTES: Final = 1 << 20
OPEN_FILES: Final = 32
STACK_BYTES: Final = 96 << 20
"""Deep recursion through C needs a stack; Linux leaves room for more than this below the libraries."""


class Layer(NamedTuple):
    """One layer: its name, whether it took hold, and a word about how or why not."""

    name: str
    held: bool
    detail: str = ""


class Unavailable(OSError):
    """This machine does not have the layer; the message says what is missing."""


def lock(without: Collection[str] = ()) -> list[Layer]:
    """Apply every layer but those named in `without`; what fails is reported, never raised."""
    return [_apply(name, layer, without) for name, layer in LAYERS.items()]


def limit(seconds: float, memory: int, used: int) -> None:
    """Bound CPU time (seconds from now on) and address space (bytes beyond those `used` already)."""
    import resource

    past = resource.getrusage(resource.RUSAGE_SELF)
    cpu = int(past.ru_utime + past.ru_stime + seconds) + 2
    for which, value in ((resource.RLIMIT_CPU, cpu), (resource.RLIMIT_AS, memory + used)):
        with contextlib.suppress(OSError, ValueError):  # some systems do not let these be set
            _bound(which, value)


def _apply(name: str, layer: Callable[[], str], without: Collection[str]) -> Layer:
    if name in without:
        return Layer(name, False, "switched off by a test flag")
    try:
        return Layer(name, True, layer())
    except (OSError, ValueError, ImportError, AttributeError) as error:
        return Layer(name, False, str(error))


# Resource limits


def _rlimits() -> str:
    import resource

    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_FSIZE, FILE_BYTES)
    _bound(resource.RLIMIT_NOFILE, OPEN_FILES)
    _bound(resource.RLIMIT_NPROC, 0)
    _bound(resource.RLIMIT_STACK, STACK_BYTES)
    return "CPU, memory, files, processes"


def _bound(which: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def address_space() -> int:
    """Bytes of address space in use, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib is slow to load
            pages = int(file.read().split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


# Privileges

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_NO_NEW_PRIVS: Final = 38
CAPABILITY_VERSION_3: Final = 0x20080522
LAST_CAPABILITY: Final = 63


def _no_new_privs() -> str:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    return "and dies with the app"


def _capabilities() -> str:
    for capability in range(LAST_CAPABILITY):
        if _libc().prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _syscall(_number(syscalls.CAPSET), header, bytes(24))
    return "none left"


CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000


def _network() -> str:
    if not LINUX:
        raise Unavailable("only Linux has network namespaces")
    if _libc().unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0:
        return "own namespace"
    if _libc().unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0:
        return "own namespace through a user namespace"
    raise OSError(ctypes.get_errno(), "this machine does not let users make namespaces")


# Landlock: files may be read below the interpreter's folders, nothing else

LANDLOCK_RULE_PATH_BENEATH: Final = 1
LANDLOCK_CREATE_RULESET_VERSION: Final = 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Landlock ABI -> how many file rights it knows; every one of them is handled, so refused."""
NET_RIGHTS: Final = 0b11
SCOPES: Final = 0b11


def _landlock() -> str:
    if not LINUX:
        raise Unavailable("only Linux has Landlock")
    version = _syscall(syscalls.LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    files = (1 << FILE_RIGHTS[min(version, 5)]) - 1
    attributes = struct.pack("=QQQ", files, NET_RIGHTS if version >= 4 else 0, SCOPES if version >= 6 else 0)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _syscall(syscalls.LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for folder in readable():
            _allow_reading(ruleset, folder)
        _syscall(syscalls.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return f"version {version}"


def _allow_reading(ruleset: int, path: str) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE  # noqa: PTH112
        rule = struct.pack("=Qi", rights, parent)
        _syscall(syscalls.LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(parent)


LIBRARIES: Final = ("site-packages", "dist-packages", "lib-dynload")
SYSTEM: Final = (
    "/usr/share/zoneinfo", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
    "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom",
)  # fmt: skip


def readable() -> list[str]:
    """Folders and files that a program's imports need: the library folders, no home, no secrets."""
    standard = os.path.dirname(os.__file__)  # noqa: PTH120
    libraries = [path for path in sys.path if path.rstrip(os.sep).endswith(LIBRARIES)]
    found = {os.path.realpath(path) for path in (standard, *libraries, *SYSTEM)}
    return sorted(path for path in found if os.path.exists(path))  # noqa: PTH110


# seccomp: a list of system calls that fail with EPERM

BPF_LOAD: Final = 0x20
BPF_EQUAL: Final = 0x15
BPF_GREATER: Final = 0x25
BPF_ANY_BIT: Final = 0x45
BPF_RETURN: Final = 0x06
SECCOMP_MODE_FILTER: Final = 2
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
EPERM: Final = 0x00050001
ENOSYS: Final = 0x00050026
AUDIT_ARCH: Final = (0xC000003E, 0xC00000B7)
NUMBER_AT: Final = 0
ARCHITECTURE_AT: Final = 4
ARGUMENTS_AT: Final = 16
SIGNALLING: Final = (8, 10, 15, 1024, 1026)
"""fcntl: who gets a signal for a descriptor, and which; leases and notes, which send one."""
OWNERS: Final = (0x8901, 0x8902)
"""ioctl: the same for a socket."""
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _seccomp() -> str:
    instructions = _filter()
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(instructions), ctypes.addressof(buffer))
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))
    return f"{len(syscalls.REFUSED)} calls refused"


def _filter() -> list[Instruction]:
    machine = _machine()
    program: list[Instruction] = [
        (BPF_LOAD, 0, 0, ARCHITECTURE_AT),
        (BPF_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (BPF_RETURN, 0, 0, KILL),
        (BPF_LOAD, 0, 0, NUMBER_AT),
        (BPF_GREATER, 0, 1, syscalls.LAST),
        (BPF_RETURN, 0, 0, ENOSYS),
    ]
    for absent in (syscalls.CLONE3, syscalls.OPENAT2):
        program += _if_number(absent[machine], [(BPF_RETURN, 0, 0, ENOSYS)])
    for numbers in (syscalls.CLONE, *syscalls.REFUSED.values()):
        program += _if_number(numbers[machine], [(BPF_RETURN, 0, 0, EPERM)])
    program += _if_number(syscalls.OPEN[machine], _unless_reading(1))
    program += _if_number(syscalls.OPENAT[machine], _unless_reading(2))
    program += _if_number(syscalls.PRLIMIT64[machine], _only_if_argument(0, 0))
    program += _if_number(syscalls.TGKILL[machine], _only_if_argument(0, os.getpid()))
    program += _if_number(syscalls.FCNTL[machine], _unless_argument(1, SIGNALLING))
    program += _if_number(syscalls.IOCTL[machine], _unless_argument(1, OWNERS))
    return [*program, (BPF_RETURN, 0, 0, ALLOW)]


def _if_number(number: int | None, then: list[Instruction]) -> list[Instruction]:
    return [] if number is None else [(BPF_EQUAL, 0, len(then), number), *then]


def _unless_reading(argument: int) -> list[Instruction]:
    return [
        (BPF_LOAD, 0, 0, ARGUMENTS_AT + 8 * argument),
        (BPF_ANY_BIT, 0, 1, WRITING),
        (BPF_RETURN, 0, 0, EPERM),
        (BPF_RETURN, 0, 0, ALLOW),
    ]


def _unless_argument(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [test for value in values for test in ((BPF_EQUAL, 0, 1, value), (BPF_RETURN, 0, 0, EPERM))]
    return [(BPF_LOAD, 0, 0, ARGUMENTS_AT + 8 * argument), *tests, (BPF_RETURN, 0, 0, ALLOW)]


def _only_if_argument(argument: int, value: int) -> list[Instruction]:
    return [
        (BPF_LOAD, 0, 0, ARGUMENTS_AT + 8 * argument),
        (BPF_EQUAL, 1, 0, value),
        (BPF_RETURN, 0, 0, EPERM),
        (BPF_RETURN, 0, 0, ALLOW),
    ]


# The audit hook: pure Python, on every platform, and it cannot be removed

REFUSED_EVENTS: Final = (
    "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "tempfile.", "urllib.", "ftplib.", "http.",
    "imaplib.", "nntplib.", "poplib.", "smtplib.", "telnetlib.", "webbrowser.", "fcntl.", "pty.", "mmap.",
    "resource.", "signal.", "syslog.", "sqlite3.", "msvcrt.", "winreg.", "_winapi.", "gc.", "pickle.",
    "_thread.", "sys.settrace", "sys.setprofile", "sys.addaudithook", "sys._current", "sys.remote_exec",
    "sys._setasync", "sys.monitoring", "cpython.run_", "glob.", "pdb.", "ensurepip.", "_posixsubprocess.",
)  # fmt: skip
LET_THROUGH: Final = frozenset({"os.putenv", "os.unsetenv", "resource.setrlimit"})
"""numpy sets a variable of its own process while it is imported; limits can only be lowered."""
FREQUENT_EVENTS: Final = frozenset({"compile", "exec", "import", "object.__getattr__", "sys._getframe"})
"""Harmless ones that programs cause thousands of times."""
READING_EVENTS: Final = frozenset({"os.listdir", "os.scandir"})


def _audit() -> str:
    sys.addaudithook(_hook(tuple(readable())))
    return "files, network, processes, memory"


def _hook(prefixes: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FREQUENT_EVENTS:
            return
        if event == "open":
            refuse = not _is_reading(arguments, prefixes)
        elif event in READING_EVENTS:
            refuse = not _is_below(arguments[0], prefixes)
        else:
            refuse = event.startswith(REFUSED_EVENTS) and event not in LET_THROUGH
        if refuse:
            raise PermissionError(f"the sandbox refuses {event}")

    return hook


def _is_reading(arguments: tuple[Any, ...], prefixes: tuple[str, ...]) -> bool:
    path, mode, flags = arguments
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return False
    if isinstance(flags, int) and flags & WRITING:
        return False
    return _is_below(path, prefixes)


def _is_below(path: Any, prefixes: tuple[str, ...]) -> bool:
    if type(path) is bytes:
        path = os.fsdecode(path)
    if type(path) is not str or not path:
        return False
    real = os.path.realpath(path)
    return any(real == prefix or real.startswith(prefix + os.sep) for prefix in prefixes)


# The machine


def _machine() -> int:
    if not LINUX or MACHINE is None:
        raise Unavailable(f"no system call table for {sys.platform} on {ARCHITECTURE}")
    return MACHINE


def _number(numbers: tuple[int, int]) -> int:
    return numbers[_machine()]


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(*arguments: int) -> None:
    if not LINUX:
        raise Unavailable("only Linux has prctl")
    values = [ctypes.c_ulong(value) for value in (*arguments, *(0,) * (5 - len(arguments)))]
    if _libc().prctl(ctypes.c_int(arguments[0]), *values[1:]) < 0:
        raise _last_error("prctl")


def _syscall(*arguments: Any) -> int:
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = _libc().syscall(*values)
    if result < 0:
        raise _last_error("syscall")
    return result


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


LAYERS: Final[dict[str, Callable[[], str]]] = {
    "rlimits": _rlimits,
    "network": _network,
    "no_new_privs": _no_new_privs,
    "capabilities": _capabilities,
    "landlock": _landlock,
    "seccomp": _seccomp,
    "audit": _audit,
}
"""Every layer by name, in the order in which they are applied."""
