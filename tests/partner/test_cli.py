"""The command line: data on stdout, messages on stderr, exit codes that say whose fault it was."""

import os
from pathlib import Path

import pytest

from fakes.command_line import partner
from run_record import Call, Home, RunId, RunRecord

pytestmark = pytest.mark.usefixtures("partner_home")


def record_of(run: str) -> RunRecord:
    return Home(Path(os.environ["PARTNER_HOME"])).open_run(RunId(run))


def test_open_prints_nothing_but_the_id(partner_home: Path) -> None:
    """A script can take the id from stdout; where the files are is said on stderr."""
    answer = partner("open")
    run_id = answer.text.strip()
    assert answer.stdout == f"{run_id}\n".encode()
    assert (partner_home / "runs" / run_id / "tmp").is_dir()
    assert str(partner_home) in answer.stderr


def test_runs_lists_newest_first(run: str) -> None:
    """Every run is listed with its state, steps and objective."""
    second = partner("open").text.strip()
    listed = partner("runs", "--json").json["runs"]
    assert [row["run_id"] for row in listed] == [second, run]
    assert (listed[1]["state"], listed[1]["steps"], listed[1]["objective"]) == ("open", 1, "Which channels?")
    assert partner("runs").text.splitlines()[1].startswith(f"{run}  open  1 step")


def test_a_damaged_run_does_not_hide_the_others(run: str, partner_home: Path) -> None:
    """A run that cannot be read is listed as damaged, beside the whole ones."""
    other = partner("open").text.strip()
    (partner_home / "runs" / run / "head").unlink()
    states = {row["run_id"]: row["state"] for row in partner("runs", "--json").json["runs"]}
    assert states == {run: "damaged", other: "open"}


def test_show_gives_the_run_as_one_object(run: str, partner_home: Path) -> None:
    """The object has the documented keys; workspace is absolute and every other path is relative to it."""
    shown = partner("show", run, "--json").json
    assert list(shown) == [
        "run_id", "objective", "recipe", "state", "seconds", "workspace", "cel", "steps", "artifacts", "deliverables",
    ]  # fmt: skip
    assert shown["workspace"] == str(partner_home / "runs" / run / "tmp")
    assert (Path(shown["workspace"]) / shown["cel"]).is_file()
    (step,) = shown["steps"]
    assert (step["n"], step["tool"], step["ok"], step["evaluation"]["verdict"]) == (
        1,
        "tmp.write",
        True,
        "NOT EVALUATED",
    )
    assert [artifact["path"] for artifact in shown["artifacts"]] == ["facts.json"]


def test_show_speaks_to_a_person(run: str) -> None:
    """Without --json: the objective, each step with its verdict, each file with its size."""
    text = partner("show", run).text
    assert "objective: Which channels?" in text
    assert "wrote 13 bytes to facts.json" in text
    assert "facts.json  13 B  data  step 1" in text


def test_cel_as_it_is_and_as_it_was(run: str) -> None:
    """CEL.md is printed as it stands, or as it stood after a step."""
    partner("files", "write", run, "more.txt", stdin=b"x")
    assert partner("cel", run).stdout == (record_of(run).folder / "CEL.md").read_bytes()
    assert "## Step 2" not in partner("cel", run, "--at", "1").text
    assert partner("cel", run, "--at", "2").stdout == partner("cel", run).stdout
    assert partner("cel", run, "--at", "9").code == 5
    assert partner("cel", run, "--at", "0").code == 2


def test_notes_are_signed_and_may_be_long(run: str) -> None:
    """A note carries its author; '-' reads many lines from stdin; an empty note is refused."""
    assert partner("note", run, "short").code == 0
    assert partner("note", run, "-", stdin="two\nlines – ünï\n".encode()).code == 0
    assert "**By:** anna\n\n> two\n> lines – ünï\n" in partner("cel", run).text
    empty = partner("note", run, "  ")
    assert (empty.code, empty.stdout) == (2, b"")
    assert "the note is empty" in empty.stderr


def test_closing_judges_what_nobody_judged(run: str) -> None:
    """Closing leaves no step pending: one that was never judged is marked so, with the reason."""
    record_of(run).record_step(Call(tool="sandbox.exec"))
    closed = partner("close", run, "--state", "failed", "--reason", "no data", "--json").json
    assert closed["state"] == "failed"
    assert closed["steps"][1]["evaluation"]["verdict"] == "NOT EVALUATED"
    assert "environment is not at" in closed["steps"][1]["evaluation"]["critique"]
    assert "PENDING" not in partner("cel", run).text
    assert partner("show", run, "--json").json["state"] == "failed"
