"""All of a recipe that can be checked without running it; each finding with its place and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jinja2 import TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment

from flows.expectations import expectations
from flows.search_terms import check_terms
from recipes.dataflow import Dataflow
from recipes.errors import RecipeError, meant
from recipes.file_flow import FileFlow
from recipes.inputs import check_inputs, sample_inputs
from recipes.parameters import resolve
from recipes.recipe import Recipe
from recipes.searches import queries

_FEWEST, _MOST = 5, 8
_SOME_DAY = "2026-01-31"


@dataclass(frozen=True, slots=True)
class RecipeFinding:
    """One thing about a recipe. An error keeps it from running well; advice does not."""

    level: Literal["error", "advice"]
    place: str
    problem: str
    remedy: str


def check(recipe: Recipe) -> tuple[RecipeFinding, ...]:
    """Errors first."""
    found = [
        *_inputs(recipe), *_searches(recipe), *_expectations(recipe), *_variables(recipe), *_files(recipe),
        *_templates(recipe), *_deliverables(recipe), *_advice(recipe),
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda finding: finding.level != "error"))


def _error(place: str, error: RecipeError) -> RecipeFinding:
    return RecipeFinding("error", place, error.problem, error.remedy)


def _inputs(recipe: Recipe) -> Iterator[RecipeFinding]:
    samples = sample_inputs(recipe)
    for name, entry in recipe.inputs.items():
        if entry.is_required and name not in samples:
            place = f"recipe.toml: inputs.{name}"
            yield RecipeFinding("advice", place, "there is no sample of it", "put one into sample_data/, and name it")
    try:
        if all(name in samples or not entry.is_required for name, entry in recipe.inputs.items()):
            check_inputs(recipe, samples)
    except RecipeError as error:
        yield _error("sample_data/", error)


def _searches(recipe: Recipe) -> Iterator[RecipeFinding]:
    if any(parameter.is_required for parameter in recipe.parameters.values()):
        return  # what the templates would see is not known
    try:
        check_terms(queries(recipe, resolve(recipe, {}), recipe.objective, _SOME_DAY), _SOME_DAY)
    except RecipeError as error:
        yield _error("recipe.toml: searches", error)


def _expectations(recipe: Recipe) -> Iterator[RecipeFinding]:
    for cell in recipe.cells:
        try:
            expectations(cell)
        except RecipeError as error:
            yield RecipeFinding("error", "recipe.toml", error.problem.removeprefix("recipe.toml: "), error.remedy)


def _variables(recipe: Recipe) -> Iterator[RecipeFinding]:
    try:
        flow = Dataflow(recipe.cells)
        known = sorted({name for cell in recipe.cells for name in flow.names(cell.name).defines})
    except RecipeError as error:
        yield _error("notebook.py", error)
        return
    for cell in recipe.cells:
        place = f"notebook.py: cell {cell.name}"
        for name in flow.undefined(cell.name):
            later = flow.defined_later(cell.name, name)
            if later:
                problem, remedy = f"{name} is defined later, in '{later}'", f"move '{later}' before '{cell.name}'"
            else:
                problem, remedy = f"{name} is not defined", meant(name, known, "define or import it")
            yield RecipeFinding("error", place, problem, remedy)
        for name in sorted(flow.run_reads(cell.name).parameters - recipe.parameters.keys()):
            remedy = meant(name, recipe.parameters, f"declare it: [parameters.{name}]")
            yield RecipeFinding("error", place, f"run.parameters.{name} is no parameter of recipe.toml", remedy)
        for name in sorted(flow.inputs_named(cell.name) - recipe.inputs.keys()):
            remedy = meant(name, recipe.inputs, f"declare it: [inputs.{name}]")
            yield RecipeFinding("error", place, f'run.inputs["{name}"] is no input of recipe.toml', remedy)


def _files(recipe: Recipe) -> Iterator[RecipeFinding]:
    for finding in FileFlow(recipe).findings():
        yield RecipeFinding("error", f"notebook.py: cell {finding.cell}", finding.problem, finding.remedy)


def _templates(recipe: Recipe) -> Iterator[RecipeFinding]:
    environment = SandboxedEnvironment(autoescape=True)
    for name, path in recipe.templates.items():
        if not path.name.endswith((".j2", ".jinja", ".html")):
            continue
        try:
            environment.parse(path.read_text(encoding="utf-8"))
        except TemplateSyntaxError as error:
            yield RecipeFinding("error", f"{name}, line {error.lineno}", str(error.message), "mend that line")
        except UnicodeDecodeError:
            yield RecipeFinding("error", name, "is not UTF-8", "save it as UTF-8")


def _deliverables(recipe: Recipe) -> Iterator[RecipeFinding]:
    made = [path for cell in recipe.cells for path in cell.makes]
    for path in recipe.deliverables:
        if path not in made:
            remedy = meant(path, made, 'add it to a cell: expects.files = [{ path = "…" }]')
            yield RecipeFinding("error", "recipe.toml: deliverables", f"no cell is expected to make {path}", remedy)


def _advice(recipe: Recipe) -> Iterator[RecipeFinding]:
    number = len(recipe.cells)
    if number > _MOST:
        remedy = f"{_FEWEST} to {_MOST} cells read best: join some"
        yield RecipeFinding("advice", "notebook.py", f"it has {number} cells", remedy)
    if not (recipe.folder / "README.md").is_file():
        yield RecipeFinding("advice", "README.md", "is missing", "say what the recipe takes and makes")
