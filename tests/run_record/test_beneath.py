"""Paths from outside: opened beneath the workspace, or refused."""

import multiprocessing
import os
import socket
import stat
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from run_record import beneath
from run_record.beneath import open_folder, open_regular
from run_record.errors import CallerError, NotFound, UnsafePath

SECRET = b"secret"


@pytest.fixture(params=["openat2", "one part at a time"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """A workspace with a file in it and a secret beside it, opened either way."""
    if request.param == "one part at a time":
        monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    elif not beneath.has_openat2():
        pytest.skip("no openat2 here")
    (tmp_path / "work" / "folder").mkdir(parents=True)
    (tmp_path / "work" / "folder" / "file").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "work-sibling").mkdir()
    (tmp_path / "work-sibling" / "secret").write_bytes(SECRET)
    fd = os.open(tmp_path / "work", os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_a_plain_file_beneath_the_root_opens(root: int) -> None:
    """A plain file beneath the root opens, also in a folder."""
    fd = open_regular(root, "folder/file")
    assert os.read(fd, 10) == b"inside"
    os.close(fd)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "../secret",
        "folder/../../secret",
        "folder/..",
        "./folder/file",
        "folder//file",
        "folder/file/",
        "/etc/passwd",
        "//etc/passwd",
        "../work-sibling/secret",
        "folder/file\0",
        "\0",
        "a" * 256,
        "é" * 128,
        "/".join(["a" * 200] * 21),
        "x" * 4096,
        "\udce9",
        "folder/\ud800",
    ],
)
def test_every_spelling_that_could_lead_out_is_refused(root: int, path: str) -> None:
    """Every spelling that could lead out of the root, or that the kernel would not take, is refused with its reason."""
    with pytest.raises(UnsafePath) as refusal:
        open_regular(root, path)
    assert refusal.value.problem.startswith("the path '")
    assert refusal.value.remedy


@pytest.mark.parametrize("path", ["．．/secret", "..∕secret", "%2e%2e/secret", "..\\secret", "folder/file\u202e"])
def test_characters_that_only_look_like_dots_and_slashes_are_names(root: int, path: str) -> None:
    """Characters that only look like dots and slashes are ordinary names, which are not there."""
    with pytest.raises(NotFound):
        open_regular(root, path)


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "folder/file", "nowhere"])
def test_a_symbolic_link_is_never_followed(root: int, tmp_path: Path, target: str) -> None:
    """A symbolic link is never followed, wherever it points."""
    (tmp_path / "work" / "link").symlink_to(target)
    with pytest.raises(UnsafePath):
        open_regular(root, "link")


@pytest.mark.parametrize("target", ["..", "/etc", "folder"])
def test_a_linked_folder_is_never_entered(root: int, tmp_path: Path, target: str) -> None:
    """A symbolic link on the way is never followed, for files and for folders to be made."""
    (tmp_path / "work" / "link").symlink_to(target)
    for attempt in (
        lambda: open_regular(root, "link/secret"),
        lambda: open_folder(root, "link"),
        lambda: open_folder(root, "link/new", create=True),
    ):
        with pytest.raises(UnsafePath):
            attempt()
    assert not (tmp_path / "new").exists()


def test_a_hard_link_is_refused(root: int, tmp_path: Path) -> None:
    """A file with a second name is refused: the other name may lie outside."""
    os.link(tmp_path / "secret", tmp_path / "work" / "link")
    with pytest.raises(UnsafePath, match="hard link"):
        open_regular(root, "link")


def test_a_fifo_is_refused_at_once(root: int, tmp_path: Path) -> None:
    """A fifo is refused without waiting for its other end, for reading and for writing."""
    os.mkfifo(tmp_path / "work" / "fifo")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        with pytest.raises(UnsafePath):
            open_regular(root, "fifo", flags)


def test_a_socket_is_refused(root: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket is refused."""
    monkeypatch.chdir(tmp_path / "work")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(UnsafePath):
            open_regular(root, "socket")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_refused(root: int, tmp_path: Path) -> None:
    """A device is refused."""
    os.mknod(tmp_path / "work" / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    with pytest.raises(UnsafePath):
        open_regular(root, "null")


def test_a_folder_is_no_file(root: int) -> None:
    """A folder is refused as a file, and a file as a folder."""
    with pytest.raises(UnsafePath, match="folder"):
        open_regular(root, "folder")
    with pytest.raises(UnsafePath):
        open_regular(root, "folder/file/deeper")


def test_missing_is_said_to_be_missing(root: int) -> None:
    """What is not there is not found, and the message says where to look."""
    with pytest.raises(NotFound, match="partner files ls"):
        open_regular(root, "folder/nothing")


def _flip(work: Path) -> None:
    """For ever: `prey` is now a plain file, now a link to the secret; `den` now a folder, now a link out."""
    while True:
        for name, target in (("prey", work.parent / "secret"), ("den", work.parent)):
            link = work / f".{name}"
            link.symlink_to(target)
            os.rename(work / name, work / f".real-{name}")
            os.rename(link, work / name)
            os.unlink(work / name)
            os.rename(work / f".real-{name}", work / name)


def test_a_file_swapped_for_a_link_never_leaks(root: int, tmp_path: Path) -> None:
    """Of 100,000 opens while a file and a folder are swapped for links out, none reads the secret."""
    work = tmp_path / "work"
    (work / "prey").write_bytes(b"inside")
    (work / "den").mkdir()
    (work / "den" / "secret").write_bytes(b"inside")
    flipper = multiprocessing.get_context("fork").Process(target=_flip, args=(work,), daemon=True)
    flipper.start()
    seen: dict[bytes, int] = {}
    try:
        for number in range(100_000):
            with suppress(CallerError):
                fd = open_regular(root, "prey" if number % 2 else "den/secret")
                content = os.read(fd, 10)
                seen[content] = seen.get(content, 0) + 1
                os.close(fd)
    finally:
        flipper.kill()
        flipper.join()
    assert seen.keys() == {b"inside"}
