"""CEL.md on disk: appended at its end, and written anew when it is not what we left."""

import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from run_record.beneath import open_regular
from run_record.cel.cel_text import Edit
from run_record.cel.step_block import PENDING
from run_record.durable import write_all
from run_record.errors import CallerError, NotFound
from run_record.incoming import Incoming
from run_record.scan import Signature

CEL = "CEL.md"
_log = logging.getLogger(__name__)


class CelFile:
    """One copy of CEL.md, in a folder where others may meddle with it.

    Derived, so never synced: after a crash it is rendered from the journal. A copy that cannot be
    written (a full disk) is left behind and caught up with the next entry; the journal is not held up.
    """

    def __init__(self, folder: Path, incoming: Incoming, mode: int) -> None:
        self._folder = folder
        self._mode = mode
        self._incoming = incoming
        self._left: Signature | None = None

    def bring_up(self, text: str) -> bool:
        """Make it hold this text; False if what was there was neither that nor an earlier state of it."""
        wanted = text.encode()
        try:
            found, self._left = read_cel(self._folder, len(wanted))
        except OSError as error:
            self._give_up(error)
            return True
        if found == wanted:
            return True
        self._replace(text)
        return wanted.startswith(found.removesuffix(f"{PENDING}\n".encode()))

    def apply(self, edit: Edit, whole: Callable[[], str]) -> bool:
        """Change its end; False if it was not as we left it, and so was written anew."""
        if self._left is None:
            self._replace(whole())
            return True
        try:
            is_ours = self._append(edit)
        except OSError as error:
            self._give_up(error)
            return True
        if not is_ours:
            self._replace(whole())
        return is_ours

    def _append(self, edit: Edit) -> bool:
        try:
            fd = _open(self._folder, os.O_WRONLY)
        except CallerError:
            return False
        try:
            found = Signature.of(os.fstat(fd))
            if found != self._left:
                return False
            end = found.size - edit.drop
            os.lseek(fd, end, os.SEEK_SET)
            write_all(fd, edit.add.encode())
            os.ftruncate(fd, end + len(edit.add.encode()))
            self._left = Signature.of(os.fstat(fd))
        finally:
            os.close(fd)
        return True

    def _replace(self, text: str) -> None:
        try:
            with self._incoming.draft(self._mode) as draft:
                write_all(draft.fd, text.encode())
                try:
                    os.rename(draft.path, self._folder / CEL)
                except IsADirectoryError:
                    os.rename(self._folder / CEL, self._folder / f"{CEL}.set-aside-{secrets.token_hex(4)}")
                    os.rename(draft.path, self._folder / CEL)
                self._left = Signature.of(os.fstat(draft.fd))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._left = None
        _log.warning("%s is behind its journal: %s; it will be caught up", self._folder / CEL, error)


def read_cel(folder: Path, size_bytes: int) -> tuple[bytes, Signature | None]:
    """What CEL.md in that folder holds, and its signature; nothing that is longer than it should be is read."""
    try:
        with os.fdopen(_open(folder, os.O_RDONLY), "rb") as file:
            signature = Signature.of(os.fstat(file.fileno()))
            return (file.read() if signature.size <= size_bytes else b"too long"), signature
    except NotFound:
        return b"", None
    except CallerError:
        return b"not a plain file", None


def _open(folder: Path, flags: int) -> int:
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return open_regular(root, CEL, flags)
    finally:
        os.close(root)
