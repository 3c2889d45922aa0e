"""What can go wrong with a recipe, by whose fault it is.

RecipeError
├── RecipeNotFound   the caller's: no recipe of that name, and no folder with one
├── BadParameter     the caller's: a parameter that is unknown, missing or of the wrong kind
├── BadInput         the caller's: an input file that is unknown, missing or not what the recipe works on
└── RecipeInvalid    the author's: the recipe itself cannot be used as it stands
"""

import difflib
from collections.abc import Iterable


class RecipeError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class RecipeNotFound(RecipeError):
    """No recipe of that name, and no folder with one."""


class BadParameter(RecipeError):
    """A parameter that is unknown, missing or of the wrong kind."""


class BadInput(RecipeError):
    """An input file that is unknown, missing or not what the recipe works on."""


class RecipeInvalid(RecipeError):
    """The recipe itself cannot be used as it stands."""


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy for a name that is not known: the close one, or all there are."""
    names = list(known)
    folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold(), folded, 1)
    if close:
        return f"did you mean {folded[close[0]]}?"
    return otherwise or (f"there are {', '.join(names)}" if names else "there are none")
