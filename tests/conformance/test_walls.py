"""What a cell cannot do. Each attempt is made, in Python and by raw system call, and must be refused."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.backends import Desk, Place

X86 = os.uname().machine == "x86_64"
PRELUDE = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
    return result
def attempt(act):
    try:
        return f'ALLOWED: {act()!r}'
    except (NameError, AttributeError, TypeError):
        raise  # the attempt itself is wrong, and proves nothing
    except Exception:
        return 'refused'
"""


@dataclass
class Outside:
    """What lies beyond the walls: a file anybody may write, its folder, and a process of the host's user."""

    file: Path
    folder: Path
    pid: int


@pytest.fixture
def outside(place: Place) -> Iterator[Outside]:
    folder = place.folder()
    folder.chmod(0o777)
    file = folder / "victim"
    file.write_text("secret")
    file.chmod(0o666)
    os.chown(file, place.owner, -1)
    user = place.owner if os.geteuid() == 0 else None
    process = subprocess.Popen(["sleep", "300"], user=user, env={"SECRET": "hunter2"})
    yield Outside(file, folder, process.pid)
    assert process.poll() is None, "a cell ended a process outside"
    assert file.read_text() == "secret"
    assert file.stat().st_mode & 0o7777 == 0o666
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def inmate(place: Place) -> Iterator[Desk]:
    """One session for every attempt: what is refused leaves nothing behind."""
    with place.session() as desk:
        desk.run(PRELUDE)
        yield desk


def refused(desk: Desk, expression: str) -> None:
    """The expression, tried in a cell, must raise."""
    result = desk.run(f"print(attempt(lambda: {expression}))", timeout_s=30, checkpoint="off")
    text = result.text("stdout").strip()
    assert text == "refused", (expression, text, result.detail)


NETWORK = {
    "tcp": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "ipv6": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
    "unix": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "unix datagrams, with addresses": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "vsock": "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "packet": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "bluetooth": "socket.socket(31, socket.SOCK_STREAM)",
    "dns": "socket.getaddrinfo('localhost.example', 80)",
    "connect": "socket.create_connection(('127.0.0.1', 9), 1)",
    "raw tcp": "call(41 if os.uname().machine == 'x86_64' else 198, 2, 1, 0)",
    "a program's": "__import__('subprocess').run(['python3', '-c', 'import socket; socket.socket()'], check=True)",
}
KERNEL = {
    "user namespace": "call(272, 0x10000000)",
    "mount namespace": "call(272, 0x20000)",
    "namespace by clone": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "clone3": "call(435, 0, 0)",
    "mount": "call(165, b'none', b'.', b'tmpfs', 0, None)",
    "open_tree": "call(428, -100, b'/', 0)",
    "fsopen": "call(430, b'tmpfs', 0)",
    "pivot_root": "call(155, b'.', b'.')",
    "chroot": "os.chroot('.')",
    "io_uring": "call(425, 8, ctypes.create_string_buffer(120))",
    "bpf": "call(321, 0, ctypes.create_string_buffer(120), 120)",
    "keyctl": "call(250, 0, -3, 1)",
    "add_key": "call(248, b'user', b'x', b'y', 1, -3)",
    "perf_event_open": "call(298, ctypes.create_string_buffer(120), 0, -1, -1, 0)",
    "userfaultfd": "call(323, 0)",
    "ptrace": "call(101, 0, 0, 0, 0)",
    "process_vm_readv": "call(310, os.getppid(), 0, 0, 0, 0, 0)",
    "open_by_handle_at": "call(304, -100, ctypes.create_string_buffer(120), 0)",
    "memfd_create": "os.memfd_create('x')",
    "shared memory of System V": "call(29, 1234, 4096, 0o1666)",
    "message queue of System V": "call(68, 1234, 0o1666)",
    "semaphore of System V": "call(64, 1234, 1, 0o1666)",
    "POSIX message queue": "call(240, b'x', 0o102, 0o666, 0)",
    "shared memory of POSIX": "__import__('multiprocessing.shared_memory').shared_memory.SharedMemory('x', True, 99)",
    "device node": "os.mknod('dev', 0o060600, os.makedev(8, 0))",
    "fifo": "os.mkfifo('fifo')",
    "become root": "os.setuid(0)",
    "become another": "os.setresuid(1, 1, 1)",
    "other groups": "os.setgroups([0])",
    "setuid file": "(open('s', 'w').close(), os.chmod('s', 0o4755))",
    "setgid file": "(open('s', 'w').close(), os.chmod('s', 0o2755))",
    "setuid file at birth": "os.open('born', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "nameless setuid file": "os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "nice": "os.nice(-5)",
    "realtime": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "host name": "call(170, b'x', 1)",
    "reboot": "call(169, 0, 0, 0, None)",
    "quotactl": "call(179, 0, None, 0, None)",
    "fanotify": "call(300, 0, 0)",
    "a number nobody knows": "call(1023, 0)",
    "sudo": "__import__('subprocess').run(['su', '-c', 'true'], check=True)",
}
FILES = {
    "read": "open(FILE).read()",
    "write": "open(FILE, 'a')",
    "make beside": "open(FILE + '.new', 'w')",
    "remove": "os.remove(FILE)",
    "rename away": "os.rename(FILE, 'mine')",
    "rename onto": "(open('m', 'w').close(), os.rename('m', FILE))",
    "link": "os.link(FILE, 'mine')",
    "list": "os.listdir(os.path.dirname(FILE))",
    "through a link": "(os.path.lexists('l') or os.symlink(FILE, 'l'), open('l').read())",
    "truncate": "os.truncate(FILE, 0)",
    "truncate by number": "call(76, FILE.encode(), 0)",
    "chmod": "os.chmod(FILE, 0o600)",
    "chmod by number": "call(90, FILE.encode(), 0o600)",
    "fchmodat by number": "call(268, -100, FILE.encode(), 0o600)",
    "fchmodat2 by number": "call(452, -100, FILE.encode(), 0o600, 0)",
    "chown": "os.chown(FILE, os.getuid(), os.getgid())",
    "chown by number": "call(92, FILE.encode(), 12345, 12345)",
    "utime": "os.utime(FILE)",
    "utime to a time": "os.utime(FILE, (1, 1))",
    "utimensat by number": "call(280, -100, FILE.encode(), None, 0)",
    "utime by number": "call(132, FILE.encode(), None)",
    "xattr": "os.setxattr(FILE, 'user.x', b'y')",
    "xattr by number": "call(188, FILE.encode(), b'user.x', b'y', 1, 0)",
    "setxattrat by number": "call(463, -100, FILE.encode(), 0, b'user.x', None, 0)",
    "/etc/passwd": "open('/etc/passwd').read()",
    "/etc/shadow": "open('/etc/shadow').read()",
    "home": "os.listdir('/root') + os.listdir('/home')",
    "/tmp": "os.listdir('/tmp')",
    "/proc": "os.listdir('/proc')",
    "own environment": "open('/proc/self/environ').read()",
    "own memory": "open('/proc/self/mem', 'rb')",
    "core_pattern": "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "sysrq": "os.open('/proc/sysrq-trigger', os.O_WRONLY)",
    "uevent_helper": "os.open('/sys/kernel/uevent_helper', os.O_WRONLY)",
    "cgroup": "os.listdir('/sys/fs/cgroup')",
    "a disk": "os.open('/dev/vda', os.O_RDONLY)",
    "kernel memory": "os.open('/dev/mem', os.O_RDONLY)",
    "a terminal": "os.open('/dev/ptmx', os.O_RDWR)",
    "/dev/shm": "open('/dev/shm/x', 'w')",
    "the environment's own code": "open(__import__('pandas').__file__, 'a')",
    "a module beside it": "open(os.path.join(os.path.dirname(__import__('pandas').__file__), 'x.py'), 'w')",
    "mode of the environment's code": "os.chmod(__import__('pandas').__file__, 0o666)",
}
PROCESSES = {
    "signal": "os.kill(PID, 0)",
    "kill": "os.kill(PID, 9)",
    "signal by thread": "call(200, PID, 0)",
    "environment": "open(f'/proc/{PID}/environ').read()",
    "memory": "open(f'/proc/{PID}/mem', 'rb')",
    "command line": "open(f'/proc/{PID}/cmdline').read()",
    "priority": "os.setpriority(os.PRIO_PROCESS, PID, 5)",
    "limits": "__import__('resource').prlimit(PID, 7, (10, 10))",
    "affinity": "os.sched_setaffinity(PID, {0})",
    "scheduler": "os.sched_setscheduler(PID, os.SCHED_BATCH, os.sched_param(0))",
    "pidfd": "os.pidfd_open(PID)",
    "io priority": "call(251, 1, PID, 0)",
    "ptrace": "call(101, 16, PID, 0, 0)",
}


@pytest.mark.parametrize("expression", NETWORK.values(), ids=NETWORK.keys())
def test_no_network_of_any_kind(inmate: Desk, expression: str) -> None:
    """Neither a socket nor a program of the cell's reaches anything."""
    refused(inmate, expression)


@pytest.mark.skipif(not X86, reason="raw numbers are those of x86_64")
@pytest.mark.parametrize("expression", KERNEL.values(), ids=KERNEL.keys())
def test_the_kernel_is_out_of_reach(inmate: Desk, expression: str) -> None:
    """Namespaces, mounts, keys, bpf, io_uring, shared memory, devices and other users are refused."""
    refused(inmate, expression)


@pytest.mark.skipif(not X86, reason="raw numbers are those of x86_64")
@pytest.mark.parametrize("expression", FILES.values(), ids=FILES.keys())
def test_no_file_outside_can_be_touched(inmate: Desk, outside: Outside, expression: str) -> None:
    """Nothing outside can be read, written, listed, renamed or given another mode, owner, time or attribute."""
    before = outside.file.stat()
    refused(inmate, expression.replace("FILE", repr(str(outside.file))))
    after = outside.file.stat()
    assert (before.st_mode, before.st_uid, before.st_mtime_ns, before.st_size, before.st_nlink) == (
        after.st_mode,
        after.st_uid,
        after.st_mtime_ns,
        after.st_size,
        after.st_nlink,
    )
    assert [path.name for path in outside.folder.iterdir()] == ["victim"]


@pytest.mark.skipif(not X86, reason="raw numbers are those of x86_64")
@pytest.mark.parametrize("expression", PROCESSES.values(), ids=PROCESSES.keys())
def test_no_process_outside_can_be_touched(inmate: Desk, outside: Outside, expression: str) -> None:
    """Processes of the host's user can be neither signalled, slowed, limited, read nor traced."""
    refused(inmate, expression.replace("PID", str(outside.pid)))


def test_a_cell_is_never_root_and_can_gain_nothing(desk: Desk) -> None:
    """Real, effective and saved user are an ordinary one; there are no capabilities and no new privileges."""
    desk.run(PRELUDE)
    assert "0" not in desk.value("' '.join(map(str, os.getresuid() + os.getresgid()))").strip("'").split()
    assert desk.value("libc.prctl(39, 0, 0, 0, 0)") == "1"
    capabilities = "b = ctypes.create_string_buffer(24); libc.capget(ctypes.c_char_p(bytes([0x22, 5, 8, 0x20]) + bytes(4)), b); b.raw == bytes(24)"
    assert desk.value(capabilities) == "True"


def test_the_environment_is_empty_of_ours(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the host's or the caller's reaches a cell, nor what a cell starts."""
    monkeypatch.setenv("TAVILY_API_KEY", "hunter2")
    text = desk.run("import os, subprocess; print(dict(os.environ)); subprocess.run(['env'])").text("stdout")
    assert "hunter2" not in text
    assert "PARTNER" not in text


def test_no_descriptor_is_shared_between_sessions(place: Place) -> None:
    """What is open in one session is open in no other: nothing of the zygote's is left, and each has its own."""
    code = (
        "import os, stat\nfound = []\nfor fd in range(3, 512):\n    try:\n        s = os.fstat(fd)\n    except OSError:\n        continue\n"
        "    found.append((fd, stat.S_IFMT(s.st_mode), s.st_ino))\nfound"
    )
    with place.session() as one, place.session() as other:
        first, second = (eval(desk.value(code, checkpoint="off")) for desk in (one, other))  # noqa: S307  (our own cell)
    inodes = [{inode for _, kind, inode in found if kind != 0o020000} for found in (first, second)]  # but /dev/null
    assert inodes[0].isdisjoint(inodes[1])
    assert len(first) <= 4


def test_descriptors_sent_to_the_host_go_nowhere(desk: Desk) -> None:
    """A cell cannot send open files along the kernel's socket."""
    desk.run(PRELUDE)
    refused(desk, "socket.send_fds(socket.socket(fileno=os.dup(3)), [b'x'], [0])")


def test_sessions_do_not_see_each_other(place: Place) -> None:
    """One session can neither read another's files, nor signal its processes, nor share memory with it."""
    with place.session() as one, place.session() as other:
        one.run("open('secret.txt', 'w').write('mine')")
        other.run(PRELUDE)
        refused(other, f"open({str(one.work / 'secret.txt')!r}).read()")
        refused(other, f"os.listdir({str(one.work)!r})")
        refused(other, f"open({str(one.work / 'new')!r}, 'w')")


def test_a_session_cannot_kill_another(place: Place) -> None:
    """Killing everything it can kill, a cell kills only what is its own."""
    with place.session() as one, place.session() as other:
        one.run("x = 41")
        other.run("import os, signal; os.kill(-1, signal.SIGKILL)", timeout_s=20)
        assert one.value("x") == "41"
        assert other.value("1") == "1"


def test_setuid_programs_give_nothing(desk: Desk) -> None:
    """A setuid program runs as the cell's user, if at all."""
    code = "import subprocess; print(subprocess.run(['su', '-c', 'id -u'], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)"
    assert "0" not in desk.run(code).text("stdout").split()


FORGERIES = {
    "garbage": "b'.not json'",
    "an answer": 'b\'.\' + b\'{"frame":"done","id":%d,"ok":true}\' % N',
    "an early answer": 'b\'.{"frame":"done","id":999,"ok":true}\'',
    "a list": "b'.[1]'",
    "an unknown frame": 'b\'.{"frame":"open the door"}\'',
    "a copy": 'b\'.{"frame":"copy","pid":1}\'',
    "half a frame": "b'+{\"frame\":'",
    "an output of the wrong kind": 'b\'.{"frame":"output","output":7}\'',
    "deep nesting": "b'.' + b'[' * 50000",
}


@pytest.mark.parametrize("frame", FORGERIES.values(), ids=FORGERIES.keys())
@pytest.mark.parametrize("who", ["the kernel", "a fork"])
def test_forged_frames_do_no_harm(desk: Desk, frame: str, who: str) -> None:
    """Whatever a cell writes to the kernel's own socket, the host stays up and the next cell runs."""
    desk.run("x = 41")
    send = (
        "import os, stat\nN = 2\nfor fd in range(3, 64):\n    try:\n        if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
        f"            import socket; s = socket.socket(fileno=os.dup(fd)); s.send({frame})\n    except OSError:\n        pass\n"
    )
    if who == "a fork":
        send = (
            "import os\nif os.fork() == 0:\n"
            + "".join(f"    {line}\n" for line in send.splitlines())
            + "    os._exit(0)\nos.wait()"
        )
    desk.run(send, timeout_s=20, checkpoint="off")
    desk.run("pass", timeout_s=20)
    desk.run("x = 41")
    assert desk.value("x") == "41"


def test_a_flood_of_frames_is_survived(desk: Desk) -> None:
    """Ten thousand displays neither fill the host nor stop it."""
    result = desk.run("for n in range(10_000):\n    display(n)", timeout_s=60)
    assert result.ok
    assert desk.value("1") == "1"


def test_modules_left_in_the_work_directory_do_not_shadow_ours(desk: Desk) -> None:
    """A file named like a library is not imported in its place."""
    desk.run("open('csv.py', 'w').write('raise SystemExit'); open('wave.py', 'w').write('raise SystemExit')")
    assert desk.run("import csv, wave").ok


def test_the_kernels_own_machinery_can_be_broken_only_for_oneself(desk: Desk) -> None:
    """A cell that breaks what its kernel relies on breaks its own session at worst, and the session recovers."""
    desk.run("import os, json, signal\nos.getpid = lambda: 1\njson.dumps = None\nsignal.signal = None", timeout_s=20)
    desk.run("pass", timeout_s=20)
    desk.session.reset()
    assert desk.value("1 + 1") == "2"
