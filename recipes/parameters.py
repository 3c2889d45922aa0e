"""A recipe's parameters: as a typed form, and as the values of one run."""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from recipes.errors import BadParameter, meant
from recipes.recipe import Kind, Parameter, Recipe

_LONGEST = 100_000
_HALF = re.compile(r"[\ud800-\udfff]")
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def resolve(recipe: Recipe, given: Mapping[str, object]) -> dict[str, JsonValue]:
    """The value of every parameter: what was given, as text or typed, else its default."""
    for name, value in given.items():
        if name not in recipe.parameters:
            raise BadParameter(
                f"{recipe.name} has no parameter {_shown(name)} (given: {_shown(value)})",
                meant(name, recipe.parameters, "" if recipe.parameters else f"{recipe.name} takes none"),
            )
    return {parameter.name: _resolved(parameter, given) for parameter in recipe.parameters.values()}


def _resolved(parameter: Parameter, given: Mapping[str, object]) -> JsonValue:
    if parameter.name in given:
        return value_of(parameter, given[parameter.name])
    if parameter.default is None:
        about = f": {parameter.description}" if parameter.description else ""
        raise BadParameter(
            f"the parameter {parameter.name} is not given{about}",
            f"--param {parameter.name}={_example(parameter)}",
        )
    return value_of(parameter, parameter.default)


def value_of(parameter: Parameter, given: object) -> JsonValue:
    """What was given, as a value of the parameter's kind; BadParameter names it, the value and what would do."""
    try:
        value = _READERS[parameter.type](given)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _refusal(parameter, given, f"is not {_WANTED[parameter.type]}") from None
    if fault := text_fault(_text_in(value)):
        raise _refusal(parameter, given, fault)
    if parameter.type == "choice" and value not in parameter.choices:
        raise _refusal(parameter, given, "is none of its choices")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_bounds(parameter, given, value)
    return value


def _check_bounds(parameter: Parameter, given: object, value: float) -> None:
    if parameter.least is not None and value < parameter.least:
        raise _refusal(parameter, given, f"is below {parameter.least:g}")
    if parameter.most is not None and value > parameter.most:
        raise _refusal(parameter, given, f"is above {parameter.most:g}")


def text_fault(text: str) -> str:
    """Why a text cannot be a value of a run, or nothing: half a character can be neither written nor sent."""
    if len(text) > _LONGEST:
        return f"has {len(text):,} characters, and {_LONGEST:,} are the most"
    half = _HALF.search(text)
    return f"holds half a character, {half.group()!a}, at place {half.start() + 1}" if half else ""


def _text_in(value: JsonValue) -> str:
    return value if isinstance(value, str) else "".join(map(str, value)) if isinstance(value, list) else ""


def _shown(given: object) -> str:
    try:
        return repr(given)[:80] if isinstance(given, str) else json.dumps(given, default=str)[:80]
    except (ValueError, RecursionError):
        return f"a {type(given).__name__}"


def _refusal(parameter: Parameter, given: object, why: str) -> BadParameter:
    return BadParameter(
        f"the parameter {parameter.name} = {_shown(given)} {why}", f"--param {parameter.name}={_example(parameter)}"
    )


def _example(parameter: Parameter) -> str:
    """How it is given, with its bounds: 1…50."""
    if parameter.type == "choice":
        return " or ".join(parameter.choices)
    if parameter.least is not None or parameter.most is not None:
        least = "" if parameter.least is None else f"{parameter.least:g}"
        most = "" if parameter.most is None else f"{parameter.most:g}"
        return f"{least}…{most}"
    return _SHAPES[parameter.type]


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _integer(given: object) -> int:
    if isinstance(given, bool):
        raise TypeError
    if isinstance(given, float) and given.is_integer():
        return int(given)
    if isinstance(given, (int, str)):
        return int(given)
    raise TypeError


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise TypeError
    value = float(given)
    if not math.isfinite(value):
        raise ValueError
    return value


def _boolean(given: object) -> bool:
    if isinstance(given, bool):
        return given
    word = _text(given).strip().casefold()
    if word not in (*_YES, *_NO):
        raise ValueError
    return word in _YES


def _date(given: object) -> str:
    if isinstance(given, date):
        return given.isoformat()[:10]
    return date.fromisoformat(_text(given).strip()).isoformat()


def _list(given: object) -> list[JsonValue]:
    """Texts: as a list, as JSON, or with commas between."""
    if isinstance(given, str):
        given = json.loads(given) if given.lstrip().startswith("[") else given.split(",")
    if not isinstance(given, (list, tuple)):
        raise TypeError
    items: list[object] = [*given]
    stripped = [_text(item).strip() for item in items]
    return [item for item in stripped if item]


_READERS: dict[Kind, Callable[[object], JsonValue]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "choice": _text,
    "list": _list,
}
_WANTED: dict[Kind, str] = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "date": "a date such as 2026-01-31",
    "choice": "a text",
    "list": "a list of texts",
}
_SHAPES: dict[Kind, str] = {
    "text": "TEXT",
    "integer": "10",
    "number": "0.5",
    "boolean": "yes or no",
    "date": "2026-01-31",
    "choice": "TEXT",
    "list": "one,two,three",
}
_TYPES: dict[Kind, Any] = {  # Any: what pydantic takes for a field's type
    "text": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "date": date,
    "list": list[str],
}


def parameter_model(recipe: Recipe) -> type[BaseModel]:
    """The parameters as a model: its JSON schema is the form that Prefect's UI shows."""
    fields: dict[str, Any] = {  # Any: a type and its field, as create_model takes them
        field_name(parameter.name): (_field_type(parameter), _field(parameter))
        for parameter in recipe.parameters.values()
    }
    name = "".join(part.capitalize() for part in recipe.name.replace("_", "-").split("-"))
    return create_model(
        f"{name}Parameters",
        __config__=ConfigDict(
            frozen=True, extra="forbid", serialize_by_alias=True, title=f"{recipe.title}: parameters"
        ),
        __doc__=recipe.purpose,
        **fields,
    )


def field_name(name: str) -> str:
    """What a model calls the field of that alias: one that models have themselves (copy, schema) is written large."""
    return name.capitalize() if hasattr(BaseModel, name) else name


def _field_type(parameter: Parameter) -> Any:  # Any: a type that is made at run time
    if parameter.type == "choice":
        return Literal[parameter.choices]
    bounds = Field(ge=parameter.least, le=parameter.most) if parameter.type in ("integer", "number") else None
    return _TYPES[parameter.type] if bounds is None else Annotated[_TYPES[parameter.type], bounds]


def _field(parameter: Parameter) -> Any:  # Any: pydantic's Field() says so itself
    title = parameter.name.replace("_", " ").capitalize()
    if parameter.default is None:
        return Field(title=title, description=parameter.description, alias=parameter.name)
    default = value_of(parameter, parameter.default)
    return Field(
        default=date.fromisoformat(str(default)) if parameter.type == "date" else default,
        title=title,
        description=parameter.description,
        alias=parameter.name,
    )
