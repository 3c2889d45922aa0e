"""The one directory a run may touch, `tmp/`: every path from outside is opened beneath it or refused."""

import errno
import io
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from run_record.artifact import Artifact
from run_record.beneath import check_path, open_folder, open_regular
from run_record.durable import write_all
from run_record.errors import CallerError, MachineRefused, NotFound, UnsafePath
from run_record.hashed_copy import Stream, write_hashed
from run_record.incoming import Incoming
from run_record.object_store import ObjectStore
from run_record.plain_text import printable
from run_record.scan import Scan, Signature, empty_folders, scan

_CHUNK_BYTES = 1 << 20


class Workspace:
    """Reads, writes, lists and deletes a run's files, and puts back what the object store holds.

    Files are written outside the run's reach and appear whole; only what is put back where a file is goes into
    that file. Who may call and what is recorded of it is not decided here.
    """

    def __init__(self, root: Path, incoming: Incoming, reserved: str = "") -> None:
        self.root = root
        self._incoming = incoming
        self._reserved = reserved

    def write(self, path: str, content: bytes | Stream) -> Artifact:
        """Give a file new content, from memory or from a stream of any length."""
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        with self._arriving(path) as fd:
            size, sha256 = write_hashed(source, fd)
        return Artifact(path=path, size=size, sha256=sha256)

    def restore(self, artifact: Artifact, objects: ObjectStore) -> None:
        """Bring a file back as the object store has it.

        A file that is there gets the content, as from a cell that writes it again: variables may hold it open, such
        as a database or a log, and would not know of another file by that name.
        """
        with self._arriving(artifact.path, is_for_file_there=True) as fd:
            objects.copy_to(artifact.sha256, fd)

    @contextmanager
    def _arriving(self, path: str, *, is_for_file_there: bool = False) -> Generator[int]:
        """A descriptor to fill; then the file takes its place, at one stroke."""
        self._check_ours(path)
        folder, _, name = path.rpartition("/")
        try:
            with self._incoming.draft() as draft, self._open_root() as root:
                yield draft.fd
                if is_for_file_there and _poured(draft.fd, root, path):
                    return
                if (
                    owner := os.fstat(root)
                ).st_uid != os.geteuid():  # cells run as a user of their own, and must read it
                    os.fchown(draft.fd, owner.st_uid, owner.st_gid)
                parent = open_folder(root, folder, create=True)
                try:
                    os.rename(draft.path, name, dst_dir_fd=parent)
                finally:
                    os.close(parent)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ENOTEMPTY):
                raise UnsafePath(f"'{printable(path)}' is a folder", "write to a file inside it") from None
            raise MachineRefused.because(f"'{printable(path)}' could not be written", error) from error

    def open(self, path: str) -> BinaryIO:
        """The plain file at that path, for reading."""
        with self._open_root() as root:
            return os.fdopen(open_regular(root, path), "rb")

    def delete(self, path: str) -> None:
        """Remove a file, or a link itself; folders that become empty go with it."""
        self._check_ours(path)
        folder, _, name = path.rpartition("/")
        with self._open_root() as root:
            parent = open_folder(root, folder)
            try:
                os.unlink(name, dir_fd=parent)
            except FileNotFoundError:
                raise NotFound(
                    f"no file '{printable(path)}' in this run", "`partner files ls RUN` lists them"
                ) from None
            except IsADirectoryError:
                raise UnsafePath(f"'{printable(path)}' is a folder", "delete the files in it") from None
            finally:
                os.close(parent)
            self._drop_empty_folders(root, folder)

    def make_folder(self, path: str) -> None:
        """Have a folder there, and those above it."""
        self._check_ours(path)
        with self._open_root() as root:
            os.close(open_folder(root, path, create=True))

    def drop_folder(self, path: str) -> None:
        """Remove a folder that holds nothing, and those above it that held only that."""
        with self._open_root() as root:
            self._drop_empty_folders(root, path)

    def empty_folders(self) -> frozenset[str]:
        """The folders that hold nothing: the only ones that no file's path names."""
        with self._open_root() as root:
            return empty_folders(root)

    def _drop_empty_folders(self, root: int, folder: str) -> None:
        with suppress(OSError, CallerError):  # not empty, or swapped meanwhile: it stays, and so do those above it
            while folder:
                parent, _, name = folder.rpartition("/")
                fd = open_folder(root, parent)
                try:
                    os.rmdir(name, dir_fd=fd)
                finally:
                    os.close(fd)
                folder = parent

    def _check_ours(self, path: str) -> None:
        if check_path(path).split("/")[0] == self._reserved:
            raise UnsafePath(
                f"{self._reserved} is written by the record alone", "add a note instead: `partner note RUN TEXT`"
            )

    def scan(self) -> Scan:
        """Everything that lies here now."""
        with self._open_root() as root:
            return scan(root)

    def scan_paths(self, paths: Iterable[str]) -> Scan:
        """The same for a few paths only."""
        found = Scan()
        for path in paths:
            try:
                with self.open(path) as file:
                    found.files[path] = Signature.of(os.fstat(file.fileno()))
            except NotFound:
                continue
            except UnsafePath as error:
                found.skipped[path] = error.problem
        return found

    @contextmanager
    def _open_root(self) -> Generator[int]:
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)


def _poured(source: int, root: int, path: str) -> bool:
    """Whether the plain file at that path was there to be given the content."""
    try:
        target = open_regular(root, path, os.O_WRONLY)
    except (CallerError, OSError):
        return False
    try:
        os.lseek(source, 0, os.SEEK_SET)
        size = 0
        while chunk := os.read(source, _CHUNK_BYTES):
            write_all(target, chunk)
            size += len(chunk)
        os.ftruncate(target, size)  # at the end: what a cell has mapped of it stays there
    finally:
        os.close(target)
    return True
