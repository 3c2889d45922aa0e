"""What a recipe can be called: its name is a folder's, a Prefect flow's, a Python function's and part of keys."""

import keyword
import re

from recipes.errors import RecipeInvalid

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST = 40


def check_name(name: str, where: str) -> None:
    """RecipeInvalid says why it cannot be, and what it could be instead."""
    if len(name) > _LONGEST:
        problem = f"it has {len(name)} characters, and {_LONGEST} are the most"
    elif not _NAME.fullmatch(name):
        problem = "it takes small letters, digits, and single - or _ between them, and begins with a letter"
    elif keyword.iskeyword(function_name(name)):
        problem = "Python keeps that word for itself"
    else:
        return
    raise RecipeInvalid(f"{where}: {name!r} cannot be a recipe's name: {problem}", f"call it {_instead(name)}")


def function_name(name: str) -> str:
    """What its flow's function is called. Two recipes that share it cannot be told apart."""
    return name.replace("-", "_")


def _instead(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: _LONGEST - len("my-")].rstrip("-")
    is_good = _NAME.fullmatch(plain) and not keyword.iskeyword(plain)
    return plain if is_good and plain != name else f"my-{plain or 'recipe'}"
