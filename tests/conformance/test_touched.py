"""Which files a cell touched comes with its result."""

import pytest

from fakes.backends import Desk

READERS = {
    "open": "open('in.txt').read()",
    "pathlib": "from pathlib import Path; Path('in.txt').read_bytes()",
    "in C": "import subprocess; subprocess.run(['cat', 'in.txt'], stdout=subprocess.DEVNULL)",
    "mmap": "import mmap; f = open('in.txt', 'rb'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]",
    "append": "open('in.txt', 'a').write('more')",
    "left open": "f = open('in.txt'); f.read(1)",
}


def test_created_changed_and_deleted_files_are_told_apart(desk: Desk) -> None:
    """Each file is in one list, by its relative path."""
    desk.put("old.txt", "a")
    desk.put("gone.txt", "a")
    desk.put("same.txt", "a")
    touched = desk.run(
        "import os; open('new.txt', 'w').write('x'); open('old.txt', 'w').write('b'); os.remove('gone.txt')\n"
        "os.makedirs('a/b'); open('a/b/deep.txt', 'w').write('x')"
    ).touched
    assert (touched.created, touched.changed, touched.deleted) == (
        ("a/b/deep.txt", "new.txt"),
        ("old.txt",),
        ("gone.txt",),
    )
    assert touched.is_complete


def test_a_forged_time_does_not_hide_a_change(desk: Desk) -> None:
    """Setting the times back leaves the change visible."""
    desk.put("old.txt", "a")
    code = "import os; s = os.stat('old.txt'); open('old.txt', 'w').write('b')\ntry:\n    os.utime('old.txt', ns=(s.st_atime_ns, s.st_mtime_ns))\nexcept PermissionError:\n    pass"
    assert desk.run(code).touched.changed == ("old.txt",)


@pytest.mark.parametrize("code", READERS.values(), ids=READERS.keys())
def test_a_read_file_is_seen_however_it_was_read(desk: Desk, code: str) -> None:
    """Python, C code, mapped memory and other programs: all reading is observed from outside."""
    desk.put("in.txt", "content")
    result = desk.run(code)
    assert result.ok, result.detail
    assert result.touched.read == ("in.txt",)


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite", "xlsx"])
def test_data_files_are_seen_when_read(desk: Desk, kind: str) -> None:
    """What pandas and sqlite open in C is seen too, and what was not read is not listed."""
    make = {
        "csv": "d.to_csv('in.csv')",
        "parquet": "d.to_parquet('in.parquet')",
        "xlsx": "d.to_excel('in.xlsx')",
        "sqlite": "import sqlite3; c = sqlite3.connect('in.sqlite'); d.to_sql('t', c); c.close()",
    }[kind]
    read = {
        "csv": "pd.read_csv('in.csv')",
        "parquet": "pd.read_parquet('in.parquet')",
        "xlsx": "pd.read_excel('in.xlsx')",
        "sqlite": "c = sqlite3.connect('in.sqlite'); pd.read_sql('select * from t', c); c.close()",
    }[kind]
    desk.put("unread.txt", "x")
    assert desk.run(f"import pandas as pd; d = pd.DataFrame({{'a': [1]}}); {make}").touched.created == (f"in.{kind}",)
    assert desk.run(read).touched.read == (f"in.{kind}",)


def test_an_overwritten_file_was_not_read(desk: Desk) -> None:
    """Opening for writing cuts the file first: its old content did not matter."""
    desk.put("out.txt", "old")
    assert desk.run("open('out.txt', 'w').write('new')").touched.read == ()


def test_what_a_cell_made_itself_is_not_an_input(desk: Desk) -> None:
    """A file that a cell wrote and read back is created, not read."""
    touched = desk.run("open('mine.txt', 'w').write('x'); open('mine.txt').read()").touched
    assert (touched.created, touched.read) == (("mine.txt",), ())


def test_reads_in_folders_are_seen_at_once(desk: Desk) -> None:
    """Folders that were there, and folders that a cell makes, are watched."""
    desk.put("data/2026/in.txt", "x")
    assert desk.run("open('data/2026/in.txt').read()").touched.read == ("data/2026/in.txt",)
    desk.run("import os; os.mkdir('fresh'); open('fresh/a.txt', 'w').write('x')")
    assert desk.run("open('fresh/a.txt').read()").touched.read == ("fresh/a.txt",)


@pytest.mark.parametrize(
    "code", ["import os; os.listdir('data')", "from pathlib import Path; list(Path('data').glob('*'))", "!ls data"]
)
def test_a_listed_folder_is_told(desk: Desk, code: str) -> None:
    """A cell that depends on what a folder holds says which folder."""
    desk.put("data/in.txt", "x")
    touched = desk.run(code).touched
    assert "data" in touched.listed


def test_a_cell_that_lists_nothing_lists_nothing(desk: Desk) -> None:
    """Neither importing nor our own watching counts as listing."""
    desk.put("data/in.txt", "x")
    assert desk.run("import time, pandas, json; time.sleep(.8)").touched.listed == ()


@pytest.mark.parametrize(
    "code",
    [
        "open('absent.csv')",
        "import os; os.path.exists('absent.csv')",
        "import pandas as pd; pd.read_parquet('absent.csv')",
    ],
)
def test_a_missed_path_is_told(desk: Desk, code: str) -> None:
    """A path that was looked for and not found, or stands in the code and is not there, is told.

    So are the modules that an import looked for: pyarrow tries one that it can do without.
    """
    missed = desk.run(code).touched.missed
    assert [path for path in missed if path.rpartition("/")[2].partition(".")[0] != "substrait"] == ["absent.csv"]


def test_a_path_that_a_cell_creates_was_not_missed(desk: Desk) -> None:
    """What is absent before because the cell is there to make it is not told as missed."""
    assert desk.run("open('out.csv', 'w').write('x')").touched.missed == ()


def test_a_killed_cell_says_that_its_list_may_be_incomplete(desk: Desk) -> None:
    """Files written before the end are told; what was looked for may not be."""
    touched = desk.run("open('half.txt', 'w').write('x')\nimport os; os._exit(1)").touched
    assert touched.created == ("half.txt",)
    assert touched.is_complete is False


def test_links_are_not_followed(desk: Desk) -> None:
    """A link is a changed name, whatever it points to."""
    touched = desk.run("import os; os.symlink('/etc', 'outside')").touched
    assert touched.created == ("outside",)
