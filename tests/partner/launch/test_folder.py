"""What lies in a home's server folder, without a server."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from partner.errors import ServerFailed
from partner.launch.folder import ServerFolder, ServerRecord
from partner.launch.template import keep_template, use_template

RECORD = ServerRecord(port=4200, pid=1, started_at_ms=0, prefect="3.8.8")


@pytest.fixture
def folder(tmp_path: Path) -> ServerFolder:
    folder = ServerFolder(tmp_path / "home")
    folder.make()
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_others_could_read_is_closed_to_them(folder: ServerFolder) -> None:
    """A folder or a secret that somebody made readable is its owner's alone again when it is next used."""
    secret = folder.auth()
    folder.path.chmod(0o755)
    folder.auth_file.chmod(0o644)
    folder.make()
    assert folder.auth() == secret
    assert (mode(folder.path), mode(folder.auth_file)) == (0o700, 0o600)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_elses_is_refused(folder: ServerFolder) -> None:
    """Whoever owns it could read the secret."""
    os.chown(folder.path, 65534, 65534)
    with pytest.raises(ServerFailed, match="is not a folder of yours"):
        folder.make()


def test_a_server_that_ends_leaves_the_record_of_another(folder: ServerFolder) -> None:
    """It takes away its own record and no other."""
    later = RECORD.model_copy(update={"pid": 2})
    folder.write_record(later)
    folder.remove_record(RECORD)
    assert folder.read_record() == later
    folder.remove_record(later)
    assert folder.read_record() is None


def test_a_log_that_has_grown_too_long_is_set_aside(folder: ServerFolder) -> None:
    """Whoever appends to it goes on at its beginning; what stood there is kept once."""
    folder.log.write_text("a" * 100)
    folder.bound_log(100)
    assert folder.log.stat().st_size == 100
    folder.bound_log(99)
    assert (folder.log.stat().st_size, folder.log.with_suffix(".log.1").stat().st_size) == (0, 100)


def test_a_template_has_no_key_of_the_home_it_was_made_in(tmp_path: Path) -> None:
    """A later home begins with its tables, and makes a key for secrets of its own."""
    first, second, template = tmp_path / "first", tmp_path / "second", tmp_path / "share" / "template"
    for each in (first, second):
        each.mkdir()
    (first / "memo_store.toml").write_text("")
    with closing(sqlite3.connect(first / "prefect.db")) as database:
        database.executescript("CREATE TABLE configuration (key); INSERT INTO configuration VALUES ('ENCRYPTION_KEY');")
    assert not use_template(template, second)
    keep_template(template, first)
    assert use_template(template, second)
    with closing(sqlite3.connect(second / "prefect.db")) as database:
        assert database.execute("SELECT * FROM configuration").fetchall() == []
