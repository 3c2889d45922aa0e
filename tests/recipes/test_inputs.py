"""Input files that a recipe cannot work on are refused before anything runs."""

import os
import socket
from pathlib import Path

import pytest

from fakes.recipes import write_recipe
from recipes.errors import BadInput
from recipes.inputs import check_input, check_inputs, sample_inputs
from recipes.recipe import Input
from recipes.recipe_file import read_recipe

GOOD = "date,region,amount\n2025-01-31,North,1200.5\n31.01.2025,South,\n"
WANTED = Input(name="data", file="data.csv", columns={"date": "date", "amount": "number"}, min_rows=2)


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "sales.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_usual_tables_are_understood(tmp_path: Path, encoding: str, delimiter: str) -> None:
    """In every usual encoding and with every usual delimiter."""
    text = GOOD.replace("North", "Köln").replace(",", delimiter)
    check_input(WANTED, written(tmp_path, text.encode(encoding)))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("\ufeff\n", "is empty"),
        ("\ufeff\r\n".encode("utf-16-le"), "is empty"),
        ("date,total\n2025-01-31,1\n", "no column 'amount'.*→ add a column amount: a number .*understood\\); or give"),
        ("date,amount\n", "no rows below its header"),
        ("date,amount\n2025-01-31,1\n", "has 1 row; 2 or more are needed"),
        ("day,amount\nx,1\ny,2\n", r"no column 'date'.*columns: day, amount +first row: \"x\", 1"),
        ("Date,amount\n2025-01-31,1\n", "no column 'date'.*did you mean Date"),
        ("date,amount\n2025-01-31,1\n2025-02-31,1\n", "line 3: column 'date' holds '2025-02-31'"),
        ("date,amount\n2025-01-31,1\n2025-02-28,n/k\n", "line 3: column 'amount' holds 'n/k'.*a number"),
        (b"PK\x03\x04 rest", "is a workbook.*save it as CSV"),
        (b"date,amount\n\x00\x01\x02\x03", "not text that can be read"),
        (b"date,amount\n\x81\x8d,1\n", "neither in UTF-8 nor in Windows-1252"),
    ],
)
def test_what_a_recipe_cannot_work_on_is_said(tmp_path: Path, content: str | bytes, says: str) -> None:
    """What is wrong, where it is, and what would do."""
    with pytest.raises(BadInput, match=f"(?s){says}"):
        check_input(WANTED, written(tmp_path, content))


def test_long_tables_and_long_texts_are_understood(tmp_path: Path) -> None:
    """Rows are counted as far as is asked for, though only the first thousand are looked at; a field may hold a page."""
    wanted = WANTED.model_copy(update={"min_rows": 1500})
    check_input(wanted, written(tmp_path, "date,amount\n" + "2025-01-31,1\n" * 1500))
    with pytest.raises(BadInput, match="has 1499 rows; 1500 or more"):
        check_input(wanted, written(tmp_path, "date,amount\n" + "2025-01-31,1\n" * 1499))
    page = "x" * 200_000
    check_input(WANTED, written(tmp_path, f"date,amount,text\n2025-01-31,1,{page}\n2025-01-31,1,\n"))


def test_a_missing_file_gets_the_close_one(tmp_path: Path) -> None:
    """A folder and a file that is not there are told apart."""
    written(tmp_path, GOOD)
    with pytest.raises(BadInput, match=r"(?s)is not there.*did you mean sales\.csv"):
        check_input(WANTED, tmp_path / "sale.csv")
    (tmp_path / "lost.csv").symlink_to("gone.csv")
    with pytest.raises(BadInput, match=r"lost\.csv is a link to gone\.csv, which is not there.*\n  → name a file"):
        check_input(WANTED, tmp_path / "lost.csv")
    with pytest.raises(BadInput, match="is a folder"):
        check_input(WANTED, tmp_path)


def test_only_a_regular_file_is_an_input(tmp_path: Path) -> None:
    """A pipe, a device and a socket are refused at once: nobody waits for what they might give."""
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        for path, says in (
            (pipe, "is a pipe"),
            (link, "is a pipe"),
            (tmp_path / "s", "is a socket"),
            (Path("/dev/zero"), "is a device"),
            (Path("/dev/null"), "is a device"),
            (tmp_path, "is a folder"),
        ):
            with pytest.raises(BadInput, match=f"{path} {says}.*input data"):
                check_input(WANTED, path)


def test_a_file_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was opened is looked at, not only what lay there before."""
    regular, pipe = written(tmp_path, GOOD), tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    before = os.stat(regular)
    monkeypatch.setattr("recipes.inputs.os.stat", lambda _: before)
    with pytest.raises(BadInput, match="is a pipe"):
        check_input(WANTED, pipe)


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_path_is_said(path: str) -> None:
    """A NUL, and a character that no file's name can hold."""
    with pytest.raises(BadInput, match=r"is no path.*input data"):
        check_input(WANTED, Path(path))


@pytest.mark.parametrize(("file", "content"), [("a.xlsx", b"PK\x03\x04"), ("a.parquet", b"PAR1"), ("a.json", b" [1]")])
def test_other_kinds_are_known_by_their_first_bytes(tmp_path: Path, file: str, content: bytes) -> None:
    """What is in them is for the cells to read."""
    check_input(Input(name="a", file=file), written(tmp_path, content))
    with pytest.raises(BadInput, match="is not"):
        check_input(Input(name="a", file=file), written(tmp_path, b"a,b\n"))


def test_the_names_of_inputs_are_checked(tmp_path: Path) -> None:
    """An unknown one gets the close one, a missing one says how it is given; files come back by the cells' names."""
    toml = '[inputs.series]\nfile = "data.csv"\n[inputs.extra]\nfile = "x.csv"\nis_required = false\n'
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml))
    path = written(tmp_path, GOOD)
    assert check_inputs(recipe, {"series": path}) == {"data.csv": path}
    with pytest.raises(BadInput, match="did you mean series"):
        check_inputs(recipe, {"serie": path})
    with pytest.raises(BadInput, match="--file series=PATH"):
        check_inputs(recipe, {})
    assert sample_inputs(recipe) == {}
