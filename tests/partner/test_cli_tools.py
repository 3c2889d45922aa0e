"""partner exec, search, tools and close."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.command_line import partner

CONTRACT = ["ok", "stdout", "stderr", "display", "files_out", "cause", "step"]


@pytest.mark.usefixtures("sandbox")
def test_cells_of_a_run_share_their_variables() -> None:
    """Separate calls go on in one session; --json is the contract's object with cause and step; a failure is exit 1."""
    run = partner("open", "--json").json["run_id"]
    assert partner("exec", run, "--code", "x = 20\nopen('a.csv', 'w').write('a\\n1\\n')").code == 0
    answer = partner("exec", run, "--file", "-", "--json", stdin=b"x + 1")
    assert (answer.code, list(answer.json)) == (0, CONTRACT)
    assert (answer.json["display"], answer.json["step"], answer.json["cause"]) == (
        {"kind": "text", "text": "21"},
        2,
        None,
    )
    slow = partner("exec", run, "--code", "while True: pass", "--timeout-s", "0.3")
    assert slow.code == 1
    assert "cell stopped: still running after" in slow.stderr
    assert "raise --timeout-s" in slow.stderr
    assert partner("sandbox", "stop").code == 0
    lost = partner("exec", run, "--code", "x", "--json")
    assert (lost.code, lost.json["ok"], lost.json["cause"]) == (1, False, "error")
    assert lost.json["stderr"].startswith("note: the session of this run was lost")
    assert f"partner cel {run} --code | partner exec {run} --file -" in lost.json["stderr"]
    replay = partner("cel", run, "--code").stdout
    assert replay.startswith(b"# %% step 1\nx = 20\n")
    assert partner("exec", run, "--file", "-", stdin=replay).code == 0
    assert partner("cel", run, "--code").stdout == replay  # a replay says nothing new
    assert partner("exec", run, "--code", "x", "--json").json["display"]["text"] == "20"
    assert partner("exec", run, "--code", "x", "--fresh").code == 1
    assert partner("close", run).code == 0
    closed = partner("exec", run, "--code", "1", "--json")
    assert (closed.code, closed.json["error"]["kind"]) == (2, "immutable")
    assert [
        session for session in partner("sandbox", "status", "--json").json["sessions"] if session["name"] == run
    ] == []
    assert partner("verify", run).code == 0


def test_a_cell_comes_from_one_place(run: str) -> None:
    """--code or --file, not both and not neither; bytes that are no text are refused."""
    for options in ([], ["--code", "1", "--file", "-"], ["--code", "\udcff"]):
        assert partner("exec", run, *options).code == 2
    assert partner("exec", run, "--file", "-", stdin=b"\xff").code == 2
    assert partner("exec", run, "--file", "-", stdin=b"#" * (5 << 20)).code == 2
    for file in ("/nonexistent/cell.py", "/dev/zero", ""):
        refused = partner("exec", run, "--file", file)
        assert (refused.code, "  → " in refused.stderr) == (2, True)


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_cell_and_the_record_says_so(number: signal.Signals) -> None:
    """Ctrl-C, an end by the system and a closed terminal: the cell is interrupted, recorded and judged; exit 130."""
    run = partner("open", "--json").json["run_id"]
    # Whoever runs the tests in the background has them ignore a Ctrl-C, and so would what they start.
    command = ["env", "--default-signal=INT,HUP,TERM", sys.executable, "-m", "partner", "exec", run, "--code"]
    code = "x = 1; print('go', flush=True)\nimport time; time.sleep(60)"
    with subprocess.Popen([*command, code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "go\n"
        process.send_signal(number)
        said = process.communicate(timeout=180)[1]
    assert (process.returncode, "cell stopped: interrupted" in said) == (130, True)
    (step,) = partner("show", run, "--json").json["steps"]
    assert (step["ok"], step["evaluation"]["verdict"]) == (False, "FAIL")
    assert partner("exec", run, "--code", "x", "--json").json["display"]["text"] == "1"


@pytest.mark.usefixtures("sandbox")
def test_a_reader_that_goes_away_does_not_unmake_the_step() -> None:
    """What the cell did is recorded as it was, though nobody could be shown it."""
    run = partner("open", "--json").json["run_id"]
    code = "for number in range(100_000): print(number)\nx = 1"
    with subprocess.Popen(
        [sys.executable, "-m", "partner", "exec", run, "--code", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 1
    (step,) = partner("show", run, "--json").json["steps"]
    assert (step["ok"], step["evaluation"]["verdict"]) == (True, "PASS")
    assert partner("exec", run, "--code", "x", "--json").json["display"]["text"] == "1"


def test_a_search_keeps_to_the_documents_without_a_key(partner_home: Path, tmp_path: Path, run: str) -> None:
    """Without a key the folder is searched; --json is the contract's object; a run of its own is opened and closed."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "note.md").write_text("# Churn\nChurn fell to 3 percent in March.\n")
    found = partner("search", "churn march", "--run", run, "--json")
    assert (found.code, list(found.json)) == (0, ["results", "citations_id"])
    assert found.json["results"][0]["url"] == "file:note.md"
    alone = partner("search", "churn")
    assert alone.code == 0
    assert "Churn fell to 3 percent" in alone.text
    assert partner("show", "latest", "--json").json["state"] == "done"
    assert partner("search", "churn", "--date-range", "soon").code == 2


def test_a_search_that_cannot_be_says_what_to_do(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing folder, and a web search without a key, are named with their remedies."""
    missing = partner("search", "churn", "--run", run)
    assert missing.code == 1
    assert "  → " in missing.stderr
    monkeypatch.setenv("PARTNER_SEARCH", "tavily")
    keyless = partner("search", "churn", "--run", run)
    assert keyless.code == 2
    assert "TAVILY_API_KEY" in keyless.stderr


def test_tools_shows_who_may_see_and_run_what() -> None:
    """Each tool has its name, whether the profile sees and may run it, and a description."""
    everything = partner("tools", "--json").json["tools"]
    assert [list(tool) for tool in everything] == [["name", "visible", "executable", "description"]] * 6
    assert all(tool["visible"] and tool["executable"] for tool in everything)
    narrow = partner("tools", "--profile", "evaluator", "--json").json["tools"]
    assert {tool["name"] for tool in narrow if tool["executable"]} == {"tmp.read", "tmp.list"}
    assert "memory_node_read, memory_node_write" in partner("tools", "--profile", "memory-agent").stderr
    assert partner("tools", "--profile", "nobody").code == 2
