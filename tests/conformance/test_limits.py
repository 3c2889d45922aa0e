"""What a session may use, and what happens when it wants more."""

import time

import pytest

from fakes.backends import Desk, Place

MEBIBYTE = 1 << 20


def test_too_large_an_allocation_is_a_memory_error(place: Place) -> None:
    """One allocation beyond the limit fails as MemoryError, the cause is oom, and the variables stay."""
    with place.session(limits={"memory_bytes": 256 * MEBIBYTE}) as desk:
        desk.run("x = 41")
        result = desk.run("y = bytearray(10**9)")
        assert (result.cause, result.fault, result.state) == ("oom", "limit", "kept")
        assert desk.value("x") == "41"


def test_a_memory_bomb_is_stopped_and_named(place: Place) -> None:
    """Memory taken by many processes is stopped too: the cause is oom, the machine stays whole, the variables too."""
    with place.session(limits={"memory_bytes": 256 * MEBIBYTE, "timeout_s": 60}) as desk:
        desk.run("x = 41")
        bomb = "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        b = bytearray(10**8)\n        time.sleep(60)\n"
        result = desk.run(bomb + "time.sleep(60)")
        assert result.cause == "oom", result.detail
        assert "MB" in result.detail
        assert desk.value("x") == "41"


def test_a_fork_bomb_is_contained(place: Place) -> None:
    """Processes end at the limit, what is left of them is killed, and the session goes on."""
    with place.session(limits={"processes": 32, "timeout_s": 5}) as desk:
        desk.run("x = 41")
        result = desk.run("import os\nwhile True:\n    os.fork()")
        assert result.cause in ("limit", "timeout"), result.detail
        assert desk.value("x", timeout_s=30) == "41"


def test_too_many_threads_are_a_limit(place: Place) -> None:
    """A thread beyond the limit is refused, and the cause says so."""
    with place.session(limits={"processes": 32}) as desk:
        code = "import threading\ne = threading.Event()\nfor _ in range(500):\n    threading.Thread(target=e.wait, daemon=True).start()"
        assert desk.run(code).cause == "limit"
        assert desk.value("e.set(); 1") == "1"


def test_a_file_ends_at_its_largest_size(place: Place) -> None:
    """Writing on beyond the largest size is a limit, not a crash."""
    with place.session(limits={"file_bytes": MEBIBYTE}) as desk:
        result = desk.run("with open('big', 'wb') as f:\n    while True:\n        f.write(bytes(100_000))")
        assert (result.cause, result.fault) == ("limit", "limit")
        assert (desk.work / "big").stat().st_size <= MEBIBYTE


def test_the_disk_is_not_filled(place: Place) -> None:
    """Many files above the disk limit stop the cell; the overshoot is told; deleting is possible after."""
    with place.session(limits={"disk_bytes": 8 * MEBIBYTE}) as desk:
        code = "import time\nfor n in range(10_000):\n    open(f'f{n}', 'wb').write(bytes(1 << 20)); time.sleep(.02)"
        result = desk.run(code, timeout_s=30)
        assert result.cause == "limit", result.detail
        assert result.detail.startswith("disk: ")
        assert "8 MB allowed" in result.detail
        assert desk.run("import os\nfor n in os.listdir('.'): os.remove(n)").ok


def test_open_files_end_at_their_limit(place: Place) -> None:
    """Running out of descriptors is a limit of the cell's, and the session goes on."""
    with place.session(limits={"open_files": 64}) as desk:
        result = desk.run("files = []\nwhile True:\n    files.append(open('/dev/null'))")
        assert result.cause == "limit"
        assert desk.run("files.clear()").ok


def test_processor_time_has_a_limit(place: Place) -> None:
    """A cell that burns more processor time than allowed is stopped, whatever its wall time."""
    with place.session(limits={"cpu_s": 0.5}) as desk:
        result = desk.run("while True: pass", timeout_s=30)
        assert result.cause == "limit"
        assert result.detail.startswith("cpu: ")
        assert result.seconds < 10


def test_endless_output_is_counted_and_stopped_in_time(place: Place) -> None:
    """Gigabytes without a newline neither fill the host nor hold up the timeout."""
    with place.session(limits={"output_bytes": 4096}) as desk:
        result = desk.run("import os\nb = b'x' * (1 << 20)\nwhile True: os.write(1, b)", timeout_s=2)
        assert result.cause == "timeout"
        assert result.stdout.captured == 4096
        assert result.stdout.total > 10 * MEBIBYTE


def test_endless_output_of_a_program_left_behind_ends_with_the_cell(desk: Desk) -> None:
    """A background program that prints for ever is killed with what else the cell left."""
    result = desk.run("import subprocess; p = subprocess.Popen(['yes'])")
    assert result.ok
    assert result.killed_processes == 1


def test_a_daemon_left_behind_is_killed_when_the_cell_ends(desk: Desk) -> None:
    """A process that detached itself twice is found and ended all the same."""
    code = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        while True:\n            time.sleep(.05); open('alive', 'a').write('x')\n    os._exit(0)\nos.wait()\ntime.sleep(.3)"
    )
    result = desk.run(code, checkpoint="off")
    assert result.ok, result.detail
    assert result.killed_processes == 1
    size = (desk.work / "alive").stat().st_size
    time.sleep(0.3)
    assert (desk.work / "alive").stat().st_size == size


def test_a_cell_can_be_interrupted_from_elsewhere(place: Place) -> None:
    """Another client's interrupt stops the cell, and the cause says it was no timeout."""
    import threading

    with place.session() as desk:
        threading.Timer(0.5, desk.session.interrupt).start()
        result = desk.run("import time; time.sleep(60)")
        assert (result.cause, result.state) == ("interrupted", "kept")
        assert desk.session.interrupt() is False


@pytest.mark.parametrize("timeout_s", [0.2, 1.0])
def test_a_timeout_is_kept(desk: Desk, timeout_s: float) -> None:
    """The cell is interrupted when its time is over, not much later."""
    result = desk.run("import time; time.sleep(30)", timeout_s=timeout_s)
    assert timeout_s <= result.seconds < timeout_s + 2
