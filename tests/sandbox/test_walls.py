"""Which walls stand on which machine: the table of docs/security.md, computed and tried."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fakes.backends import PLAIN_USER, local_jail, modes_here
from sandbox import NoSafeSandbox
from sandbox.environment import find_environment
from sandbox.walls.plan import NEEDED, Machine, judge

ROOT = Path(__file__).parents[2]
TABLE = """
import dataclasses, json, os, sys
from sandbox.host import foundation
from sandbox.walls.plan import Machine, judge
configuration = {"name": f"partner-table-{os.getpid()}", "environment": sys.argv[1], "landlock_abi_max": 7,
                 "use_namespaces": True, "use_cgroups": False}
ground = foundation.lay(configuration)
own = os.path.realpath(os.environ["TMPDIR"])
found = {}
for abi in range(1, ground.landlock_abi + 1):
    for namespaces in (False, True):
        here = ground.changed(landlock_abi=abi, use_namespaces=namespaces)
        said = foundation.try_walls(here, own)
        found[f"{abi} {namespaces}"] = said.get("holes", said)
print(json.dumps(found))
"""


def test_every_needed_wall_is_judged() -> None:
    """Each wall stands by something or is missing, and never both."""
    for abi in range(8):
        for namespaces in (False, True):
            for seccomp in (False, True):
                for root in (False, True):
                    walls = judge(Machine(abi, namespaces, seccomp, root))
                    assert sorted([*walls.enforced, *walls.missing]) == sorted(NEEDED)


@pytest.mark.parametrize(
    ("machine", "missing"),
    [
        (Machine(7, True, True, True), set()),
        (Machine(1, False, True, True), set()),
        (Machine(6, False, True, False), set()),
        (Machine(1, True, True, False), set()),
        (Machine(5, False, True, False), {"processes"}),
        (Machine(2, False, True, False), {"processes"}),
        (Machine(0, True, True, True), {"files"}),
        (Machine(7, True, False, True), {"network", "identity", "metadata"}),
    ],
)
def test_a_machine_that_lacks_a_wall_is_refused(machine: Machine, missing: set[str]) -> None:
    """What a kernel lacks decides what is safe, and each missing wall names its remedy."""
    walls = judge(machine)
    assert walls.missing.keys() == missing
    assert walls.are_safe is not bool(missing)
    assert all(walls.missing.values())


def test_the_table_in_the_docs_is_the_one_we_compute() -> None:
    """docs/security.md says for each kernel what runs and what is refused, and says it truly."""
    text = (ROOT / "docs" / "security.md").read_text()
    rows = re.findall(
        r"^\| (\d) \| .*? \| (yes|no) \| (runs|refused)[^|]* \| (runs|refused)[^|]* \|$", text, re.MULTILINE
    )
    assert len(rows) == 16
    for abi, namespaces, as_root, as_user in rows:
        for is_root, said in ((True, as_root), (False, as_user)):
            walls = judge(Machine(int(abi), namespaces == "yes", True, is_root))
            assert said == ("runs" if walls.are_safe else "refused"), (abi, namespaces, is_root)


@pytest.mark.parametrize("who", ["root", "user"])
def test_the_whole_table_is_tried(tmp_path: Path, who: str) -> None:
    """Landlock 1 to 7, with namespaces and without, as root and as a plain user: what we say is safe has no hole."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("only root can be root")
    found = _walk_the_table(PLAIN_USER if who == "user" and os.geteuid() == 0 else None)
    assert len(found) == 14
    for key, holes in found.items():
        abi, namespaces = key.split()
        if holes and "missing" in holes:
            assert (namespaces, holes["missing"]) == (
                "True",
                "namespaces",
            )  # a machine that has none, such as a container
            continue
        walls = judge(Machine(int(abi), namespaces == "True", True, who == "root"))
        if walls.are_safe:
            assert holes == [], key
        else:
            assert {wall for wall, _ in holes} == set(walls.missing), key  # and where we refuse, there is a reason to


def _walk_the_table(user: int | None) -> Any:
    import tempfile

    environment = find_environment()
    with tempfile.TemporaryDirectory(prefix="partner-table-") as own:
        os.chmod(own, 0o711)
        if user is not None:
            os.chown(own, user, user)
        done = subprocess.run(
            [environment.python, "-s", "-P", "-c", TABLE, environment.folder],
            env={"PYTHONPATH": str(environment.code), "TMPDIR": own, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            cwd="/",
        )
    return json.loads(done.stdout)


@pytest.mark.parametrize("mode", modes_here())
def test_without_landlock_nothing_runs(mode: str) -> None:
    """A needed wall that is missing is refused with its remedy, before anything is run."""
    with pytest.raises(NoSafeSandbox, match="files") as refused, local_jail(mode, landlock_abi_max=0) as place:
        place.backend.check("1", {}, __import__("sandbox").Limits())
    assert "5.13" in refused.value.remedy


@pytest.mark.parametrize("mode", [mode for mode in modes_here() if mode == "user-no-namespaces"])
def test_an_old_kernel_without_namespaces_is_refused_for_a_plain_user(mode: str) -> None:
    """Below Landlock 6 nothing would keep a plain user's cells from the user's own processes."""
    with pytest.raises(NoSafeSandbox, match="processes") as refused, local_jail(mode, landlock_abi_max=5) as place:
        place.backend.check("1", {}, __import__("sandbox").Limits())
    assert "max_user_namespaces" in refused.value.remedy
