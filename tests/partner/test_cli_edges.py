"""The command line when it is called wrongly, watched oddly, or stopped."""

import functools
import io
import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from fakes.command_line import partner
from fakes.forger import forge
from partner.cli.app import run as run_command
from partner.cli.failure import exit_code
from partner.cli.screen import mark, width
from run_record import Home, RunId, RunRecord
from run_record.errors import RunIsBusy

pytestmark = pytest.mark.usefixtures("partner_home")


def record_of(run: str) -> RunRecord:
    return Home(Path(os.environ["PARTNER_HOME"])).open_run(RunId(run))


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
    """A path that could leave the run is a usage error: a step that says so is all that comes of it."""
    answer = partner("files", "write", run, path, stdin=b"x")
    assert answer.code == 2
    assert "  → " in answer.stderr
    report = partner("show", run, "--json").json
    assert [step["ok"] for step in report["steps"]] == [True, False]
    assert [file["path"] for file in report["artifacts"]] == ["facts.json"]
    assert "refused (out_of_scope)" in partner("cel", run).text


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


def test_an_interrupt_is_exit_130_and_leaves_the_files_as_they_were(run: str) -> None:
    """Ctrl-C while a file is being written: exit 130, no half-written file, and the record says it was cancelled."""
    before = partner("show", run, "--json").json
    command = [sys.executable, "-m", "partner", "files", "write", run, "file"]
    # A shell starts its background jobs, and so perhaps these tests, with interrupts ignored.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=listen) as writing:  # noqa: PLW1509
        assert writing.stdin
        writing.stdin.write(bytes(4_000_000))  # more than a pipe holds: when this returns, it is being read
        writing.send_signal(signal.SIGINT)
        assert writing.wait(timeout=180) == 130
    after = partner("show", run, "--json").json
    assert after["artifacts"] == before["artifacts"]
    assert "not done (cancelled): interrupted before it ended" in partner("cel", run).text
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


@pytest.mark.parametrize("words", ["partner run quick", "partner recipe check quick"])
def test_tab_completes_recipes(words: str) -> None:
    """Wherever a command takes one."""
    variables = {"_PARTNER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [str(Path(sys.executable).parent / "partner")]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["quick-look"]


def test_json_is_one_object_and_nothing_else(run: str) -> None:
    """With --json, stdout parses as one object for every command."""
    for command in (
        ["open"], ["runs"], ["show", run], ["cel", run], ["note", run, "x"], ["verify", run], ["config"], ["doctor"],
        ["files", "ls", run], ["files", "read", run, "facts.json"], ["files", "write", run, "f"], ["close", run],
    ):  # fmt: skip
        assert isinstance(json.loads(partner(*command, "--json", stdin=b"x").stdout), dict), command


def test_even_our_own_fault_is_one_object_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that reads stdout learns what it was; where it happened goes to stderr as always."""

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("partner.cli.config.show_config", breaks)
    with pytest.raises(ZeroDivisionError):
        run_command(["config", "--json"])
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["problem"]) == ("ZeroDivisionError", "by nothing")


def test_a_mark_has_its_colour_where_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress on stderr is plain in a file, also while stdout is a terminal; and the other way round."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert mark("✓") == "\033[32m✓\033[0m"
    assert mark("✓", io.StringIO()) == "✓"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert mark("✓", Terminal()) == "\033[32m✓\033[0m"


@pytest.mark.parametrize(("columns", "room"), [(0, 1000), (40, 39), (200, 199)])
def test_a_line_fits_the_terminal_it_goes_to(columns: int, room: int) -> None:
    """Where there is no terminal, or one that does not say how wide it is, nothing need be cut."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with open(theirs, "w") as terminal:
        assert width(terminal) == room
    assert width(io.StringIO()) == 1000
    os.close(ours)
