"""partner files: what goes in comes out, and the record knows."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.command_line import partner
from run_record import Call, Home, RunId, RunRecord, Sha256

pytestmark = pytest.mark.usefixtures("partner_home")


def record_of(run: str) -> RunRecord:
    return Home(Path(os.environ["PARTNER_HOME"])).open_run(RunId(run))


@pytest.mark.parametrize("content", [b"", b"plain", bytes(range(256)) * 5000, "ünï".encode()])
def test_files_come_back_byte_for_byte(run: str, content: bytes) -> None:
    """What is written from stdin is read back raw, and as text or base64 with --json."""
    written = partner("files", "write", run, "a/file", "--json", stdin=content).json
    assert (written["path"], written["size"]) == ("a/file", len(content))
    assert partner("files", "read", run, "a/file").stdout == content
    read = partner("files", "read", run, "a/file", "--json").json
    assert read["sha256"] == written["sha256"]
    assert ("text" in read) == (content != bytes(range(256)) * 5000)


def test_files_are_listed_with_the_contract_fields(run: str) -> None:
    """Each file has path, size, sha256 and modified_at; a prefix narrows the list."""
    partner("files", "write", run, "artifacts/brief.html", stdin=b"<p>")
    listed = partner("files", "ls", run, "--json").json["files"]
    assert [list(file) for file in listed] == [["path", "size", "sha256", "modified_at"]] * 3
    assert [file["path"] for file in listed] == ["CEL.md", "artifacts/brief.html", "facts.json"]
    assert [f["path"] for f in partner("files", "ls", run, "art", "--json").json["files"]] == ["artifacts/brief.html"]
    assert "nothing" in partner("files", "ls", run, "nothing").stderr


def test_a_deleted_file_stays_in_the_record(run: str) -> None:
    """Deleting removes the file and records it; its bytes can still be had by hash."""
    assert partner("files", "rm", run, "facts.json", "--json").json == {"ok": True}
    assert partner("files", "read", run, "facts.json").code == 5
    record = record_of(run)
    assert record.state.steps[2].done.removed == ("facts.json",)
    assert partner("verify", run).code == 0


def test_every_files_call_on_an_open_run_is_a_step(run: str) -> None:
    """ls, read, write and rm are tool calls: each is a step with an evaluation that is not left pending."""
    partner("files", "ls", run)
    partner("files", "read", run, "facts.json")
    partner("files", "rm", run, "facts.json")
    steps = partner("show", run, "--json").json["steps"]
    assert [step["tool"] for step in steps] == ["tmp.write", "tmp.list", "tmp.read", "tmp.delete"]
    assert {step["evaluation"]["verdict"] for step in steps} == {"NOT EVALUATED"}


def test_a_closed_run_is_read_without_a_trace(run: str) -> None:
    """Reading a closed run is no step and changes no file of its record; writing is refused before anything happens."""
    assert partner("close", run).code == 0
    folder = record_of(run).folder
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert partner("files", "read", run, "facts.json").stdout == b'{"facts": []}'
    assert partner("files", "ls", run).code == 0
    for attempt in (("files", "write", run, "new"), ("files", "rm", run, "facts.json"), ("close", run)):
        answer = partner(*attempt, stdin=b"x")
        assert (answer.code, answer.stdout) == (2, b"")
        assert "is closed (done)" in answer.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before
    assert partner("note", run, "still").code == 0


def test_what_was_put_there_by_hand_is_recorded_before_the_end(run: str, partner_home: Path) -> None:
    """A file that somebody copied into tmp/ becomes part of the record when the run is closed: it is not damage."""
    (partner_home / "runs" / run / "tmp" / "late.txt").write_text("hi")
    assert partner("close", run).code == 0
    assert partner("verify", run).code == 0
    assert [a["path"] for a in partner("show", run, "--json").json["artifacts"]] == ["facts.json", "late.txt"]


def test_a_slow_upload_is_recorded_although_another_was_faster(run: str) -> None:
    """Two uploads of one file that overlap: the one that ends last is what the record has."""
    slow = record_of(run)
    partner("files", "write", run, "y.csv", stdin=b"fast")
    slow.workspace.write("y.csv", b"slow")
    slow.record_step(Call(tool="tmp.write"), slow.look(["y.csv"]))
    assert partner("close", run).code == 0
    assert partner("verify", run).code == 0


def test_deleting_keeps_the_bytes_even_of_a_file_nobody_recorded(run: str, partner_home: Path) -> None:
    """A file that no step had recorded is stored before it is deleted, and the record names its hash."""
    (partner_home / "runs" / run / "tmp" / "draft").write_text("only copy")
    answer = partner("files", "rm", run, "draft")
    sha256 = answer.stderr.split()[-1]
    assert Home(partner_home).objects.read(Sha256(sha256)) == b"only copy"
    assert sha256 in partner("cel", run).text


def test_deleting_asks_on_a_terminal(run: str) -> None:
    """On a terminal a deletion is confirmed; anything but yes leaves the file, and --yes does not ask."""

    def remove(answer: bytes, *options: str) -> int:
        parent, child = pty.openpty()
        os.write(parent, answer)
        command = [sys.executable, "-m", "partner", "files", "rm", run, "facts.json", *options]
        done = subprocess.run(command, stdin=child, capture_output=True, check=False)
        os.close(parent)
        os.close(child)
        return done.returncode

    assert remove(b"n\n") == 1
    assert partner("files", "read", run, "facts.json").code == 0
    assert remove(b"y\n") == 0
    assert partner("files", "read", run, "facts.json").code == 5
