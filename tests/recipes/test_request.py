"""What cannot be run is refused before anything runs."""

from pathlib import Path

import pytest

from fakes.recipes import write_recipe
from flows.request import make_request
from recipes.errors import BadParameter, RecipeInvalid
from recipes.recipe_file import read_recipe


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = = 1", "line 2, in cell 'one'"),
        (f"x = {'+'.join('1' * 5000)}", "'one' is nested too deeply"),
        (f"x = {'+'.join('1' * 300)}", "'one' is nested too deeply"),
        (f"x = {'-' * 5000}1", "'one' is nested too deeply"),
        ("if a: pass\n" + "elif a: pass\n" * 3000, "'one' is nested too deeply"),
        ("(" * 300 + ")" * 300, "too many nested parentheses"),
        ("x = 1\0", "null bytes"),
    ],
    ids=range(7),
)
def test_cells_that_cannot_be_followed_are_their_authors(tmp_path: Path, code: str, says: str) -> None:
    """A recipe whose cells Python cannot read, or nobody could walk, begins no run."""
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml="", notebook=f"# %% one\n{code}\n"))
    with pytest.raises(RecipeInvalid, match=says):
        make_request(recipe)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            'date_range = "lately"',
            r"searches\.m\.date_range: date range 'lately' is not understood\n  → one of day, week",
        ),
        ('date_range = "{{ as_of }}..2020"', r"searches\.m\.date_range: .* starts on 2026-01-31, after its end"),
        ('allow_domains = ["acme.example/a b"]', r"searches\.m\.allow_domains: .*is not a domain\n  → write a name"),
    ],
)
def test_a_search_that_the_tool_would_refuse_begins_no_run(tmp_path: Path, line: str, says: str) -> None:
    """Its days and its domains are its author's: it is named, with what can be."""
    recipe = read_recipe(write_recipe(tmp_path / "mine", f'[[searches]]\nname = "m"\nquery = "q"\n{line}\n'))
    with pytest.raises(RecipeInvalid, match=says):
        make_request(recipe, as_of="2026-01-31")


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        ("why\ud800", "objective 'why.ud800' holds half a character"),
        ("?" * 100_001, "objective .* has 100,001 characters"),
    ],
)
def test_a_question_that_cannot_be_kept_is_refused(tmp_path: Path, objective: str, says: str) -> None:
    """Half a character can be neither written nor sent; a book is no question."""
    with pytest.raises(BadParameter, match=says):
        make_request(read_recipe(write_recipe(tmp_path / "mine")), objective=objective)


def test_a_day_that_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    """With a message that any terminal can write."""
    with pytest.raises(BadParameter, match=r"the day '.ud800' is no date") as refusal:
        make_request(read_recipe(write_recipe(tmp_path / "mine")), as_of="\ud800")
    assert str(refusal.value).encode()
