"""The one directory a run may touch."""

import io
import os
import subprocess
from pathlib import Path

import pytest

from run_record import Artifact, Home, RunRecord, Sha256, Workspace
from run_record.errors import NotFound, UnsafePath


@pytest.fixture
def workspace(record: RunRecord) -> Workspace:
    return record.workspace


def read(workspace: Workspace, path: str) -> bytes:
    with workspace.open(path) as file:
        return file.read()


def test_what_is_written_can_be_read(workspace: Workspace) -> None:
    """A written file has the bytes, the size and the sha256 that were announced, and its folders exist."""
    artifact = workspace.write("a/b/c.txt", b"hello")
    sha256 = Sha256("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
    assert artifact == Artifact(path="a/b/c.txt", size=5, sha256=sha256)
    assert read(workspace, "a/b/c.txt") == b"hello"


def test_a_stream_is_written_to_its_end(workspace: Workspace) -> None:
    """A stream longer than one chunk arrives whole."""
    content = os.urandom(3_000_001)
    assert workspace.write("big", io.BytesIO(content)).size == len(content)
    assert read(workspace, "big") == content


def test_a_file_is_replaced_at_one_stroke(workspace: Workspace) -> None:
    """Whoever has the old file open keeps the old bytes: the new file takes its place, nothing is overwritten."""
    workspace.write("file", b"old")
    with workspace.open("file") as old:
        workspace.write("file", b"new!")
        assert old.read() == b"old"
    assert read(workspace, "file") == b"new!"


def test_a_stream_that_breaks_off_leaves_the_old_file(workspace: Workspace) -> None:
    """When the source fails half-way, the file keeps what it held and nothing half-written is left."""

    pieces = [b"half"]

    class Breaking:
        def read(self, size: int, /) -> bytes:
            return pieces.pop()

    workspace.write("file", b"old")
    with pytest.raises(IndexError):
        workspace.write("file", Breaking())
    assert read(workspace, "file") == b"old"
    assert list((workspace.root.parent / "incoming").iterdir()) == []


def test_writing_over_a_link_replaces_the_link(workspace: Workspace, tmp_path: Path) -> None:
    """Writing to a path that is a link replaces the link; what it pointed to is untouched."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"untouched")
    (workspace.root / "link").symlink_to(outside)
    workspace.write("link", b"mine")
    assert outside.read_bytes() == b"untouched"
    assert read(workspace, "link") == b"mine"


def test_writing_through_a_linked_folder_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    """No file appears outside through a folder that is a link."""
    (tmp_path / "outside").mkdir()
    (workspace.root / "door").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafePath):
        workspace.write("door/file", b"x")
    with pytest.raises(UnsafePath):
        workspace.delete("door/file")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/x", "", "a/../../x", "a\0b", "x" * 300])
def test_bad_paths_are_refused_for_every_call(workspace: Workspace, path: str) -> None:
    """A bad path is refused by write, read and delete alike, before anything happens."""
    for attempt in (lambda: workspace.write(path, b""), lambda: workspace.open(path), lambda: workspace.delete(path)):
        with pytest.raises(UnsafePath):
            attempt()


def test_a_folder_cannot_be_written_or_deleted_as_a_file(workspace: Workspace) -> None:
    """A folder is not overwritten and not deleted; the message says so."""
    workspace.write("folder/file", b"x")
    with pytest.raises(UnsafePath, match="is a folder"):
        workspace.write("folder", b"x")
    with pytest.raises(UnsafePath, match="is a folder"):
        workspace.delete("folder")


def test_deleting_takes_empty_folders_along(workspace: Workspace) -> None:
    """Deleting the last file of a folder removes the folder, and stops at one that still holds something."""
    workspace.write("a/keep", b"")
    workspace.write("a/b/c/gone", b"")
    workspace.delete("a/b/c/gone")
    assert not (workspace.root / "a" / "b").exists()
    assert read(workspace, "a/keep") == b""


def test_deleting_a_link_removes_only_the_link(workspace: Workspace, tmp_path: Path) -> None:
    """A link can be removed; its target stays."""
    (tmp_path / "target").write_bytes(b"stays")
    (workspace.root / "link").symlink_to(tmp_path / "target")
    workspace.delete("link")
    assert (tmp_path / "target").read_bytes() == b"stays"


def test_what_is_missing_cannot_be_read_or_deleted(workspace: Workspace) -> None:
    """A missing file is not found."""
    with pytest.raises(NotFound):
        workspace.open("nothing")
    with pytest.raises(NotFound):
        workspace.delete("nothing")
    with pytest.raises(NotFound):
        workspace.delete("no/folder")


def test_the_log_is_written_by_the_record_alone(workspace: Workspace) -> None:
    """CEL.md can be read like any file, and is refused for writing and deleting."""
    assert b"Context Engineering Log" in read(workspace, "CEL.md")
    for attempt in (lambda: workspace.write("CEL.md", b"forged"), lambda: workspace.delete("CEL.md")):
        with pytest.raises(UnsafePath, match="record alone"):
            attempt()


def test_a_restored_file_is_a_copy(workspace: Workspace, home: Home) -> None:
    """A restored file has the object's bytes and an inode of its own: changing it leaves the object whole."""
    artifact = workspace.write("file", b"kept")
    with workspace.open("file") as file:
        home.objects.put(file.fileno())
    workspace.delete("file")
    workspace.restore(artifact, home.objects)
    assert (workspace.root / "file").stat().st_nlink == 1
    with (workspace.root / "file").open("r+b") as file:
        file.write(b"lost")
    assert home.objects.read(artifact.sha256) == b"kept"


def test_what_is_put_back_where_a_file_is_goes_into_that_file(workspace: Workspace, home: Home) -> None:
    """Whoever holds it open has the content too; a file with a second name is left to that name."""
    artifact = workspace.write("file", b"kept")
    with workspace.open("file") as file:
        home.objects.put(file.fileno())
    workspace.write("file", b"something longer")
    with workspace.open("file") as file:
        workspace.restore(artifact, home.objects)
        assert file.read() == b"kept"
    workspace.write("file", b"other")
    os.link(workspace.root / "file", workspace.root / "twin")
    workspace.restore(artifact, home.objects)
    assert [(workspace.root / name).read_bytes() for name in ("file", "twin")] == [b"kept", b"other"]


def test_a_scan_lists_plain_files_and_says_what_it_passed_over(workspace: Workspace) -> None:
    """A scan finds plain files at any depth, and names links, fifos and undecodable names with the reason."""
    workspace.write("a/b.txt", b"x")
    os.mkfifo(workspace.root / "fifo")
    (workspace.root / "link").symlink_to("/etc")
    os.link(workspace.root / "a" / "b.txt", workspace.root / "twin")
    (Path(os.fsdecode(bytes(workspace.root) + b"/\xff"))).write_bytes(b"")
    found = workspace.scan()
    assert found.files.keys() == {"CEL.md"}
    assert {path: reason.split(" (")[0] for path, reason in found.skipped.items()} == {
        "fifo": "it is a fifo",
        "link": "it is a symbolic link",
        "twin": "it is a hard link",
        "a/b.txt": "it is a hard link",
        "\\udcff (not its real name)": "the path '\\udcff' is refused: it is not UTF-8",
    }


def test_a_very_deep_tree_does_not_break_a_scan(workspace: Workspace) -> None:
    """A tree deeper than the kernel's path limit is listed as far as it can be named."""
    here = os.open(workspace.root, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("dd", dir_fd=here)
        deeper = os.open("dd", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    try:
        assert len(workspace.scan().skipped) == 1
    finally:
        subprocess.run(["rm", "-rf", workspace.root / "dd"], check=True)  # deeper than pytest's own cleaning goes


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write for another user")
def test_what_root_writes_belongs_to_the_folders_owner(workspace: Workspace) -> None:
    """Cells run as a user of their own: a file that root puts into their folder is theirs, and its folder too."""
    os.chown(workspace.root, 47_110, 47_110)
    workspace.write("data/2026/leads.csv", b"a")
    for path in ("data", "data/2026", "data/2026/leads.csv"):
        assert (workspace.root / path).stat().st_uid == 47_110
