"""Locks that end with their holder."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prefect.locking.protocol import LockManager

from tasks.lock_manager import FlockLockManager

HOLD = """
import sys, time
from pathlib import Path
from tasks.lock_manager import FlockLockManager
FlockLockManager(Path(sys.argv[1])).acquire_lock("key", "other")
print("held", flush=True)
time.sleep(60)
"""


def test_it_is_what_prefect_asks_for(tmp_path: Path) -> None:
    """It has every method of Prefect's protocol."""
    assert isinstance(FlockLockManager(tmp_path), LockManager)


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    """Another holder is refused in time, also in the same process; the same one may ask again."""
    first, second = FlockLockManager(tmp_path), FlockLockManager(tmp_path)
    assert first.acquire_lock("key", "a")
    assert first.acquire_lock("key", "a", 0)
    assert not second.acquire_lock("key", "b", 0.05)
    assert second.acquire_lock("other.key", "b", 0)
    assert second.is_locked("key")
    assert first.is_lock_holder("key", "a")
    assert not first.is_lock_holder("key", "b")
    first.release_lock("key", "a")
    assert second.wait_for_lock("key", 0)
    assert second.acquire_lock("key", "b", 0)


def test_only_its_holder_releases_it(tmp_path: Path) -> None:
    """Anybody else is told so."""
    lock = FlockLockManager(tmp_path)
    lock.acquire_lock("key", "a")
    with pytest.raises(ValueError, match="'b' does not hold"):
        lock.release_lock("key", "b")
    assert lock.is_locked("key")


def test_keys_with_dots_and_slashes_are_locks_of_their_own(tmp_path: Path) -> None:
    """Whatever is in a key, no two share a lock, and none leads out of the folder."""
    lock = FlockLockManager(tmp_path / "locks")
    for key in ("a.b", "a.c", "a/b", "../../a", "a" * 5000):
        assert lock.acquire_lock(key, "a", 0), key
    assert [path.parent for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "locks"] * 5


def test_the_lock_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    """The kernel takes it back, and whoever waits has it."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    lock, had = FlockLockManager(tmp_path), threading.Event()
    waiting = threading.Thread(target=lambda: lock.acquire_lock("key", "a") and had.set(), daemon=True)
    waiting.start()
    assert not had.wait(0.1)
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert had.wait(10)


def test_a_lock_that_is_reserved_is_had_at_once(tmp_path: Path) -> None:
    """By whoever asks for it here, as often as they like; others wait, and hear when they are stopped."""
    here, elsewhere = FlockLockManager(tmp_path), FlockLockManager(tmp_path)
    with here.reserved("key", lambda: False) as has_waited:
        assert not has_waited
        for holder in ("a", "b"):
            assert here.acquire_lock("key", holder)
            here.release_lock("key", holder)
        assert here.wait_for_lock("key", 0)
        assert not here.is_locked("key")
        assert not elsewhere.acquire_lock("key", "c", acquire_timeout=0)
        stops = iter((False, True))
        with elsewhere.reserved("key", lambda: next(stops)) as has_waited_there:
            assert has_waited_there
    assert elsewhere.acquire_lock("key", "c", acquire_timeout=0)
    assert not here.acquire_lock("key", "a", acquire_timeout=0), "it was reserved for as long as that lasted"
