"""What recipe.toml expects of a cell, as the Evaluator takes it."""

from pydantic import ValidationError

from recipes.errors import RecipeInvalid
from recipes.recipe import RecipeCell
from recipes.recipe_file import first_fault, reason
from three_tools.evaluator import Expectations


def expectations(cell: RecipeCell) -> Expectations:
    """RecipeInvalid names the entry that cannot be."""
    try:
        return Expectations.model_validate(cell.expects)
    except ValidationError as error:
        first = first_fault(error)
        where = ".".join(str(part) for part in first["loc"])
        raise RecipeInvalid(
            f"recipe.toml: cells.{cell.name}.expects.{where}: {reason(first)}",
            "docs/evaluator.md lists what can be expected",
        ) from None
