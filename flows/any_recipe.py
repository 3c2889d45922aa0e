"""The user's own recipes as flows, by name: `flows.any_recipe:my_recipe` is the recipe `my-recipe` or `my_recipe`."""

from prefect import Flow

from flows.recipe_flow import recipe_flow
from flows.workshop import workshop
from recipes.errors import RecipeNotFound


def __getattr__(name: str) -> Flow[..., str]:
    if name.startswith("__"):
        raise AttributeError(name)
    catalog = workshop().catalog
    for known in catalog.names():
        if known.replace("-", "_") == name:
            return recipe_flow(catalog.find(known))
    raise AttributeError(name) from RecipeNotFound(f"there is no recipe '{name}'", ", ".join(catalog.names()))
