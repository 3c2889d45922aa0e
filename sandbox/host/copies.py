"""Copies of files for a check: what is named is copied, and nothing that a link leads to."""

import os
import stat
from typing import Final

from sandbox.host.refusal import Refusal
from sandbox.linux import open_without_links

_PIECE: Final = 1 << 20


def make(files: dict[str, str], place: str, most_bytes: int, uid: int | None) -> None:
    """Copy each file to its name beneath `place`, for this user to read; all of them together at most so large."""
    left = most_bytes
    for name, source in files.items():
        target = os.path.join(place, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        left -= _copy(source, target, left)
    for folder, _, names in os.walk(place, topdown=False):
        for path, mode in (*((os.path.join(folder, name), 0o400) for name in names), (folder, 0o500)):
            os.chmod(path, mode)
            if uid is not None:
                os.chown(path, uid, uid)


def _copy(source: str, target: str, most_bytes: int) -> int:
    try:
        reading = open_without_links(source)
    except OSError as error:
        raise Refusal(
            "UnfitWorkDirectory", f"{source} cannot be checked: {error.strerror}", "name plain files"
        ) from error
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("UnfitWorkDirectory", f"{source} is no plain file", "name plain files")
        if status.st_size > most_bytes:
            raise Refusal("UnfitWorkDirectory", f"{source} is larger than a check may hold", "raise disk_bytes")
        with open(target, "xb") as writing:
            while os.sendfile(writing.fileno(), reading, None, _PIECE):
                if writing.tell() > most_bytes:
                    raise Refusal("UnfitWorkDirectory", f"{source} grew while it was copied", "try again")
        return status.st_size
    finally:
        os.close(reading)
