"""The first story: an analyst opens a run, gives it files, and audits what became of them.

Read this to learn what the ground floor does. It uses the installed command, as a person would.
"""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def partner(tmp_path: Path):
    """The `partner` command with a home of its own."""

    def call(*arguments: str, stdin: str = "", expect: int = 0) -> str:
        command = [str(Path(sys.executable).parent / "partner"), "--home", str(tmp_path / "home"), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == expect, done.stderr
        return done.stdout

    return call


def test_from_question_to_audit(partner, tmp_path: Path) -> None:
    """A question becomes a run, files become artifacts with hashes, and every step can be audited afterwards."""
    run = partner("open", "--objective", "Where should next quarter's money go?").strip()

    partner("files", "write", run, "spend.csv", stdin="source,spend\nemail,12000\n")
    partner("files", "write", run, "artifacts/answer.md", stdin="Move it to email.\n")
    partner("note", run, "Figures from the September close.")
    partner("close", run)

    assert partner("files", "read", run, "artifacts/answer.md") == "Move it to email.\n"
    log = partner("cel", run)
    assert "## Step 1: tmp.write" in log
    assert "- spend.csv: `tmp/spend.csv` (size=25, sha256=" in log
    assert "Figures from the September close." in log
    assert "## Summary" in log
    assert "is whole" in partner("verify", run)

    # Somebody improves the answer behind the record's back.
    (tmp_path / "home" / "runs" / run / "tmp" / "artifacts" / "answer.md").write_text("Move it to events.\n")
    assert "tmp/artifacts/answer.md: it has changed since the run was closed" in partner("verify", run, expect=6)
