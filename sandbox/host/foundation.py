"""What a host stands on, found out at its start by trying: which walls hold here, and who sessions may become."""

import atexit
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from sandbox.frames import Message, packet_pair, send_packets
from sandbox.host import processes
from sandbox.host.cgroup import Amounts, Hierarchies
from sandbox.host.crew import messages, output_pipe
from sandbox.host.folder import remove
from sandbox.host.refusal import Refusal
from sandbox.host.session import Ground, interpreter_folders
from sandbox.host.zygote_link import ZygoteDied, ZygoteLink
from sandbox.linux import MACHINES, is_known_machine
from sandbox.walls.plan import Machine, judge
from sandbox.walls.wall_in import Enclosure, Limits

_UIDS: Final = range(1_900_000_000, 1_900_100_000)
"""Used by nobody, as far as systemd's table of users goes."""
_FEW_UIDS: Final = range(60_706, 61_184)
"""The same, where only 65,536 users exist: in a container with a user namespace of its own."""
_ENOUGH: Final = 1 << 30
_ZYGOTE_DIED: Final = 70


def lay(configuration: Message) -> Ground:
    """Start the zygote, try the walls from inside, and refuse when a needed one does not hold."""
    if not is_known_machine():
        raise Refusal("NoSafeSandbox", f"this processor is none of {', '.join(MACHINES)}", "run it on one of those")
    name: str = configuration["name"]
    uids = _uids() if os.geteuid() == 0 else range(0)
    _sweep(name, uids)
    hierarchies = Hierarchies() if configuration["use_cgroups"] else Hierarchies(mounts=os.devnull)
    hierarchies.sweep(name)
    own = tempfile.mkdtemp(prefix=f"{name}-")
    atexit.register(remove, own)
    try:
        zygote = ZygoteLink(own, on_death=lambda: _end(own))
    except ZygoteDied as died:
        raise Refusal("SandboxFailed", f"the sandbox's libraries did not load: {died}", "run `make install`") from died
    offered = min(zygote.ready["landlock_abi"], configuration["landlock_abi_max"])
    ground = Ground(
        zygote=zygote,
        hierarchies=hierarchies,
        name=name,
        environment=configuration["environment"],
        landlock_abi=offered,
        use_namespaces=configuration["use_namespaces"],
        namespaces_refused="" if configuration["use_namespaces"] else "switched off by a setting",
        uids=uids,
        walls={},
        memory_by=_memory_by(hierarchies, name),
    )
    return _with_walls(ground, own)


def _end(own: str) -> None:
    """Without a zygote there is no host: every session's keeper notices, and the next client starts anew."""
    remove(own)
    os._exit(_ZYGOTE_DIED)


def _with_walls(ground: Ground, own: str) -> Ground:
    """The same ground, knowing what holds on it."""
    if not ground.zygote.ready["seccomp"]:
        _refuse(ground, judge(Machine(ground.landlock_abi, False, False, bool(ground.uids))).missing)
    if ground.landlock_abi == 0:
        _refuse(ground, judge(Machine(0, False, True, bool(ground.uids))).missing)
    if ground.use_namespaces:
        said = try_walls(ground, own)
        if said.get("missing") == "namespaces":
            ground = ground.changed(use_namespaces=False, namespaces_refused=said["reason"])
        elif said.get("missing"):
            raise Refusal("NoSafeSandbox", f"the wall '{said['missing']}' cannot be put up: {said['reason']}", "")
    walls = judge(Machine(ground.landlock_abi, ground.use_namespaces, True, bool(ground.uids)))
    if walls.missing:
        _refuse(ground, walls.missing)
    said = try_walls(ground, own)
    if "missing" in said:
        raise Refusal("NoSafeSandbox", f"the wall '{said['missing']}' cannot be put up: {said['reason']}", "")
    if said["holes"]:
        holes = "; ".join(f"{wall}: a cell could {what}" for wall, what in said["holes"])
        raise Refusal(
            "NoSafeSandbox", f"a wall does not hold on this machine: {holes}", "use another machine or kernel"
        )
    return ground.changed(walls=walls.enforced)


def _refuse(ground: Ground, missing: dict[str, str]) -> None:
    has = f"Landlock {ground.landlock_abi or 'missing'}, namespaces {'yes' if ground.use_namespaces else 'no'}"
    who = "root" if ground.uids else "a plain user"
    raise Refusal(
        "NoSafeSandbox",
        f"no safe sandbox for {who} here ({has}): nothing would wall off {' and '.join(missing)}",
        "; ".join(dict.fromkeys(missing.values())),
    )


def try_walls(ground: Ground, own: str) -> Message:
    """Wall a fork in and have it try to get out."""
    place = Path(tempfile.mkdtemp(dir=own))
    os.chmod(own, 0o711)  # noqa: S103  (sessions' users pass through, and see nothing)
    outside, work, scratch = place / "outside", place / "work", place / "scratch"
    place.chmod(0o777)
    outside.write_text("not for cells")
    outside.chmod(0o666)
    # Not the same for every host: where there are no namespaces, the end of a session ends all that its user runs.
    uid = secrets.choice(ground.uids) if ground.uids else None
    for folder in (work, scratch):
        folder.mkdir()
        if uid is not None:
            os.chown(folder, uid, uid)
    enclosure = Enclosure(
        work=str(work),
        is_writable=True,
        scratch=str(scratch),
        readable=(ground.environment, *interpreter_folders()),
        uid=uid,
        use_namespaces=ground.use_namespaces,
        landlock_abi=ground.landlock_abi,
        limits=Limits(_ENOUGH << 10, _ENOUGH, 256, 1 << 20),
    )
    base, their_base = packet_pair()
    channel, their_channel = packet_pair()
    reading, writing = output_pipe()
    request = {
        "kind": "probe",
        "enclosure": asdict(enclosure),
        "outside": str(outside),
        "host": os.getpid(),
    }
    try:
        ground.zygote.fork(request, [their_base.fileno(), their_channel.fileno(), writing, writing])
        their_base.close()
        their_channel.close()
        for _, message in messages(base):
            if "missing" in message:
                return message
            if "walled" in message:
                send_packets(base, {"op": "fork"})
                break
        for _, message in messages(channel):
            if "holes" in message:
                return message
        raise Refusal("SandboxFailed", "the walls could not be tried out: the probe ended early", "see the host's log")
    finally:
        base.close()
        channel.close()
        os.close(reading)
        os.close(writing)
        remove(str(place))


def _uids() -> range:
    """Users that exist for this process: in a user namespace not every number does."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        spans = [(int(first), int(count)) for first, _, count in map(str.split, file)]
    for wanted in (_UIDS, _FEW_UIDS):
        if any(first <= wanted.start and wanted.stop <= first + count for first, count in spans):
            return wanted
    raise Refusal(
        "NoSafeSandbox",
        "root here has no other user to give to cells: this user namespace maps too few",
        "run as a plain user, or map 65,536 users into this container",
    )


def _memory_by(hierarchies: Hierarchies, name: str) -> str:
    group = hierarchies.make(f"{name}-try", Amounts(_ENOUGH, 100, None))
    if group is None:
        return "watchdog"
    try:
        return "cgroup" if "memory" in group.controllers else "watchdog"
    finally:
        group.remove()


def _sweep(name: str, uids: range) -> None:
    """Remove what an earlier host of this name left when it was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{name}-*"):
        with suppress(OSError):
            remove(str(folder))
    if uids:
        for pid in processes.orphans(uids):
            with suppress(OSError):
                processes.kill(pid)
