"""Importing does nothing, and the command's help imports nothing of ours that is heavy."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.environment import find_environment

ROOT = Path(__file__).parents[2]
INSIDE = ("sandbox.host.", "sandbox.kernel.", "sandbox.keeper", "sandbox.walls.", "sandbox.zygote")
"""What runs in the sandbox's environment, and is imported there only."""
IN_THE_SERVER = ("partner.launch.database",)
"""What needs Prefect's server to be defined at all: importing that asks the system for the interpreter's width."""
MODULES = sorted(
    module.name
    for room in ("partner", "recipes", "run_record", "sandbox", "three_tools")
    for module in pkgutil.walk_packages([str(ROOT / room)], f"{room}.")
)

WATCH = """
import sys
effects = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        effects.append(f"{event} {arguments[0]}")
    if event in ("os.mkdir", "os.rename", "os.remove", "socket.connect", "subprocess.Popen", "os.putenv"):
        effects.append(event)
import importlib
sys.dont_write_bytecode = True
sys.addaudithook(hook)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(effects)
"""


def test_importing_a_module_does_nothing() -> None:
    """Importing every module opens no file for writing, makes no folder, starts no process, connects nowhere."""
    modules = [
        name for name in MODULES if not name.endswith("__main__") and not name.startswith((*INSIDE, *IN_THE_SERVER))
    ]
    done = subprocess.run([sys.executable, "-c", WATCH, *modules], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_importing_what_runs_inside_does_nothing(tmp_path: Path) -> None:
    """The same holds for the half of the sandbox that runs in its own environment, and nothing is missing there."""
    environment = find_environment()
    modules = [name for name in MODULES if not name.endswith("__main__") and name.startswith(INSIDE)]
    variables = {"PYTHONPATH": str(environment.code), "HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)}
    first = (
        "import matplotlib.font_manager, pyseccomp, matplotlib_inline.backend_inline"  # these have effects of their own
    )
    command = [str(environment.python), "-P", "-c", f"{first}\n{WATCH}", *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", [["--help"], ["files", "--help"], ["show", "--help"]])
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    """`--help` loads no settings, no run record and no formatter: only what it shows."""
    code = "import sys; from partner.cli.app import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint({"pydantic_settings", "run_record", "rich", "ctypes", "partner.cli.runs"})


def test_the_ground_floor_needs_pydantic_and_the_standard_library() -> None:
    """run_record imports nothing else, and nothing of the rooms above."""
    allowed = set(sys.stdlib_module_names) | {"pydantic", "run_record"}
    for path in (ROOT / "run_record").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, path
