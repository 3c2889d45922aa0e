"""What recipe.toml expects of a cell, as the Evaluator takes it."""

from pydantic import ValidationError

from recipes.errors import RecipeInvalid
from recipes.recipe import RecipeCell
from three_tools.evaluator import Expectations


def expectations(cell: RecipeCell) -> Expectations:
    """RecipeInvalid names the entry that cannot be."""
    try:
        return Expectations.model_validate(cell.expects)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RecipeInvalid(
            f"recipe.toml: cells.{cell.name}.expects.{where}: {first['msg']}",
            "docs/evaluator.md lists what can be expected",
        ) from None
