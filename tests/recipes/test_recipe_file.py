"""Reading recipes, and finding them."""

from pathlib import Path

import pytest

from fakes.recipes import write_recipe
from recipes.catalog import STANDARD, Catalog
from recipes.errors import RecipeInvalid, RecipeNotFound
from recipes.recipe_file import read_recipe
from recipes.searches import queries


def test_a_recipe_is_read_whole(tmp_path: Path) -> None:
    """A cell has its own settings where recipe.toml gives some, else the recipe's."""
    cells = "# %% [markdown]\n# Prose\n# %% one\nx = 1\n# %% two\ny = 2\n"
    toml = "timeout_s = 9\n[cells.two]\nretries = 2\nexpects.budget_s = 3\n"
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml, cells))
    assert (recipe.name, [cell.name for cell in recipe.cells]) == ("mine", ["one", "two"])
    assert [(cell.timeout_s, cell.retries, cell.expects) for cell in recipe.cells] == [
        (9, 0, {}),
        (9, 2, {"budget_s": 3}),
    ]
    assert recipe.notebook[0].source == "Prose"


def test_a_cells_own_settings_stand_also_where_they_are_nought(tmp_path: Path) -> None:
    """None at all is another thing than none said."""
    recipes_own = "timeout_s = 9\nretries = 3\nretry_delay_s = 5\n"
    toml = f"{recipes_own}[cells.only]\ntimeout_s = 4\nretries = 0\nretry_delay_s = 0\n"
    (cell,) = read_recipe(write_recipe(tmp_path / "mine", toml)).cells
    assert (cell.timeout_s, cell.retries, cell.retry_delay_s) == (4, 0, 0)


def test_files_of_other_systems_are_read_as_ours(tmp_path: Path) -> None:
    """A mark at the beginning and other line endings are no part of a recipe."""
    folder = write_recipe(tmp_path / "mine", notebook="# %% only\n\nx = 1\ny = 2\n")
    plain = read_recipe(folder)
    for name in ("recipe.toml", "notebook.py"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_recipe(folder) == plain


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A folder, or a pipe that nobody writes to, in the place of a recipe's file."""
    for name in ("notebook.py", "recipe.toml"):
        folder = write_recipe(tmp_path / "mine")
        (folder / name).unlink()
        (folder / name).mkdir()
        with pytest.raises(RecipeInvalid, match=f"{name} is no plain file"):
            read_recipe(folder)
        (folder / name).rmdir()


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("titel = 1\n", "titel.*did you mean title"),
        ("retries = 99\n", r"retries: 99 should be less than or equal to 10"),
        ("searches = 3\n", r"searches: it must be a list: \[ … \]"),
        ("[cells]\nonly = 3\n", r"cells\.only: it must be a table"),
        ('[parameters.n]\ntype = "int"\n', r'parameters\.n\.type: "int" should be'),
        ('[parameters.A]\ntype = "text"\n', r"parameters\.A\.name: a name takes small letters"),
        ('[parameters.n]\ntype = "integer"\nmost = 3\ndefault = 4\n', r"4 is above 3\n  → default = …3"),
        ("[cells.onyl]\n", "no such cell.*did you mean only"),
        ('[parameters.n]\ntype = "integer"\ndefault = "x"\n', "parameters.n.default.*'x' is not a whole number"),
        ('[parameters.n]\ntype = "choice"\n', "choices belong to"),
        ('[parameters.as_of]\ntype = "date"\n', "every run has as_of"),
        ('[inputs.a]\nfile = "/etc/passwd"\n', "beneath the run"),
        ('[inputs.a]\nfile = "x"\n[inputs.b]\nfile = "x"\n', "two inputs.*'x'"),
        ('[inputs.a]\nfile = "x"\ncolums = {}\n', "colums.*did you mean columns"),
        ('[[searches]]\nname = "s"\nquery = "q"\nfor_each = "lots"\n', "no list parameter 'lots'"),
        ('[[searches]]\nname = "s"\nquery = "q"\n' * 2, "two searches.*'s'"),
        ("x = [\n", "is not TOML"),
    ],
)
def test_what_cannot_be_is_named_with_its_place(tmp_path: Path, toml: str, says: str) -> None:
    """The author learns which key of which file is wrong, and what would do."""
    folder = write_recipe(tmp_path / "mine", toml)
    with pytest.raises(RecipeInvalid, match=f"(?s)recipe.toml.*{says}"):
        read_recipe(folder)


def test_a_misspelt_key_is_named_before_the_one_that_is_missing_for_it(tmp_path: Path) -> None:
    """What the author wrote is what they find again."""
    folder = write_recipe(tmp_path / "mine", head='title = "T"\npurpse = "P"\nobjective = "O"\ndeliverables = ["x"]\n')
    with pytest.raises(RecipeInvalid, match=r"purpse: there is no such key\n  → did you mean purpose"):
        read_recipe(folder)


def test_a_broken_recipe_hides_no_other(tmp_path: Path) -> None:
    """It is listed with its error, beside the whole ones."""
    write_recipe(tmp_path / "good")
    write_recipe(tmp_path / "bad", head="title = 3")
    listed = {entry.name: entry.error for entry in Catalog([tmp_path]).entries()}
    assert listed["good"] is None
    assert listed["quick-look"] is None
    assert isinstance(listed["bad"], RecipeInvalid)


def test_a_recipe_of_the_users_shadows_no_standard_one(tmp_path: Path) -> None:
    """A name that two recipes have is refused, with both places."""
    write_recipe(tmp_path / "quick-look")
    with pytest.raises(RecipeInvalid, match="standard recipe"):
        Catalog([tmp_path]).find("quick-look")
    assert Catalog([tmp_path]).find(f"{tmp_path}/quick-look").title == "A test"


def test_an_unknown_name_gets_the_close_one(tmp_path: Path) -> None:
    """A typing error costs one more try; a folder that holds none says so."""
    with pytest.raises(RecipeNotFound, match="did you mean quick-look"):
        Catalog().find("quick-lok")
    with pytest.raises(RecipeNotFound, match=r"recipe\.toml"):
        Catalog().find(f"{tmp_path}/")


def test_the_checkouts_own_folder_is_no_users_folder() -> None:
    """`recipes` beside the program holds the standard recipes once."""
    assert Catalog([STANDARD]).names() == Catalog().names()


def test_searches_are_rendered(tmp_path: Path) -> None:
    """Templates see parameters, clock and question; a search for each item of a list is several."""
    toml = (
        '[parameters.market]\ntype = "text"\ndefault = "tea"\n[parameters.rivals]\ntype = "list"\ndefault = ["A", "B"]\n'
        '[[searches]]\nname = "m"\nquery = "{{ market }}\\n {{ as_of[:4] }}"\ndate_range = "{{ as_of[:4] }}"\n'
        '[[searches]]\nname = "r"\nquery = "{{ item }} price"\nfor_each = "rivals"\n'
    )
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml))
    made = queries(recipe, {"market": "tea", "rivals": ["A", "B"]}, "?", "2026-01-31")
    assert [(query.name, query.query, query.date_range) for query in made] == [
        ("m", "tea 2026", "2026"),
        ("r-1", "A price", None),
        ("r-2", "B price", None),
    ]


def test_a_query_has_words_and_not_too_many(tmp_path: Path) -> None:
    """One that comes to nothing for these values is refused, and so is one that is a book; no range is no range."""
    toml = '[[searches]]\nname = "m"\nquery = "{{ objective }}"\ndate_range = "{{ as_of if objective == \'all\' }}"\n'
    recipe = read_recipe(write_recipe(tmp_path / "mine", toml))
    for objective, characters in ((" ", 0), ("q" * 2001, 2001)):
        with pytest.raises(RecipeInvalid, match=rf"searches\.m\.query: its text has {characters} characters"):
            queries(recipe, {}, objective, "2026-01-31")
    (query,) = queries(recipe, {}, "q" * 2000, "2026-01-31")
    assert (len(query.query), query.date_range) == (2000, None)


@pytest.mark.parametrize("query", ["{{ markt }}", "{{ x", "{{ ''.__class__.__mro__ }}", "{{ 1/0 }}"])
def test_a_template_that_fails_is_its_authors(tmp_path: Path, query: str) -> None:
    """The search is named; nothing gets out of Jinja's sandbox."""
    recipe = read_recipe(write_recipe(tmp_path / "mine", f'[[searches]]\nname = "m"\nquery = "{query}"\n'))
    with pytest.raises(RecipeInvalid, match=r"searches\.m\.query"):
        queries(recipe, {}, "?", "2026-01-31")


def test_standard_recipes_can_be_read() -> None:
    """Each one in the package, with its sample and its templates."""
    for entry in Catalog().entries():
        assert entry.recipe is not None, entry.error
        assert entry.recipe.templates
