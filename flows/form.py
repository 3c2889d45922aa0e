"""The form of a recipe in the Prefect UI, and what was filled in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from flows.request import Request, make_request
from recipes.parameters import field_name
from recipes.recipe import Recipe


def file_model(recipe: Recipe) -> type[BaseModel]:
    """A path for each input."""
    fields: dict[str, Any] = {  # Any: what create_model takes
        field_name(name): (
            str,
            Field(default="", title=name, description=f"{each.description} A path where it runs.", alias=name),
        )
        for name, each in recipe.inputs.items()
    }
    return create_model("Files", __config__=ConfigDict(extra="forbid", serialize_by_alias=True), **fields)


def as_request(recipe: Recipe, form: Mapping[str, Any]) -> Request:  # Any: what Prefect checked by the flow's types
    """The filled-in form as a request, checked."""
    as_of = form["as_of"]
    return make_request(
        recipe,
        objective=form["objective"],
        parameters=_given(form["parameters"]),
        files={name: Path(str(path)) for name, path in _given(form["files"]).items() if path},
        as_of=as_of.isoformat() if as_of else None,
        seed=form["seed"],
        is_sample=form["sample"],
        is_refreshing=form["refresh"],
    )


def _given(part: BaseModel | Mapping[str, object] | None) -> dict[str, object]:
    """What was filled in; what was not has its default from the recipe."""
    values = part.model_dump(exclude_unset=True) if isinstance(part, BaseModel) else dict(part or {})
    return {name: value for name, value in cast("dict[str, object]", values).items() if value is not None}
