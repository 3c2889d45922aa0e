"""What is asked of a recipe, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import JsonValue

from flows.expectations import expectations
from flows.search_terms import check_terms
from recipes.dataflow import Dataflow, dataflow
from recipes.errors import BadParameter
from recipes.inputs import check_inputs, sample_inputs
from recipes.parameters import resolve, text_fault
from recipes.recipe import Recipe
from recipes.searches import Query, queries
from run_record import Question

_SEEDS = 1 << 32
"""How many there are: numpy takes no larger one, and cells hand run.seed to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A recipe with everything it needs to run."""

    recipe: Recipe
    objective: str
    parameters: dict[str, JsonValue]
    files: dict[str, Path]
    """By the names that cells call them."""
    as_of: str
    seed: int = 0
    is_sample: bool = False
    is_refreshing: bool = False
    """Whether every step is run, whatever is in the cache."""
    dataflow: Dataflow
    """How its cells depend on each other."""

    @property
    def documents(self) -> Path | None:
        """Where its searches stay: a sample's in its own documents, always."""
        if not self.is_sample:
            return None
        return self.recipe.documents or self.recipe.folder / "sample_data" / "documents"

    def question(self, by: str) -> Question:
        return Question(
            objective=self.objective,
            recipe=self.recipe.name,
            parameters=self.parameters,
            as_of=self.as_of,
            seed=self.seed,
            deliverables=self.recipe.deliverables,
            by=by,
        )

    def inputs(self) -> dict[str, str]:
        """What cells call each input that was given."""
        return {name: each.file for name, each in self.recipe.inputs.items() if each.file in self.files}

    def queries(self) -> tuple[Query, ...]:
        return queries(self.recipe, self.parameters, self.objective, self.as_of)


def make_request(  # noqa: PLR0913  (all that can be asked of a recipe)
    recipe: Recipe,
    *,
    objective: str = "",
    parameters: Mapping[str, object] | None = None,
    files: Mapping[str, Path] | None = None,
    as_of: str | None = None,
    seed: int = 0,
    is_sample: bool = False,
    is_refreshing: bool = False,
) -> Request:
    """Resolve and check it all; what is wrong is raised with its name, its value and what to do."""
    given = {**(sample_inputs(recipe) if is_sample else {}), **(files or {})}
    request = Request(
        recipe=recipe,
        objective=_asked(objective) or recipe.objective,
        parameters=resolve(recipe, parameters or {}),
        files=check_inputs(recipe, given),
        as_of=_day(as_of),
        seed=_seed(seed),
        is_sample=is_sample,
        is_refreshing=is_refreshing,
        dataflow=dataflow(recipe.cells),
    )
    # Its templates render, its searches can be made, its cells can be judged, or its author is told.
    check_terms(request.queries(), request.as_of)
    for cell in recipe.cells:
        expectations(cell)
    return request


def _asked(objective: str) -> str:
    if fault := text_fault(objective):
        raise BadParameter(f"the objective {objective[:60]!a} {fault}", "ask a question in a sentence or two")
    return objective.strip()


def _seed(given: int) -> int:
    if not 0 <= given < _SEEDS:
        raise BadParameter(f"the seed {str(given)[:40]} cannot be used", f"take a whole number from 0 to {_SEEDS - 1}")
    return given


def _day(given: str | None) -> str:
    if given is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise BadParameter(f"the day {given[:40]!r} is no date", "write it as 2026-03-31") from None
