"""The documents in a folder: found in one pass, read within bounds."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from three_tools.search.documents import FILE_BYTES, is_document
from three_tools.search.packed_text import UnreadableFile


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as the folder lists it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Changes also when a file of the same size and time takes its place, or when we may read it now."""


def walk(folder: Path) -> Iterator[tuple[bytes, SeenFile]]:
    """Every document beneath the folder, in one pass; hidden ones and links are passed over.

    A folder that cannot be listed is given as if it were a document, which then cannot be read either.
    """
    pending = [(os.fsencode(folder), b"")]
    while pending:
        place, prefix = pending.pop()
        try:
            with os.scandir(place) as entries:
                listed = list(entries)
        except FileNotFoundError:
            continue  # gone since
        except OSError:
            if not prefix:
                raise
            yield prefix, SeenFile(0, 0, 0)
            continue
        for entry in listed:
            if entry.name.startswith(b".") or entry.is_symlink():
                continue
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, path + b"/"))
            elif is_document(os.fsdecode(entry.name)) and entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone since
                yield path, SeenFile(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read_file(folder: Path, path: bytes, file: SeenFile) -> bytes:
    if file.size > FILE_BYTES:
        raise UnreadableFile(f"over {FILE_BYTES / 1e6:g} MB")
    try:
        fd = os.open(
            os.path.join(os.fsencode(folder), path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with os.fdopen(fd, "rb") as stream:
            return stream.read(FILE_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(error.strerror or "it cannot be opened") from None


def file_url(path: bytes) -> str:
    """`file:` and the path in the folder; only what cannot be shown, and %, is spelt out."""
    text = path.decode(errors="surrogateescape")
    return "file:" + "".join(char if char.isprintable() and char != "%" else quote(os.fsencode(char)) for char in text)
