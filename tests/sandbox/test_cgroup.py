"""Control groups: both versions found, limits written, what cannot be made left to the watchdog."""

from pathlib import Path

import pytest

from sandbox.host.cgroup import Amounts, Hierarchies

AMOUNTS = Amounts(memory_bytes=1 << 28, processes=64, cpus=1.5)


def machine(tmp_path: Path, mounts: str, membership: str) -> Hierarchies:
    (tmp_path / "mountinfo").write_text(mounts)
    (tmp_path / "cgroup").write_text(membership)
    return Hierarchies(str(tmp_path / "mountinfo"), str(tmp_path / "cgroup"))


def test_version_2_stands_where_controllers_are_handed_down(tmp_path: Path) -> None:
    """A group with processes hands nothing down, so sessions go beside it, where controllers are."""
    root = tmp_path / "fs"
    own = root / "user.slice" / "session.scope"
    own.mkdir(parents=True)
    (root / "user.slice" / "cgroup.subtree_control").write_text("memory pids\n")
    (own / "cgroup.subtree_control").write_text("\n")
    found = machine(tmp_path, f"1 0 0:1 / {root} rw - cgroup2 cgroup2 rw\n", "0::/user.slice/session.scope\n")
    assert found.version == 2
    assert found.folders == {"memory": root / "user.slice", "pids": root / "user.slice"}
    group = found.make("partner-x", AMOUNTS)
    assert group is not None
    assert group.controllers == ["memory", "pids"]
    made = root / "user.slice" / "partner-x"
    assert (made / "memory.max").read_text() == str(1 << 28)
    assert (made / "pids.max").read_text() == "64"


def test_version_1_has_a_folder_for_each_controller(tmp_path: Path) -> None:
    """Memory, processes and cpu are limited each in their own hierarchy."""
    mounts, membership = "", ""
    for number, name in enumerate(("memory", "pids", "cpu"), 2):
        (tmp_path / name / "job").mkdir(parents=True)
        mounts += f"{number} 0 0:1 / {tmp_path / name} rw - cgroup cgroup rw,{name}\n"
        membership += f"{number}:{name}:/job\n"
    group = machine(tmp_path, mounts, membership).make("partner-x", AMOUNTS)
    assert group is not None
    assert (tmp_path / "memory/job/partner-x/memory.limit_in_bytes").read_text() == str(1 << 28)
    assert (tmp_path / "cpu/job/partner-x/cpu.cfs_quota_us").read_text() == "150000"


@pytest.mark.parametrize(
    "mounts", ["", "1 0 0:1 / /nowhere rw - cgroup2 cgroup2 rw\n", "1 0 0:1 / /proc rw - proc proc rw\n"]
)
def test_where_no_group_can_be_made_there_is_none(tmp_path: Path, mounts: str) -> None:
    """The watchdog then keeps sessions to their memory."""
    assert machine(tmp_path, mounts, "0::/\n").make("partner-x", AMOUNTS) is None


def test_oom_kills_are_counted(tmp_path: Path) -> None:
    """Both versions' counters are read, where they are."""
    (tmp_path / "memory").mkdir()
    hierarchies = machine(tmp_path, f"2 0 0:1 / {tmp_path / 'memory'} rw - cgroup cgroup rw,memory\n", "2:memory:/\n")
    (tmp_path / "memory/partner-x").mkdir()
    (tmp_path / "memory/partner-x/memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    group = hierarchies.make("partner-x", AMOUNTS)
    assert group is not None
    assert group.oom_kills() == 3
