"""Notebooks, as we read them and as others do."""

import json
from pathlib import Path

import jupytext
import nbformat
import pytest

from recipes.catalog import Catalog
from recipes.errors import RecipeInvalid
from recipes.notebook import executed, parse

TEXT = "# ---\n# jupyter: {}\n# ---\n# %% [markdown]\n# # Title\n\n# %% one\n\nx = 1\n\n# %% two\nx\n"


def test_cells_have_names_sources_and_lines() -> None:
    """Prose is prose, and a line is the file's own."""
    prose, one, two = parse(TEXT)
    assert (prose.is_markdown, prose.source) == (True, "# Title")
    assert (one.name, one.source, one.line) == ("one", "x = 1\n", 9)
    assert TEXT.split("\n")[two.line - 1] == "x"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n# %% a\n", "line 1: code before"),
        ("# %%\nx\n", "line 1: the cell has no name"),
        ("# %% A B\nx\n", "'A B' cannot be used"),
        ("# %% a\nx\n# %% a\ny\n", "line 3: a second cell is called 'a' .*line 1"),
        ("", "has no cell"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, says: str) -> None:
    """With the line, and how a cell begins."""
    with pytest.raises(RecipeInvalid, match=says):
        parse(text)


def test_jupyter_sees_the_same_cells() -> None:
    """jupytext, which Jupyter and VS Code use, reads every standard notebook as we do."""
    for name in Catalog().names():
        recipe = Catalog().find(name)
        theirs = jupytext.read(recipe.folder / "notebook.py")
        nbformat.validate(theirs)
        code = [(cell.metadata.get("title"), cell.source) for cell in theirs.cells if cell.cell_type == "code"]
        assert code == [(cell.name, cell.source.rstrip("\n")) for cell in recipe.cells]


def test_an_executed_notebook_is_valid_and_always_the_same(tmp_path: Path) -> None:
    """Every kind of output is kept, what the format does not know is left out, the bytes do not vary."""
    outputs = {
        "one": [
            {"output_type": "stream", "name": "stdout", "text": "hi\ud800"},
            {"output_type": "display_data", "data": {"text/plain": "x"}},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"], "errno": 3},
        ],
        "two": [{"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 9}],
    }
    made = executed(parse(TEXT), outputs, {"one": 1, "two": 2})
    nbformat.validate(nbformat.reads(made.decode(), as_version=4))
    assert made == executed(parse(TEXT), outputs, {"one": 1, "two": 2})
    cells = json.loads(made)["cells"]
    assert [cell.get("execution_count") for cell in cells] == [None, 1, 2]
    assert cells[2]["outputs"][0]["execution_count"] == 2
