"""The user's own recipes as flows, by name: `flows.any_recipe:my_recipe` is the recipe `my-recipe` or `my_recipe`."""

# Nothing here may have a name that a recipe could have: it would be taken for that recipe.
from prefect import Flow

from flows.recipe_flow import recipe_flow as _recipe_flow
from flows.workshop import workshop as _workshop
from recipes.errors import RecipeNotFound
from recipes.recipe_name import function_name as _function_name


def __getattr__(name: str) -> Flow[..., str]:
    if name.startswith("__"):
        raise AttributeError(name)
    catalog = _workshop().catalog
    for known in catalog.names():
        if _function_name(known) == name:
            return _recipe_flow(catalog.find(known))
    raise AttributeError(name) from RecipeNotFound(f"there is no recipe '{name}'", ", ".join(catalog.names()))
