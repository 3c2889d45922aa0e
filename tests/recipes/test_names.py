"""Names of recipes, parameters and inputs, and what others make of them."""

from pathlib import Path

import pytest
from prefect.types.names import ArtifactKey
from pydantic import TypeAdapter

from fakes.recipes import write_recipe
from flows import any_recipe
from flows.form import as_request, file_model
from flows.publish import artifact_key
from flows.recipe_flow import recipe_flow
from recipes.catalog import Catalog
from recipes.errors import BadParameter, RecipeInvalid
from recipes.parameters import parameter_model
from recipes.recipe_file import read_recipe
from recipes.scaffold import new_recipe


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("2024-report", "my-2024-report"), ("a.b", "a-b"), ("Upper", "upper"), ("class", "my-class"), ("a b", "a-b"),
        ("_a", "a"), ("a-", "a"), ("a--b", "a-b"), ("ä", "my-recipe"), ("x" * 41, "x" * 37), ("a\nb", "a-b"),
    ],
)  # fmt: skip
def test_a_name_that_nothing_can_carry_is_refused(tmp_path: Path, name: str, instead: str) -> None:
    """A function, a flow and the keys of what the UI shows are called after it; the author learns what would do."""
    with pytest.raises(RecipeInvalid, match=f"(?s)cannot be a recipe's name: .*call it {instead}$"):
        read_recipe(write_recipe(tmp_path / name))
    with pytest.raises(BadParameter, match=f"(?s)cannot be a recipe's name: .*call it {instead}$"):
        new_recipe(name, tmp_path / "new")
    read_recipe(write_recipe(tmp_path / instead))


def test_a_folder_may_be_reached_by_way_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`..` is no name: the folder that it stands for has one."""
    inner = write_recipe(tmp_path / "mine") / "templates"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert Catalog().find("..").name == "mine"
    assert Catalog([Path("..")]).names()[-1] == "mine"


def test_two_names_that_are_one_flow_are_refused(tmp_path: Path) -> None:
    """Which of them a deployment runs could not be said."""
    for name in ("a-b", "a_b", "quick_look"):
        write_recipe(tmp_path / name)
    catalog = Catalog([tmp_path])
    assert catalog.find("a-b").name == "a-b"
    with pytest.raises(RecipeInvalid, match=r"(?s)a_b has the name of the one in .*a-b \(a_b as a flow\).*my-a_b"):
        catalog.find("a_b")
    with pytest.raises(RecipeInvalid, match="name of a standard recipe"):
        catalog.find("quick_look")
    assert {entry.name for entry in catalog.entries() if entry.error} == {"a_b", "quick_look"}


def test_a_name_that_means_two_recipes_is_broken_in_both(tmp_path: Path) -> None:
    """What the list says is what running it says."""
    for place in ("one", "two"):
        write_recipe(tmp_path / place / "mine")
    catalog = Catalog([tmp_path / "one", tmp_path / "two"])
    with pytest.raises(RecipeInvalid, match="has the name of the one in"):
        catalog.find("mine")
    assert [entry.folder.parent.name for entry in catalog.entries() if entry.error] == ["one", "two"]


@pytest.mark.parametrize("name", ["recipe_flow", "workshop", "function_name", "flow"])
def test_no_recipe_is_mistaken_for_what_finds_it(name: str) -> None:
    """A deployment's entrypoint is a name in that module."""
    assert name not in vars(any_recipe)


def test_every_name_and_path_makes_a_key() -> None:
    """Prefect takes small letters, digits and dashes."""
    for recipe, of in (("a-b", "cel"), ("a_b", "scores"), ("a1", "artifacts/Übersicht (1).html")):
        TypeAdapter(ArtifactKey).validate_python(artifact_key(recipe, of))
    assert artifact_key("a_b", "artifacts/report.html") == "a-b-artifacts-report-html"


@pytest.mark.parametrize(
    "name", ["schema", "copy", "json", "model_config", "model_fields", "model_dump", "class", "self"]
)
def test_a_parameter_or_input_may_have_any_name(tmp_path: Path, name: str) -> None:
    """Also one that the form's model has for itself: the form, its schema and the run call it as the author does."""
    toml = f'[parameters.{name}]\ntype = "integer"\ndefault = 1\n[inputs.{name}]\nfile = "x"\nis_required = false\n'
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml))
    recipe_flow(recipe)
    parameters, files = parameter_model(recipe), file_model(recipe)
    assert name in parameters.model_json_schema()["properties"]
    asked = {"objective": "?", "as_of": None, "seed": 0, "sample": False, "refresh": False}
    (tmp_path / "x.bin").write_text("a\n1\n")
    given = {"parameters": parameters(**{name: 3}), "files": files(**{name: str(tmp_path / "x.bin")})}
    request = as_request(recipe, {**asked, **given})
    assert request.parameters == {name: 3}
    assert request.inputs() == {name: "x"}
