"""What cannot be run is refused before anything runs."""

from pathlib import Path

import pytest

from fakes.recipes import write_recipe
from flows.request import make_request
from recipes.errors import RecipeInvalid
from recipes.recipe_file import read_recipe


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = = 1", "line 2, in cell 'one'"),
        (f"x = {'+'.join('1' * 5000)}", "'one' is nested too deeply"),
        (f"x = {'+'.join('1' * 300)}", "'one' is nested too deeply"),
        (f"x = {'-' * 5000}1", "'one' is nested too deeply"),
        ("if a: pass\n" + "elif a: pass\n" * 3000, "'one' is nested too deeply"),
        ("(" * 300 + ")" * 300, "too many nested parentheses"),
        ("x = 1\0", "null bytes"),
    ],
    ids=range(7),
)
def test_cells_that_cannot_be_followed_are_their_authors(tmp_path: Path, code: str, says: str) -> None:
    """A recipe whose cells Python cannot read, or nobody could walk, begins no run."""
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml="", notebook=f"# %% one\n{code}\n"))
    with pytest.raises(RecipeInvalid, match=says):
        make_request(recipe)
