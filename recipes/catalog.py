"""Which recipes there are: the standard ones in this package, and those in the user's folders."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recipes.errors import RecipeError, RecipeInvalid, RecipeNotFound, meant
from recipes.recipe import Recipe
from recipes.recipe_file import FILE, read_recipe
from recipes.recipe_name import function_name

STANDARD = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Listed:
    """A recipe in the list: what it is, or why it cannot be used."""

    name: str
    folder: Path
    recipe: Recipe | None
    error: RecipeError | None
    is_standard: bool


class Catalog:
    """Finds recipes by name or path. What is wrong with one hides no other; a name has one meaning or none."""

    def __init__(self, folders: Sequence[Path] = (), standard: Path = STANDARD) -> None:
        self._standard = standard
        places = dict.fromkeys(Path(os.path.abspath(folder.expanduser())) for folder in folders)
        self._folders = tuple(place for place in places if place.resolve() != standard.resolve())

    def names(self) -> tuple[str, ...]:
        """Standard recipes first, then the user's."""
        return tuple(dict.fromkeys(folder.name for folder in self._all()))

    def entries(self) -> tuple[Listed, ...]:
        """Every recipe there is, also the broken ones."""
        return tuple(self._listed(folder) for folder in self._all())

    def find(self, name_or_path: str) -> Recipe:
        """The recipe of that name, or in that folder."""
        if "/" in name_or_path or name_or_path in (".", "..") or name_or_path.endswith(".toml"):
            return self._at(Path(os.path.expanduser(name_or_path)))  # a ~ of nobody's stays, and is not there
        found = self._called(name_or_path)
        if not found:
            if Path(name_or_path, FILE).is_file():
                return read_recipe(Path(name_or_path))
            raise RecipeNotFound(
                f"there is no recipe '{name_or_path}'",
                f"{meant(name_or_path, self.names())}  A path with a / names a folder; PARTNER_RECIPES adds folders",
            )
        self._refuse_shadow(found[-1])
        return read_recipe(found[0])

    def _at(self, path: Path) -> Recipe:
        folder = path.parent if path.name == FILE else path
        if not folder.is_dir():
            raise RecipeNotFound(f"there is no folder {folder}", f"known by name: {', '.join(self.names())}")
        return read_recipe(folder)

    def _all(self) -> list[Path]:
        return [folder for place in (self._standard, *self._folders) for folder in _recipes_in(place)]

    def _called(self, name: str) -> list[Path]:
        return [folder for folder in self._all() if folder.name == name]

    def _listed(self, folder: Path) -> Listed:
        is_standard = folder.parent == self._standard
        try:
            self._refuse_shadow(self._called(folder.name)[-1])
            return Listed(folder.name, folder, read_recipe(folder), None, is_standard)
        except RecipeError as error:
            return Listed(folder.name, folder, None, error, is_standard)

    def _refuse_shadow(self, folder: Path) -> None:
        """Two recipes of one name, or of two that are one for Prefect: nobody could say which of them ran."""
        called = function_name(folder.name)
        first = next(other for other in self._all() if function_name(other.name) == called)
        if first == folder:
            return
        whose = "a standard recipe" if first.parent == self._standard else f"the one in {first}"
        as_flow = "" if first.name == folder.name else f" ({called} as a flow)"
        raise RecipeInvalid(
            f"{folder} has the name of {whose}{as_flow}", f"rename the folder, for example my-{folder.name}"
        )


def _recipes_in(place: Path) -> list[Path]:
    if (place / FILE).is_file():  # the folder of one recipe is named as if it were a folder of recipes
        return [place]
    try:
        return sorted(folder for folder in place.iterdir() if (folder / FILE).is_file())
    except OSError:
        return []  # a folder that is not there holds no recipes; `partner config` shows which are looked in
