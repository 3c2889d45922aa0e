"""Parameters, from a command line and from a form."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from fakes.recipes import write_recipe
from recipes.errors import BadParameter
from recipes.parameters import parameter_model, resolve
from recipes.recipe import Recipe
from recipes.recipe_file import read_recipe

TOML = """
[parameters.market]
type = "text"
description = "Which market."
[parameters.top_n]
type = "integer"
default = 10
least = 1
most = 50
[parameters.share]
type = "number"
default = 0.5
[parameters.deep]
type = "boolean"
default = false
[parameters.since]
type = "date"
default = 2026-01-31
[parameters.mode]
type = "choice"
default = "fast"
choices = ["fast", "slow"]
[parameters.rivals]
type = "list"
default = []
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return read_recipe(write_recipe(tmp_path / "mine", TOML))


def test_words_and_values_mean_the_same(recipe: Recipe) -> None:
    """K=V of a command line and typed values of a form give the same parameters."""
    words = {
        "market": "tea", "top_n": "3", "share": "1", "deep": "yes", "since": "2026-02-01", "mode": "slow", "rivals": "A, B",
    }  # fmt: skip
    typed = {
        "market": "tea", "top_n": 3, "share": 1.0, "deep": True, "since": "2026-02-01", "mode": "slow", "rivals": ["A", "B"],
    }  # fmt: skip
    assert resolve(recipe, words) == resolve(recipe, typed) == typed


def test_a_comma_too_many_is_no_item(recipe: Recipe) -> None:
    """Between two, at the end, or in the typed list of a form."""
    for given in ("A,, B,", ["A", " ", "B"]):
        assert resolve(recipe, {"market": "tea", "rivals": given})["rivals"] == ["A", "B"]


def test_a_parameter_may_be_called_what_models_have_themselves(tmp_path: Path) -> None:
    """The form and the flow know it by its name, whatever its field is called."""
    names = ("copy", "schema", "model_fields")
    toml = "".join(f'[parameters.{name}]\ntype = "integer"\ndefault = 1\n' for name in names)
    model = parameter_model(read_recipe(write_recipe(tmp_path / "mine", toml)))
    assert model.model_validate({"copy": 2}).model_dump() == {"copy": 2, "schema": 1, "model_fields": 1}


def test_defaults_fill_what_is_not_given(recipe: Recipe) -> None:
    """A date of TOML is the text that cells see."""
    assert resolve(recipe, {"market": "tea"})["since"] == "2026-01-31"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "market is not given: Which market"),
        ({"market": "x", "topn": "1"}, "no parameter 'topn'.*did you mean top_n"),
        ({"market": "x", "top_n": "many"}, "top_n = 'many' is not a whole number.*1…50"),
        ({"market": "x", "top_n": "51"}, "'51' is above 50"),
        ({"market": "x", "top_n": True}, "top_n = true is not a whole number"),
        ({"market": "x", "share": "nan"}, "is not a number"),
        ({"market": "x", "deep": "maybe"}, "is not yes or no"),
        ({"market": "x", "since": "31.1.2026"}, "2026-01-31"),
        ({"market": "x", "mode": "warp"}, "none of its choices.*fast or slow"),
        ({"market": 3}, "market = 3 is not a text"),
        ({"market": "a\ud800"}, r"market = 'a.ud800' holds half a character, '.ud800', at place 2"),
        ({"market": "x" * 100_001}, "market = 'xxx.* has 100,001 characters, and 100,000 are the most"),
        ({"market": "x", "rivals": ["a", "\udfff"]}, "rivals = .* holds half a character"),
        ({"market": "x", "rivals": ["a" * 50_000, "b" * 50_001]}, "rivals = .* has 100,001 characters"),
        ({"market": "x", "rivals": "[" * 100_000}, r"rivals = '\[\[.* is not a list"),
        ({"market": "x", "share": 10**400}, "share = 1000.* is not a number"),
        ({"market": "x", "top_n": 10**5000}, "top_n = an? int.* is above 50"),
        ({"market": "x", "\ud800": "\ud801"}, r"no parameter '.ud800' \(given: '.ud801'"),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(recipe: Recipe, given: dict[str, object], says: str) -> None:
    """Parameter, value and what would do."""
    with pytest.raises(BadParameter, match=f"(?s){says}"):
        resolve(recipe, given)


def test_the_form_is_typed(recipe: Recipe) -> None:
    """The JSON schema that the Prefect UI draws its form from has titles, bounds, choices and what is required."""
    model = parameter_model(recipe)
    schema = model.model_json_schema()
    assert schema["required"] == ["market"]
    assert schema["properties"]["market"]["description"] == "Which market."
    top_n = schema["properties"]["top_n"]
    assert (top_n["title"], top_n["minimum"], top_n["maximum"], top_n["default"]) == ("Top n", 1, 50, 10)
    assert schema["properties"]["mode"]["enum"] == ["fast", "slow"]
    assert schema["properties"]["since"]["format"] == "date"
    assert resolve(recipe, model(market="tea").model_dump()) == resolve(recipe, {"market": "tea"})
    with pytest.raises(ValidationError):
        model(market="tea", top_n=0)
