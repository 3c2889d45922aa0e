"""partner recipes, partner recipe new, partner recipe check"""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from partner.cli.desk import Flags, plain
from partner.cli.failure import USAGE
from partner.cli.screen import count, mark, print_json, print_table, say
from partner.errors import UsageError
from partner.recipe_check import check
from partner.settings import expanded, load_settings
from recipes.catalog import STANDARD, Catalog, Listed
from recipes.scaffold import new_recipe
from run_record.plain_text import printable


def list_recipes(flags: Flags, *, as_json: bool) -> None:
    settings = load_settings(flags)
    entries = Catalog(settings.recipes).entries()
    if as_json:
        print_json({"recipes": [_as_object(entry) for entry in entries]})
        return
    print_table([_as_row(entry) for entry in entries])
    for entry in entries:
        if entry.error is not None:
            say(f"\n{entry.name} cannot be used: {printable(entry.error.problem)}\n  → {printable(entry.error.remedy)}")


def _as_object(entry: Listed) -> dict[str, object]:
    recipe, error = entry.recipe, entry.error
    return {
        "name": entry.name,
        "folder": str(entry.folder),
        "is_standard": entry.is_standard,
        "title": recipe.title if recipe else None,
        "purpose": recipe.purpose if recipe else None,
        "objective": recipe.objective if recipe else None,
        "inputs": [i.model_dump(mode="json") for i in recipe.inputs.values()] if recipe else [],
        "parameters": [p.model_dump(mode="json") for p in recipe.parameters.values()] if recipe else [],
        "error": {"problem": error.problem, "remedy": error.remedy} if error else None,
    }


def _as_row(entry: Listed) -> tuple[str, ...]:
    if entry.recipe is None:
        return ("✗", entry.name, "broken", "")
    inputs = ", ".join(name if i.is_required else f"[{name}]" for name, i in entry.recipe.inputs.items())
    return ("✓", entry.name, entry.recipe.purpose, f"needs {inputs}" if inputs else "needs no file")


def completions(flags: Flags, incomplete: str) -> list[str]:
    """Recipe names for the shell's Tab key."""
    names = Catalog(load_settings(flags).recipes).names()
    return [name for name in names if name.startswith(incomplete)]


def make_recipe(flags: Flags, name: str, folder: Path | None, *, as_json: bool) -> None:
    settings = load_settings(flags)
    place = expanded("folder", folder or next(iter(settings.recipes), Path("my-recipes")))
    if place.resolve() == STANDARD.resolve():
        raise UsageError(f"{place} is where the standard recipes are", "name another with --folder or PARTNER_RECIPES")
    catalog = Catalog(settings.recipes)
    if plain(name, "name") in catalog.names():
        raise UsageError(f"there is a recipe '{name}' already", "choose another name")
    target = new_recipe(name, place)
    is_known = name in catalog.names()
    shown = name if is_known else shlex.quote(str(target))
    if as_json:
        print_json({"name": name, "folder": str(target.absolute())})
        return
    print(target)
    say(f"\nChange    {target}/recipe.toml, notebook.py\nCheck     partner recipe check {shown}")
    say(f"Run       partner run {shown} --sample")
    if not is_known:
        say(f"\nFound by its name with PARTNER_RECIPES={shlex.quote(str(place.absolute()))}")


def check_recipe(flags: Flags, name: str, *, as_json: bool) -> None:
    recipe = Catalog(load_settings(flags).recipes).find(plain(name, "name"))
    found = check(recipe)
    errors = sum(finding.level == "error" for finding in found)
    if as_json:
        print_json({"recipe": recipe.name, "ok": not errors, "findings": [asdict(finding) for finding in found]})
    else:
        for finding in found:
            sign = mark("✗" if finding.level == "error" else "!")
            print(f"{sign} {printable(finding.place)}: {printable(finding.problem)}\n    → {printable(finding.remedy)}")
        if not errors:
            cells = count(len(recipe.cells), "cell")
            print(f"{mark('✓')} {recipe.name}: {cells}, nothing that would keep it from running")
    if errors:
        sys.exit(USAGE)
