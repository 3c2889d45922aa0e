"""partner sandbox: cells by hand, the host, its walls."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.command_line import partner


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where a session's user can get to, which a test's own folder is not."""
    with tempfile.TemporaryDirectory(prefix="partner-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(autouse=True)
def one_home(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """One host for all of these tests."""
    monkeypatch.setenv("PARTNER_HOME", str(folder / "home"))
    monkeypatch.setenv("PARTNER_HOST_IDLE_S", "10")


def test_one_cell_from_the_command_line() -> None:
    """What it prints and its last value are on stdout, what it touched on stderr."""
    answer = partner("sandbox", "shell", "--code", "print('hello'); open('x.csv', 'w').write('a'); 6 * 7")
    assert answer.code == 0
    assert answer.text == "hello\n42\n"
    assert "created x.csv" in answer.stderr


def test_a_cell_from_a_pipe_in_a_folder_that_stays(folder: Path) -> None:
    """--folder keeps what cells write."""
    work = folder / "kept"
    work.mkdir()
    assert (
        partner(
            "sandbox", "shell", "--folder", work, stdin=b"for n in range(2):\n    open(f'{n}.txt', 'w').write('x')\n"
        ).code
        == 0
    )
    assert sorted(path.name for path in work.iterdir()) == ["0.txt", "1.txt"]


def test_a_cell_that_fails_is_exit_code_1() -> None:
    """The traceback is on stderr, and nothing else is said: the session went on."""
    answer = partner("sandbox", "shell", "--code", "1 / 0")
    assert answer.code == 1
    assert "ZeroDivisionError" in answer.stderr
    assert "cell stopped" not in answer.stderr


def test_a_cell_that_takes_too_long_says_what_to_do() -> None:
    """The cause, what became of the variables, and the remedy."""
    answer = partner("sandbox", "shell", "--timeout-s", "0.5", "--code", "sum(range(10**12))")
    assert answer.code == 1
    assert "cell stopped: still running after 0.5 s (interrupted twice, then killed)" in answer.stderr
    assert "variables are as they were before this cell" in answer.stderr
    assert "→ raise --timeout-s" in answer.stderr


def test_a_result_as_json() -> None:
    """--json prints the whole result: cause, outputs, files."""
    answer = partner("sandbox", "shell", "--json", "--code", "print('é'); open('missing.csv')")
    assert answer.code == 1
    result = answer.json
    assert (result["ok"], result["cause"], result["touched"]["missed"]) == (False, "error", ["missing.csv"])
    assert result["outputs"][0] == {"output_type": "stream", "name": "stdout", "text": "é\n"}


def test_json_needs_a_cell() -> None:
    """One result is one object, so --json without --code is a usage error."""
    assert partner("sandbox", "shell", "--json").code == 2


def test_output_cannot_move_the_cursor() -> None:
    """Escape sequences of a cell are shown, not obeyed."""
    answer = partner("sandbox", "shell", "--code", "print('\\x1b[2Jgone')")
    assert "\x1b" not in answer.text


def test_limits_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """PARTNER_CELL_… sets what a cell may use."""
    monkeypatch.setenv("PARTNER_CELL_OUTPUT_KB", "1")
    answer = partner("sandbox", "shell", "--code", "print('x' * 5000)")
    assert len(answer.text) == 1024
    assert "stdout: 1.0 kB shown of 5.0 kB" in answer.stderr


def test_status_shows_the_walls() -> None:
    """Each wall and what it stands by; as JSON too."""
    partner("sandbox", "shell", "--code", "1")
    text = partner("sandbox", "status").text
    for wall in ("files", "network", "identity", "processes", "metadata", "resources"):
        assert wall in text
    assert partner("sandbox", "status", "--json").json["walls"]["files"].startswith("Landlock")


def test_stop_ends_the_host() -> None:
    """After stop there is none; the next cell starts another."""
    partner("sandbox", "shell", "--code", "1")
    assert partner("sandbox", "stop", "--json").json == {"was_up": True, "closed": 0}
    assert partner("sandbox", "status").text.startswith("no sandbox host is up")
    assert partner("sandbox", "stop").code == 0
    assert partner("sandbox", "shell", "--code", "1").code == 0


def test_no_safe_sandbox_is_exit_code_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing wall is refused with the remedy, and nothing is run."""
    monkeypatch.setenv("PARTNER_SANDBOX_LANDLOCK_ABI_MAX", "0")
    answer = partner("sandbox", "shell", "--code", "1")
    assert answer.code == 4
    assert "nothing would wall off files" in answer.stderr
    doctor = partner("doctor", "--json")
    assert doctor.code == 1
    assert doctor.json["findings"][0]["subject"] == "sandbox"


def test_doctor_shows_walls_and_host() -> None:
    """One line for the walls as they were tried, one for the host."""
    text = partner("doctor").text
    assert "jail: files, network, identity, processes, metadata walled (Landlock" in text
    assert "✓ host       pid " in text


def test_a_missing_environment_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the sandbox's environment the remedy is make install."""
    monkeypatch.setenv("PARTNER_SANDBOX_ENVIRONMENT", str(tmp_path))
    answer = partner("sandbox", "shell", "--code", "1")
    assert answer.code == 1
    assert "make install" in answer.stderr


def test_cells_from_the_keyboard(folder: Path) -> None:
    """At a terminal: one line at once, a longer cell at an empty line, Ctrl-D ends; variables persist."""
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    command = [sys.executable, "-m", "partner", "sandbox", "shell"]
    process = subprocess.Popen(command, stdin=child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    os.write(parent, b"x = 40\nfor n in range(2):\n    x += 1\n\nx\n\x04")
    out, _ = process.communicate(timeout=180)
    os.close(parent)
    os.close(child)
    assert process.returncode == 0
    assert "42" in out.decode().split()
