"""Which walls a machine can put up, and whether that is enough. Pure: what it says is tried out by `probe`.

docs/security.md holds the table that `judge` computes.
"""

from dataclasses import dataclass
from typing import Final

FILES, NETWORK, IDENTITY, PROCESSES, METADATA = "files", "network", "identity", "processes", "metadata"
NEEDED: Final = (FILES, NETWORK, IDENTITY, PROCESSES, METADATA)


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to build with."""

    landlock_abi: int
    """0 without Landlock."""
    has_namespaces: bool
    has_seccomp: bool
    is_root: bool
    """Whether the host can give each session a user of its own."""


@dataclass(frozen=True, slots=True)
class Walls:
    """What stands, by what, and what is missing."""

    enforced: dict[str, str]
    missing: dict[str, str]
    """Wall → what would put it up."""

    @property
    def are_safe(self) -> bool:
        return not self.missing


def judge(machine: Machine) -> Walls:
    """What stands on this machine. A needed wall that does not is a reason to refuse."""
    enforced: dict[str, str] = {}
    missing: dict[str, str] = {}
    for wall, means, remedy in (
        (FILES, _files(machine), "a kernel from 5.13 on with Landlock switched on (boot option lsm=landlock,…)"),
        (NETWORK, _network(machine), "a kernel with seccomp filters (CONFIG_SECCOMP_FILTER)"),
        (IDENTITY, _identity(machine), "a kernel with seccomp filters (CONFIG_SECCOMP_FILTER)"),
        (PROCESSES, _processes(machine), _OTHERS_REMEDY),
        (METADATA, _metadata(machine), "a kernel with seccomp filters (CONFIG_SECCOMP_FILTER)"),
    ):
        if means:
            enforced[wall] = means
        else:
            missing[wall] = remedy
    return Walls(enforced, missing)


_OTHERS_REMEDY = (
    "any one of: user namespaces (sysctl user.max_user_namespaces=15000) · kernel 6.12 or newer · running as root"
)


def _files(machine: Machine) -> str:
    if not machine.landlock_abi:
        return ""
    return f"Landlock {machine.landlock_abi}" + (", read-only mounts" if machine.has_namespaces else "")


def _network(machine: Machine) -> str:
    if not machine.has_seccomp:
        return ""
    return "no socket call" + (", empty network namespace" if machine.has_namespaces else "")


def _identity(machine: Machine) -> str:
    who = "own user" if machine.is_root else "not root"
    return f"{who}, no capabilities, no new privileges" if machine.has_seccomp else ""


def _processes(machine: Machine) -> str:
    means = (
        (machine.is_root, "own user"),
        (machine.has_namespaces, "process namespace"),
        (machine.landlock_abi >= 6, "Landlock scope"),
    )
    return ", ".join(name for holds, name in means if holds)


def _metadata(machine: Machine) -> str:
    if not machine.has_seccomp:
        return ""
    if machine.has_namespaces:
        return "read-only mounts"
    return "own user, touching refused by seccomp" if machine.is_root else "refused by seccomp"
