"""The one frame in which every recipe runs as a Prefect flow: this is its table of contents."""

from datetime import date
from typing import Any, cast

from prefect import Flow, flow
from prefect.client.schemas.objects import State
from prefect.states import Cancelled
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel

from flows.form import as_request, file_model
from flows.frame import opened
from flows.release import release, sweep
from flows.request import Request
from flows.workshop import Workshop, workshop
from recipes.catalog import Catalog
from recipes.parameters import parameter_model
from recipes.recipe import Recipe
from recipes.recipe_name import function_name

_SEARCHES_AT_ONCE = 4
_FIELDS = """
    objective: The question that the run is to answer.
    parameters: What this recipe lets you choose.
    files: What it works on: a path of the machine that runs it, for each input. Or switch the sample on.
    as_of: The date that the run takes for today; none is today, in UTC.
    seed: What random numbers start from: the same seed gives the same numbers.
    sample: Work on the recipe's own sample for each input that is not given.
    refresh: Run every step again, also those whose results are kept.
"""
"""What the form says about each of its fields: Prefect reads a flow's docstring."""
_BY_NAME = "flows.any_recipe"
"""Where a Prefect worker finds a flow again: a deployment's entrypoint is this module and the flow's name."""


def standard_flow(name: str) -> Flow[..., str]:
    """The flow of a recipe of ours."""
    return recipe_flow(Catalog().find(name))


def recipe_flow(recipe: Recipe) -> Flow[..., str]:
    """Any recipe as a flow; its parameters and files are a typed form in the Prefect UI. It gives the run's id."""

    def answer(  # noqa: PLR0913  (these are the fields of the form)
        *,
        objective: str = recipe.objective,
        parameters: Any,  # Any: the models below
        files: Any,
        as_of: date | None = None,
        seed: int = 0,
        sample: bool = False,
        refresh: bool = False,
    ) -> str | State[Any]:
        form = {"objective": objective, "parameters": parameters, "files": files, "as_of": as_of, "seed": seed}
        return _answer(as_request(recipe, {**form, "sample": sample, "refresh": refresh}), workshop())

    models = {"parameters": parameter_model(recipe), "files": file_model(recipe)}
    answer.__name__ = function_name(recipe.name)
    answer.__module__ = _BY_NAME
    answer.__doc__ = f"{recipe.purpose}\n\nArgs:{_FIELDS}"
    answer.__annotations__ |= models
    empty = {name: model() for name, model in models.items() if not _has_required(model)}
    answer.__kwdefaults__ = {**(answer.__kwdefaults__ or {}), **empty}
    make: Any = flow(  # Any: Prefect's overloads know only functions that are written out
        name=recipe.name,
        description=recipe.purpose,
        task_runner=cast("Any", ThreadPoolTaskRunner(max_workers=_SEARCHES_AT_ONCE)),  # Any: not typed by Prefect
        persist_result=False,
        on_crashed=[release],
        on_cancellation=[release],
    )
    return make(answer)


def _answer(request: Request, shop: Workshop) -> str | State[Any]:
    sweep(shop)
    with opened(request, shop) as frame:
        frame.upload()
        frame.search()
        frame.run_cells()
        frame.verify()
    return Cancelled(message="cancelled while it ran") if frame.is_cancelled else frame.run_id


def _has_required(model: type[BaseModel]) -> bool:
    return any(field.is_required() for field in model.model_fields.values())
