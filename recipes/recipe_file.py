"""Reading a recipe from its folder: recipe.toml says what it is, notebook.py has its cells."""

import json
import os
import tomllib
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from recipes.errors import BadParameter, RecipeInvalid, RecipeNotFound, meant
from recipes.notebook import NotebookCell, parse
from recipes.parameters import value_of
from recipes.recipe import DelayS, Frozen, Input, Parameter, Recipe, RecipeCell, Retries, RunPath, Search, TimeoutS
from recipes.recipe_name import check_name

FILE = "recipe.toml"
NOTEBOOK = "notebook.py"
_TAKEN = ("objective", "as_of", "item")  # what templates of searches see beside the parameters
_TABLES = ("parameters", "inputs")
_LONGEST = 60
_REASONS = {
    "extra_forbidden": "there is no such key",
    "missing": "it is missing",
    "tuple_type": "it must be a list: [ … ], or [[ … ]] above each of several tables",
    "dict_type": "it must be a table",
    "model_type": "it must be a table",
    "too_short": "it must hold one at least",
    "string_pattern_mismatch": "a name takes small letters, digits and _, and begins with a letter",
}


class _CellTable(Frozen):
    timeout_s: TimeoutS | None = None
    retries: Retries | None = None
    retry_delay_s: DelayS | None = None
    reads: tuple[RunPath, ...] = ()
    expects: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class _File(Frozen):
    """recipe.toml as it is written."""

    title: str = Field(min_length=1, max_length=80)
    purpose: str = Field(min_length=1, max_length=300)
    objective: str = Field(min_length=1, max_length=1000)
    deliverables: tuple[RunPath, ...] = Field(min_length=1)
    fail_fast: bool = False
    timeout_s: TimeoutS = 60
    retries: Retries = 0
    retry_delay_s: DelayS = 1
    parameters: dict[str, Parameter] = Field(default_factory=dict[str, Parameter])
    inputs: dict[str, Input] = Field(default_factory=dict[str, Input])
    searches: tuple[Search, ...] = ()
    cells: dict[str, _CellTable] = Field(default_factory=dict[str, _CellTable])


def read_recipe(folder: Path) -> Recipe:
    """The recipe in this folder; RecipeInvalid says which line or value cannot be, and what would do."""
    folder = Path(os.path.abspath(folder))  # `..` is no name
    told = _told(folder / FILE)
    check_name(folder.name, f"the folder {folder}")
    notebook = parse(_text(folder / NOTEBOOK), str(folder / NOTEBOOK))
    _check_defaults(told, folder)
    _check_names(told, folder)
    return Recipe(
        name=folder.name,
        folder=folder,
        title=told.title,
        purpose=told.purpose,
        objective=told.objective,
        deliverables=told.deliverables,
        fail_fast=told.fail_fast,
        parameters=told.parameters,
        inputs=told.inputs,
        searches=tuple(_searches(told)),
        cells=tuple(_cells(told, notebook, folder)),
        notebook=notebook,
    )


def _told(path: Path) -> _File:
    try:
        content: dict[str, Any] = tomllib.loads(_text(path))  # Any: TOML values, which pydantic checks
    except tomllib.TOMLDecodeError as error:
        raise RecipeInvalid(f"{path} is not TOML: {error}", "mend that line") from None
    for table in _TABLES:  # each learns the name it is filed under
        entries: dict[str, Any] = content.get(table) or {}  # Any: as above
        for name, entry in entries.items() if hasattr(entries, "items") else ():
            if hasattr(entry, "update"):
                entry["name"] = name
                if isinstance(entry.get("default"), date):
                    entry["default"] = entry["default"].isoformat()
    try:
        return _File(**content)
    except ValidationError as error:
        first = first_fault(error)
        place = [str(part) for part in first["loc"]]
        raise RecipeInvalid(f"{path}: {'.'.join(place)}: {reason(first)}", _remedy(first["type"], place)) from None


def first_fault(error: ValidationError) -> ErrorDetails:
    """A key that is not known before all else: the one that is missing may be that one, misspelt."""
    faults = error.errors()
    return next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])


def reason(fault: ErrorDetails) -> str:
    """In words that fit a file, with the value: pydantic speaks of extra inputs, tuples and patterns."""
    if said := _REASONS.get(fault["type"]):
        return said
    message = fault["msg"].removeprefix("Value error, ")
    return message.replace("Input", _shown(fault["input"]), 1) if message.startswith("Input ") else message


def _shown(value: object) -> str:
    """As it stands in the file."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "this value"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _remedy(kind: str, where: list[str]) -> str:
    if kind != "extra_forbidden":
        return "docs/writing-a-recipe.md shows what it may be"
    model = {"parameters": Parameter, "inputs": Input, "searches": Search, "cells": _CellTable}.get(where[0])
    known = (model if model and len(where) > 1 else _File).model_fields
    return meant(where[-1], [name for name in known if name != "name" or where[0] == "searches"])


def _text(path: Path) -> str:
    try:
        if not path.is_file() and path.exists():
            raise RecipeInvalid(f"{path} is no plain file", "put a text file in its place")
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        if path.name == FILE:
            raise RecipeNotFound(f"{path.parent} holds no {FILE}", "`partner recipe new NAME` makes a recipe") from None
        raise RecipeInvalid(f"{path} is missing", "it holds the recipe's cells, in percent format") from None
    except UnicodeDecodeError as error:
        raise RecipeInvalid(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    except OSError as error:
        raise RecipeInvalid(f"{path} cannot be read: {error.strerror}", "mend its mode") from None


def _check_defaults(told: _File, folder: Path) -> None:
    for parameter in told.parameters.values():
        if parameter.default is None:
            continue
        try:
            value_of(parameter, parameter.default)
        except BadParameter as error:
            raise RecipeInvalid(
                f"{folder / FILE}: parameters.{parameter.name}.default: {error.problem}",
                f"default = {error.remedy.partition('=')[2]}",
            ) from None


def _check_names(told: _File, folder: Path) -> None:
    where = folder / FILE
    for name in told.parameters:
        if name in _TAKEN:
            raise RecipeInvalid(f"{where}: parameters.{name}: every run has {name} already", "give it another name")
    _refuse_twice(where, "inputs are both called", (entry.file for entry in told.inputs.values()))
    _refuse_twice(where, "searches are both called", (search.name for search in told.searches))
    lists = [parameter.name for parameter in told.parameters.values() if parameter.type == "list"]
    for search in told.searches:
        if search.for_each is not None and search.for_each not in lists:
            raise RecipeInvalid(
                f"{where}: searches.{search.name}.for_each: there is no list parameter '{search.for_each}'",
                meant(search.for_each, lists, "give the recipe a parameter of type list"),
            )


def _refuse_twice(where: Path, what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RecipeInvalid(f"{where}: two {what} '{name}'", "give one of them another name")
        seen.add(name)


def _searches(told: _File) -> Iterable[Search]:
    usual = {"timeout_s": told.timeout_s, "retries": told.retries, "retry_delay_s": told.retry_delay_s}
    for search in told.searches:
        unsaid = usual.keys() - search.model_fields_set
        yield search.model_copy(update={name: usual[name] for name in unsaid})


def _cells(told: _File, notebook: tuple[NotebookCell, ...], folder: Path) -> Iterable[RecipeCell]:
    code = [cell for cell in notebook if not cell.is_markdown]
    names = [cell.name for cell in code]
    for name in told.cells:
        if name not in names:
            raise RecipeInvalid(f"{folder / FILE}: cells.{name}: the notebook has no such cell", meant(name, names))
    for cell in code:
        table = told.cells.get(cell.name, _CellTable())
        yield RecipeCell(
            name=cell.name,
            source=cell.source,
            line=cell.line,
            timeout_s=told.timeout_s if table.timeout_s is None else table.timeout_s,
            retries=told.retries if table.retries is None else table.retries,
            retry_delay_s=told.retry_delay_s if table.retry_delay_s is None else table.retry_delay_s,
            reads=table.reads,
            expects=table.expects,
        )
