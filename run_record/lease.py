"""One runner per run: whoever holds the lease may run steps; the kernel takes it back when they die.

Whoever ends well leaves the file empty: a name in a lease that nobody holds is that of a runner who failed or died.
"""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from run_record.durable import write_all
from run_record.errors import MachineRefused, RunIsBusy

LEASE = "lease"


@contextmanager
def lease(run_folder: Path, who: str) -> Generator[None]:
    """Be the run's only runner, or be refused at once with the name of the one that is."""
    try:
        fd = os.open(run_folder / LEASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise MachineRefused.because(f"the lease in {run_folder} cannot be taken", error) from error
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunIsBusy(
                f"run {run_folder.name} is being run by {_holder(fd)}",
                "wait for it to end, or stop that process; notes and files can be added meanwhile",
            ) from None
        os.ftruncate(fd, 0)
        write_all(fd, json.dumps({"who": who, "pid": os.getpid()}).encode())
        yield
        os.ftruncate(fd, 0)
    finally:
        os.close(fd)  # and with it the lock


def is_taken(run_folder: Path) -> bool:
    """Whether a runner has not ended well: one that is at work, or failed, or died."""
    try:
        return (run_folder / LEASE).lstat().st_size > 0
    except OSError:
        return False


def is_held(run_folder: Path) -> bool:
    """Whether a runner is at work."""
    try:
        fd = os.open(run_folder / LEASE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _holder(fd: int) -> str:
    try:
        holder = json.loads(os.pread(fd, 4096, 0))
        return f"{holder['who']} (process {holder['pid']})"
    except (ValueError, KeyError, TypeError):
        return "another process"
