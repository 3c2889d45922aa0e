"""What was filled in in the Prefect UI."""

from pathlib import Path

from fakes.recipes import MAKES_IT, write_recipe
from flows.form import as_request, file_model
from recipes.parameters import parameter_model
from recipes.recipe_file import read_recipe

TOML = f"""
[parameters.top_n]
type = "integer"
default = 8
[inputs.data]
file = "data.csv"
is_required = false
{MAKES_IT}"""


def test_a_field_that_was_left_empty_is_not_given(tmp_path: Path) -> None:
    """An input without a path is none; a parameter that was not touched has the recipe's default."""
    recipe = read_recipe(write_recipe(tmp_path / "mine", TOML))
    files, parameters = file_model(recipe).model_validate({"data": ""}), parameter_model(recipe)()
    rest = {"objective": "", "as_of": None, "seed": 0, "sample": False, "refresh": False}
    request = as_request(recipe, {"files": files, "parameters": parameters, **rest})
    assert (request.files, request.parameters, request.objective) == ({}, {"top_n": 8}, recipe.objective)
