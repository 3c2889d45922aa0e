"""Recipes made for a test."""

from pathlib import Path

from recipes.recipe import RecipeCell

TOML = """
title = "A test"
purpose = "Tests."
objective = "Does it work?"
deliverables = ["out.txt"]
"""
NOTEBOOK = '# %% only\nwith open("out.txt", "w") as file:\n    file.write("x")\n'
MAKES_IT = '[cells.only]\nexpects.files = [{ path = "out.txt" }]\n'


def write_recipe(folder: Path, toml: str = MAKES_IT, notebook: str = NOTEBOOK, head: str = TOML) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.toml").write_text(f"{head}{toml}")
    (folder / "notebook.py").write_text(notebook)
    return folder


def cells(**sources: str) -> list[RecipeCell]:
    return [RecipeCell(name=name, source=source) for name, source in sources.items()]
