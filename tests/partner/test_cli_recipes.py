"""partner recipes, recipe new, recipe check."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.command_line import partner
from fakes.recipes import write_recipe
from recipes.catalog import Catalog

pytestmark = pytest.mark.usefixtures("partner_home")


def test_recipes_are_listed_with_the_broken_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PARTNER_RECIPES names folders as PATH does; a broken recipe is marked, with its reason."""
    write_recipe(tmp_path / "one" / "good")
    write_recipe(tmp_path / "two" / "bad", head="title = 1")
    monkeypatch.setenv("PARTNER_RECIPES", f"{tmp_path}/one:{tmp_path}/two")
    listed = {entry["name"]: entry for entry in partner("recipes", "--json").json["recipes"]}
    assert set(listed) >= {"quick-look", "good", "bad"}
    assert (listed["quick-look"]["is_standard"], listed["good"]["error"]) == (True, None)
    answer = partner("recipes")
    assert "broken" in answer.text
    assert "bad cannot be used" in answer.stderr


def test_a_new_recipe_passes_its_check(tmp_path: Path) -> None:
    """It is found by its name at once, and what to do next is said; what is there is not overwritten."""
    made = partner("recipe", "new", "churn-report")
    assert made.code == 0
    assert "partner run churn-report --sample" in made.stderr
    assert partner("recipe", "check", "churn-report").code == 0
    assert partner("recipe", "check", "churn-report", "--json").json == {
        "recipe": "churn-report", "ok": True, "findings": [],
    }  # fmt: skip
    assert partner("recipe", "new", "churn-report").code == 2
    assert partner("recipe", "new", "Churn Report").code == 2
    assert partner("recipe", "new", "quick-look").code == 2
    other = partner("recipe", "new", "other", "--folder", tmp_path / "mine")
    assert "PARTNER_RECIPES" in other.stderr
    assert partner("recipe", "check", tmp_path / "mine" / "other").code == 0


def test_a_new_recipe_lints(tmp_path: Path) -> None:
    """With the rules that ruff has by itself: its author need not begin with our mistakes."""
    assert partner("recipe", "new", "churn-report", "--folder", tmp_path).code == 0
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", str(tmp_path / "churn-report")]
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_standard_recipes_pass_their_check() -> None:
    """With no advice either."""
    for name in Catalog().names():
        assert partner("recipe", "check", name, "--json").json["findings"] == []


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("notebook.py", "problems_in(pd", "problems_in(pf", "pf is not defined"),
        ("notebook.py", "run.parameters.top_n", "run.parameters.top", "run.parameters.top is no parameter"),
        ("notebook.py", 'run.inputs["data"]', 'run.inputs["date"]', 'run.inputs["date"] is no input'),
        ("notebook.py", 'run.inputs["data"]', "run.inputs.dat", "did you mean data?"),
        ("notebook.py", 'with open("profile.json") as file:\n    told', 'with open("x.json") as file:\n    told', "x.json is read"),
        ("recipe.toml", 'expects.files = [{ path = "artifacts', 'expects.files = [{ paths = "artifacts', "cells.page.expects"),
        ("recipe.toml", 'deliverables = ["artifacts/quick_look', 'deliverables = ["artifacts/quick_lok', "no cell is expected"),
        ("recipe.toml", "min_rows = 1\nsample", "min_rows = 9999\nsample", "653 rows; 9999 or more"),
        ("templates/quick_look.html.j2", "{% endif %}", "{% end %}", "line"),
        ("sample_data/orders.csv", None, "", "is empty"),
        ("notebook.py", "import run, table_charts\n\nwith open(\"profile.json\") as file:\n    profiled", "import run table_charts\n\nwith open(\"profile.json\") as file:\n    profiled", "in cell 'draw'"),
    ],
)  # fmt: skip
def test_what_would_go_wrong_is_found_before_a_run(
    tmp_path: Path, file: str, old: str | None, new: str, says: str
) -> None:
    """Names, parameters, files, expectations, deliverables, templates and samples: each with its place, exit 2."""
    folder = tmp_path / "mine" / "copy"
    shutil.copytree(Catalog().find("quick-look").folder, folder)
    text = (folder / file).read_text()
    (folder / file).write_text(new if old is None else text.replace(old, new, 1))
    assert (folder / file).read_text() != text
    answer = partner("recipe", "check", folder)
    assert (answer.code, says in answer.text) == (2, True), answer
    assert "→" in answer.text


def test_an_unknown_recipe_is_not_found() -> None:
    """Exit 5, with the close name."""
    answer = partner("recipe", "check", "quik-look")
    assert (answer.code, "quick-look" in answer.stderr) == (5, True)


def test_the_home_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ~ that names no user is no fault of ours, wherever a path is given."""
    path = "~no-such-user/x"
    for arguments in (["recipe", "new", "abc", "--folder", path], ["run", "quick-look", "--file", f"data={path}"]):
        answer = partner(*arguments)
        assert (answer.code, f"{path} is refused" in answer.stderr) == (2, True), answer
    assert partner("run", path).code == 5
    for variable in ("PARTNER_RECIPES", "PARTNER_DOCUMENTS"):
        monkeypatch.setenv(variable, path)
        answer = partner("recipes")
        assert (answer.code, f"{path} is refused" in answer.stderr) == (2, True), answer
        monkeypatch.delenv(variable)
