"""A new recipe that runs as it is, for its author to change."""

import shutil
from pathlib import Path

from recipes.errors import BadParameter, RecipeExists, RecipeInvalid
from recipes.recipe_name import check_name

_STARTER = Path(__file__).parent / "starter" / "recipe"


def new_recipe(name: str, folder: Path) -> Path:
    """Put a complete recipe into `folder/name`, and give its place."""
    try:
        check_name(name, "a new recipe")
    except RecipeInvalid as error:
        raise BadParameter(error.problem, error.remedy) from None
    target = folder / name
    if target.exists():
        raise RecipeExists(f"{target} is there already; nothing was written", "choose another name, or remove it")
    title = name.replace("-", " ").capitalize()
    for source in sorted(path for path in _STARTER.rglob("*") if path.is_file()):
        place = target / source.relative_to(_STARTER)
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".csv":
            shutil.copyfile(source, place)
        else:
            place.write_text(source.read_text().replace("TITLE", title).replace("NAME", name))
    return target
