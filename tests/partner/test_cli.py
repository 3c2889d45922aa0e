"""The command line: data on stdout, messages on stderr, exit codes that say whose fault it was."""

import functools
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.command_line import partner
from fakes.forger import forge
from partner.cli.failure import exit_code
from run_record import Call, Home, RunId, RunRecord, Sha256
from run_record.errors import RunIsBusy


@pytest.fixture(autouse=True)
def partner_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARTNER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PARTNER_AUTHOR", "anna")
    return tmp_path / "home"


@pytest.fixture
def run() -> str:
    """A run with one file."""
    run_id = partner("open", "--objective", "Which channels?", "--json").json["run_id"]
    assert partner("files", "write", run_id, "facts.json", stdin=b'{"facts": []}').code == 0
    return run_id


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


def test_closing_judges_what_nobody_judged(run: str) -> None:
    """Closing leaves no step pending: one that was never judged is marked so, with the reason."""
    record_of(run).record_step(Call(tool="sandbox.exec"))
    closed = partner("close", run, "--state", "failed", "--reason", "no data", "--json").json
    assert closed["state"] == "failed"
    assert closed["steps"][1]["evaluation"]["critique"] == "the run was closed before it was judged"
    assert "PENDING" not in partner("cel", run).text
    assert partner("show", run, "--json").json["state"] == "failed"


def test_verify_finds_damage_and_says_where(run: str, partner_home: Path) -> None:
    """A whole run is exit 0; a damaged object is exit 6, names the file and the step."""
    assert partner("verify", run).code == 0
    (damaged,) = [p for p in (partner_home / "objects").rglob("*") if p.is_file()]
    damaged.chmod(0o600)
    damaged.write_bytes(b'{"facts": [1]}')
    answer = partner("verify", run)
    assert answer.code == 6
    assert "✗ facts.json (step 1): object" in answer.text
    report = partner("verify", run, "--json")
    assert (report.code, report.json["ok"], report.json["damage"][0]["where"]) == (6, False, "facts.json (step 1)")


def test_a_damaged_journal_is_exit_6_everywhere(run: str, partner_home: Path) -> None:
    """Show, cel, note and files refuse a damaged journal with exit 6 and a remedy."""
    journal = partner_home / "runs" / run / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"Which", b"Whose", 1))
    for command in (("show", run), ("cel", run), ("note", run, "x"), ("files", "ls", run), ("verify", run)):
        assert partner(*command).code == 6, command
    assert "record 1 is damaged" in partner("show", run).stderr


def test_a_newer_format_is_a_usage_error(run: str, partner_home: Path) -> None:
    """A run of a newer program is refused with what to do."""
    forge(partner_home / "runs" / run, lambda body: body.replace(b'"format":1', b'"format":7'))
    answer = partner("show", run)
    assert answer.code == 2
    assert "format 7" in answer.stderr


@pytest.mark.parametrize("command", [["show"], ["cel"], ["verify"], ["close"], ["files", "ls"]])
def test_an_unknown_run_is_exit_5(command: list[str]) -> None:
    """A run that is not there is exit 5, on stderr with what to do, and with --json as one object."""
    answer = partner(*command, "zzzz")
    assert (answer.code, answer.stdout) == (5, b"")
    assert answer.stderr.startswith("error: no run 'zzzz'")
    assert partner(*command, "zzzz", "--json").json["error"]["kind"] == "NotFound"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "CEL.md", "x" * 300])
def test_a_path_that_leads_out_is_exit_2(run: str, path: str) -> None:
    """A path that could leave the run is a usage error, and nothing is recorded."""
    answer = partner("files", "write", run, path, stdin=b"x")
    assert answer.code == 2
    assert "  → " in answer.stderr
    assert len(partner("show", run, "--json").json["steps"]) == 1


def test_a_home_that_cannot_be_written_is_exit_1(tmp_path: Path) -> None:
    """A home that is no folder is named with a remedy, by `open` and by `doctor`."""
    (tmp_path / "file").write_text("")
    answer = partner("--home", tmp_path / "file", "open")
    assert (answer.code, answer.stdout) == (1, b"")
    assert str(tmp_path / "file") in answer.stderr
    assert partner("--home", tmp_path / "file" / "below", "open").code == 1


def test_names_cannot_disturb_the_terminal(run: str) -> None:
    """A file name with escapes, newlines and a forged line is shown spelt out, in every listing."""
    name = "\x1b[2J\n✓ all is well\u202e"
    partner("files", "write", run, name, stdin=b"x")
    for command in (("show", run), ("files", "ls", run), ("cel", run), ("verify", run)):
        text = partner(*command).text
        assert not {"\x1b", "\u202e"} & set(text)
        assert "\n✓ all is well" not in text
    assert name in [file["path"] for file in partner("files", "ls", run, "--json").json["files"]]


def test_config_shows_values_and_origins(partner_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting is shown with its origin; a secret is masked in both forms."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-123")
    answer = partner("config", "--json").json
    assert answer["home"] == {"value": str(partner_home), "source": "environment PARTNER_HOME"}
    assert answer["tavily_api_key"] == {"value": "**********", "source": "environment TAVILY_API_KEY"}
    assert "tvly" not in partner("config").text
    assert "not set" not in partner("config").text


def test_doctor_puts_the_worst_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble comes before good news, with its remedy; a fault of the home is exit 1."""
    monkeypatch.setenv("PARTNER_HMOE", "x")
    answer = partner("doctor")
    assert answer.code == 0
    assert answer.text.splitlines()[0] == "! settings   PARTNER_HMOE sets nothing   → did you mean PARTNER_HOME?"
    (tmp_path / "home").write_text("in the way")
    bad = partner("doctor", "--json")
    assert (bad.code, bad.json["findings"][0]["level"]) == (1, "✗")


def test_help_begins_with_a_sentence_and_two_examples() -> None:
    """Every command's help says what it does and shows it twice."""
    commands = ["open", "runs", "show", "cel", "note", "close", "verify", "config", "doctor"]
    for command in [[name] for name in commands] + [["files", name] for name in ("ls", "read", "write", "rm")]:
        text = partner(*command, "--help").text
        assert text.count(f" partner {' '.join(command)}") + text.count("(partner open)") >= 2, text


def test_usage_errors_are_exit_2() -> None:
    """An unknown command or option, or a missing argument, is exit 2."""
    for command in (["nope"], ["show"], ["open", "--nope"], ["cel", "x", "--at", "one"]):
        assert partner(*command).code == 2


def test_an_interrupt_is_exit_130_and_leaves_the_run_as_it_was(run: str) -> None:
    """Ctrl-C while a file is being written: exit 130, no half-written file, no step."""
    before = partner("show", run, "--json").json
    command = [sys.executable, "-m", "partner", "files", "write", run, "file"]
    # A shell starts its background jobs, and so perhaps these tests, with interrupts ignored.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=listen) as writing:  # noqa: PLW1509
        assert writing.stdin
        writing.stdin.write(bytes(4_000_000))  # more than a pipe holds: when this returns, it is being read
        writing.send_signal(signal.SIGINT)
        assert writing.wait(timeout=60) == 130
    assert partner("show", run, "--json").json == before
    assert os.listdir(record_of(run).folder / "incoming") == []


@pytest.mark.parametrize("command", [["show"], ["nope"], ["cel", "latest", "--at", "x"], ["open", "--nope"]])
def test_usage_errors_are_objects_too(command: list[str]) -> None:
    """With --json a wrong call prints one object that says what is wrong, and is exit 2."""
    answer = partner(*command, "--json")
    assert answer.code == 2
    assert answer.json["error"]["problem"]
    assert answer.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["open", "--objective", "\udcff"],
        ["note", "latest", "\udcff"],
        ["note", "latest", "-"],
        ["close", "latest", "--reason", "\udcff"],
        ["files", "ls", "latest", "\udcff"],
        ["files", "write", "latest", "\udcff"],
    ],
)
def test_text_that_is_not_utf8_is_refused(run: str, command: list[str]) -> None:
    """Bytes that are no text are a usage error with the value shown, and nothing is recorded."""
    before = partner("show", run, "--json").json
    answer = partner(*command, stdin=b"abc\xff")
    assert (answer.code, answer.stdout) == (2, b"")
    assert "not UTF-8" in answer.stderr
    assert partner("show", run, "--json").json == before


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


def test_a_busy_run_is_exit_1(run: str) -> None:
    """A run that another process holds is not a usage error: trying again later helps."""
    assert exit_code(RunIsBusy("held")) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_old_encodings_get_the_characters_spelt_out(run: str, encoding: str) -> None:
    """On a terminal that cannot show a tick, the command still says what it has to say."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [sys.executable, "-m", "partner", "verify", run], env=environment, capture_output=True, check=True
    )
    assert b"is whole" in done.stdout


def test_closed_streams_are_no_crash(run: str) -> None:
    """With stdin, stdout or stderr closed, commands do their work, and messages do not stray onto stdout."""
    me = f"{sys.executable} -m partner"
    for command, output in (
        (f"{me} note {run} - <&-", b""),
        (f"{me} cel {run} >&-", b""),
        (f"{me} open 2>&- | wc -l", b"1\n"),
    ):
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        assert (done.stdout, b"Traceback" in done.stderr) == (output, False), command


def test_tab_completes_runs_of_the_home_that_is_meant(run: str, tmp_path: Path) -> None:
    """The shell's completion offers run ids, from the home that was named, and nothing when settings are broken."""
    environment = {**os.environ, "_PARTNER_COMPLETE": "complete_bash", "COMP_WORDS": "partner show ", "COMP_CWORD": "2"}
    command = [str(Path(sys.executable).parent / "partner")]
    offered = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.split()
    assert offered == sorted([run, "latest"])
    (tmp_path / "partner.toml").write_text("broken")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_doctor_reports_what_it_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home is fine; a broken setting is a line of the report, not the end of it."""
    (tmp_path / "empty").mkdir()
    assert partner("--home", tmp_path / "empty", "doctor").code == 0
    (tmp_path / "partner.toml").write_text("home = 3")
    monkeypatch.delenv("PARTNER_HOME")
    answer = partner("doctor")
    assert answer.code == 1
    assert answer.text.startswith("✗ settings   the setting home is refused")
    assert "✓ versions" in answer.text


def test_json_is_one_object_and_nothing_else(run: str) -> None:
    """With --json, stdout parses as one object for every command."""
    for command in (
        ["open"], ["runs"], ["show", run], ["cel", run], ["note", run, "x"], ["verify", run], ["config"], ["doctor"],
        ["files", "ls", run], ["files", "read", run, "facts.json"], ["files", "write", run, "f"], ["close", run],
    ):  # fmt: skip
        assert isinstance(json.loads(partner(*command, "--json", stdin=b"x").stdout), dict), command
