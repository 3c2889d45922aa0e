"""`partner run` as a person or a program calls it."""

import fcntl
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.prefect_server import variables, wait_until
from partner.launch import PrefectServer

RECIPE = """title = "Sums"
purpose = "Adds up."
objective = "How much is it?"
deliverables = ["artifacts/sum.txt", "rows.csv"]
[parameters.factor]
type = "integer"
default = 1
least = 1
[inputs.data]
file = "data.csv"
columns = { amount = "number" }
sample = "data.csv"
[cells.sum]
expects.files = [{ path = "artifacts/sum.txt" }, { path = "rows.csv", min_rows = 2 }]
"""
NOTEBOOK = """# %% sum
import os
import pandas as pd
from recipes.kit import run
table = pd.read_csv("data.csv")
table.to_csv("rows.csv", index=False)
os.makedirs("artifacts", exist_ok=True)
open("artifacts/sum.txt", "w").write(str(table.amount.sum() * run.parameters.factor))
"""


@dataclass(frozen=True)
class Shell:
    """A home with one recipe, and `partner` in a process of its own."""

    top: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "partner", *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=self.top, capture_output=True, text=True, check=False, timeout=120
        )

    def data(self, name: str, *lines: str) -> str:
        """The option that gives a file of these lines as the input `data`."""
        (self.top / name).write_text("".join(f"{line}\n" for line in lines))
        return f"--file=data={self.top / name}"


@pytest.fixture(scope="module")
def shell(session_prefect_server: PrefectServer) -> Iterator[Shell]:
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    folder = top / "recipes" / "sums"
    (folder / "sample_data").mkdir(parents=True)
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "notebook.py").write_text(NOTEBOOK)
    (folder / "sample_data" / "data.csv").write_text("amount\n2\n3\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PARTNER_", "PREFECT_"))}
    server = variables(session_prefect_server, top)
    ours = {"PARTNER_HOME": str(top / "home"), "PARTNER_RECIPES": str(top / "recipes"), "PARTNER_HOST_IDLE_S": "30"}
    shell = Shell(top, {**kept, **server, **ours})
    yield shell
    shell("sandbox", "stop")
    shutil.rmtree(top, ignore_errors=True)


def test_a_run_shows_its_steps_and_ends_with_what_it_made(shell: Shell) -> None:
    """Steps go to stderr as they end; stdout has the deliverables with their paths; exit 0."""
    done = shell("run", "sums", "--sample", "--objective", "Is it five?")
    assert done.returncode == 0, done.stderr
    assert "objective: Is it five?" in done.stderr
    path, rows = (Path(line.split()[0]) for line in done.stdout.splitlines())
    assert (rows.name, path.read_text()) == ("rows.csv", "5")
    steps = [line.split()[0] for line in done.stderr.splitlines() if " PASS " in line]
    assert steps == ["input", "sum", "save", "list"]
    again = shell("run", "sums", "--sample")
    assert "cached   PASS" in again.stderr
    assert "1 of them cached" in again.stderr


def test_json_is_one_object_as_the_design_has_it(shell: Shell) -> None:
    """With --json stdout has one object and nothing else, and every path in it leads somewhere."""
    done = shell("run", "sums", shell.data("in.csv", "amount", "1", "8"), "--param", "factor=2", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert list(report) == [
        "run_id", "objective", "recipe", "state", "seconds", "workspace", "cel", "steps", "artifacts", "deliverables",
    ]  # fmt: skip
    assert (report["recipe"], report["state"]) == ("sums", "done")
    assert report["deliverables"] == ["artifacts/sum.txt", "rows.csv"]
    assert report["seconds"] > sum(step["seconds"] for step in report["steps"])
    assert Path(report["workspace"], "artifacts/sum.txt").read_text() == "18"
    assert Path(report["workspace"], report["cel"]).exists()
    assert [step["name"] for step in report["steps"]] == [
        "input data.csv", "sum", "save notebook", "list deliverables",
    ]  # fmt: skip
    assert set(report["steps"][1]) == {"n", "tool", "name", "cached", "seconds", "ok", "evaluation"}
    assert report["steps"][1]["evaluation"]["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing-like-it"], 5, "there is no recipe 'nothing-like-it'"),
        (["sum", "--sample"], 5, "did you mean sums?"),
        (["sums"], 2, "data"),
        (["sums", "--file", "data=nowhere.csv"], 2, "nowhere.csv"),
        (["sums", "--file", "date=nowhere.csv"], 2, "did you mean data?"),
        (["sums", "--file", "nowhere.csv"], 2, "--file data=sales.csv"),
        (["sums", "--sample", "--param", "factor=much"], 2, "factor = 'much' is not a whole number"),
        (["sums", "--sample", "--param", "factor=0"], 2, "below 1"),
        (["sums", "--sample", "--param", "factr=2"], 2, "did you mean factor?"),
        (["sums", "--sample", "--param", "factor=1", "--param", "factor=2"], 2, "twice"),
        (["sums", "--sample", "--as-of", "yesterday"], 2, "2026-03-31"),
        (["sums", "--sample", "--backend", "docker"], 4, "no Docker backend"),
        (["sums", "--sample", "--seed", "99999999999999999999999"], 2, "from 0 to 4294967295"),
        (["sums", "--sample", "--seed=-1"], 2, "from 0 to 4294967295"),
        (["sums", "--file", "data="], 2, "--file data= names no file"),
    ],
)
def test_bad_input_names_the_value_and_the_remedy(shell: Shell, arguments: list[str], code: int, said: str) -> None:
    """Nothing is run, the exit code says whose fault it is, and the remedy stands below."""
    done = shell("run", *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "  → " in done.stderr
    assert "nothing was run" in done.stderr
    assert done.stdout == ""


def test_a_file_without_the_right_columns(shell: Shell) -> None:
    """The columns that were found and the first row are shown."""
    done = shell("run", "sums", shell.data("wrong.csv", "region,money", "North,4"), "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "BadInput"
    assert "wrong.csv" in error["problem"]
    assert "region, money" in error["problem"]


def test_a_verdict_below_the_threshold_is_exit_3(shell: Shell) -> None:
    """The run is there with its steps, and the error says what the Evaluator found."""
    done = shell("run", "sums", shell.data("one.csv", "amount", "1"), "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 3, done.stderr
    assert report["state"] == "failed"
    assert report["error"]["kind"] == "BelowThreshold"
    assert "rows.csv" in report["error"]["problem"]
    assert [step["evaluation"]["verdict"] for step in report["steps"]].count("FAIL") == 1
    assert "Traceback" not in done.stderr


def test_a_new_home_beside_another_server(shell: Shell) -> None:
    """Prefect finds its folder in the home, and has nothing to complain of."""
    new = {**shell.environment, "PARTNER_HOME": str(shell.top / "new" / "home")}
    done = Shell(shell.top, new)("run", "sums", "--sample")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    Shell(shell.top, new)("sandbox", "stop")


def test_no_safe_sandbox_is_exit_4(shell: Shell) -> None:
    """Where a needed wall is missing nothing is run, and the remedy is named."""
    weak = {**shell.environment, "PARTNER_SANDBOX_LANDLOCK_ABI_MAX": "0"}
    done = Shell(shell.top, weak)("run", "sums", "--sample")
    assert done.returncode == 4, done.stderr
    assert "nothing was run" in done.stderr


def test_a_run_can_be_left_to_itself(shell: Shell) -> None:
    """--no-wait says the run's id at once, and the run goes on to its end; what cannot be is said at once too."""
    started = shell("run", "sums", "--sample", "--refresh", "--no-wait", "--json")
    assert started.returncode == 0, started.stderr
    run_id = json.loads(started.stdout)["run_id"]

    def is_done() -> bool:
        return json.loads(shell("show", run_id, "--json").stdout)["state"] == "done"

    wait_until(is_done, "the run ends")
    kept = {path.name for path in (shell.top / "home" / "detached").iterdir()}
    refused = shell("run", "sums", "--sample", "--param", "factor=0", "--no-wait")
    assert refused.returncode == 2
    assert "below 1" in refused.stderr
    refused = shell("run", "sums", "--sample", "--param", "factor=0", "--no-wait", "--json")
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"]["kind"] == "BadParameter"
    assert {path.name for path in (shell.top / "home" / "detached").iterdir()} == kept


def on_a_terminal(shell: Shell, columns: int, *arguments: str) -> str:
    """What a person sees, all of it."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-m", "partner", *arguments]
    environment = {**shell.environment, "NO_COLOR": "1"}
    process = subprocess.Popen(command, env=environment, cwd=shell.top, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # so a terminal ends
        while piece := os.read(ours, 65536):
            seen += piece
    os.close(ours)
    process.wait(60)
    return re.sub(r"\r?[^\n]*\x1b\[K", "", seen.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_failing_run_fits_the_terminal(shell: Shell, columns: int) -> None:
    """Step lines are aligned and none is broken; the failure is said once, at the end."""
    long = "a_cell_of_which_the_name_is_long"
    folder = shell.top / "recipes" / "fails"
    shutil.copytree(shell.top / "recipes" / "sums", folder, dirs_exist_ok=True)
    (folder / "notebook.py").write_text(f"{NOTEBOOK}\n# %% {long}\nraise ValueError('no ' + 'x' * 80)\n")
    seen = on_a_terminal(shell, columns, "run", "fails", "--sample", "--objective", "Is it more than " + "a lot " * 10)
    steps = [line for line in seen.splitlines() if re.search(" (PASS|FAIL) ", line)]
    assert len(steps) == 4, seen
    assert {line.index(" ✓ ") if " ✓ " in line else line.index(" ✗ ") for line in steps} == {steps[0].index(" ✓ ")}
    assert max(map(len, steps)) < columns
    assert "Traceback" not in seen
    assert seen.count("no " + "x" * 80) == 1
    error, remedy = seen.rstrip().splitlines()[-2:]
    assert error.startswith(f"error: step '{long}' failed: ValueError: no x")
    assert remedy.startswith("  → look at ")
    runs = on_a_terminal(shell, columns, "runs").splitlines()
    shown = [line for line in on_a_terminal(shell, columns, "show", "latest").splitlines() if " PASS " in line]
    assert "Is it more than" in runs[0]
    assert max(map(len, runs + shown)) < columns


def test_a_cell_that_fails_is_told_in_our_words(shell: Shell) -> None:
    """The line of notebook.py it failed in and where its traceback is; no stack of ours or Prefect's; exit 1."""
    notebook = shell.top / "recipes" / "sums" / "notebook.py"
    notebook.write_text(NOTEBOOK + "\n# %% last\n\nimport math\nmath.sqrt(-1)\n")
    try:
        done = shell("run", "sums", "--sample")
    finally:
        notebook.write_text(NOTEBOOK)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    line = NOTEBOOK.count("\n") + 5
    assert (
        f"error: step 'last' failed: ValueError: math domain error\n  → look at {notebook}, line {line};" in done.stderr
    )
    assert "notebook.ipynb of the run has its whole traceback" in done.stderr
