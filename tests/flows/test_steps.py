"""What a step's result depends on, before it has run."""

from dataclasses import replace
from pathlib import Path

from fakes.kitchen import TOML
from flows import steps
from flows.request import Request, make_request
from recipes.recipe_file import read_recipe
from run_record import Sha256
from tasks.step import Step, normalised

NOTEBOOK = "# %% load\nimport csv\nrows = [1]\n\n# %% use\ntotal = sum(rows)\n\n# %% apart\nimport csv\nx = 1\n\n# %% all\nfrom recipes.kit import run\nnames = list(run.parameters)\n"
SEARCH = '[[searches]]\nname = "heat"\nquery = "heat pumps {{ as_of[:4] }}"\nfreshness_h = 2\n'
ENVIRONMENT = "e" * 64


def request_of(folder: Path, as_of: str = "2026-03-31") -> Request:
    (folder / "recipe.toml").write_text(f'{TOML}deliverables = ["notebook.ipynb"]\n{SEARCH}')
    (folder / "notebook.py").write_text(NOTEBOOK)
    return make_request(read_recipe(folder), as_of=as_of)


def search_basis(request: Request, state: str, hour: float) -> Sha256 | None:
    (query,) = request.queries()
    return steps.search(query, request, state, hour * 3600).basis


def test_a_web_search_stays_fresh_for_so_many_hours(tmp_path: Path) -> None:
    """Within a bucket of freshness_h hours it is the same search; in the next one it is another."""
    request = request_of(tmp_path)
    assert search_basis(request, "", 100.0) == search_basis(request, "", 101.9)
    assert search_basis(request, "", 100.0) != search_basis(request, "", 102.1)
    assert search_basis(request, "", 100.0) != search_basis(request_of(tmp_path, as_of="2026-04-01"), "", 100.0)


def test_a_search_has_the_recipes_time_or_its_own(tmp_path: Path) -> None:
    """What recipe.toml says at the top holds for searches that say nothing; how long one may take is not its basis."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    made: list[Step] = []
    for top, own in ("", ""), ("timeout_s = 20\n", ""), ("timeout_s = 20\n", "timeout_s = 5\n"):
        (tmp_path / "recipe.toml").write_text(f'{TOML}deliverables = ["notebook.ipynb"]\n{top}{SEARCH}{own}')
        request = make_request(read_recipe(tmp_path), as_of="2026-03-31")
        made += [steps.search(query, request, "documents", 1) for query in request.queries()]
    assert [step.timeout_s for step in made] == [60, 20, 5]
    assert len({step.basis for step in made}) == 1


def test_a_search_of_documents_is_as_fresh_as_they_are(tmp_path: Path) -> None:
    """While the documents are the same, so is the answer, however long ago it was."""
    request = request_of(tmp_path)
    assert search_basis(request, "documents", 1) == search_basis(request, "documents", 1000)
    assert search_basis(request, "documents", 1) != search_basis(request, "other documents", 1)


def cell_basis(request: Request, name: str, load: str = "k" * 64) -> Sha256 | None:
    variables = {"load": Sha256(load), "use": Sha256("u" * 64)}
    each = next(cell for cell in request.recipe.cells if cell.name == name)
    return steps.CellSteps(request, ENVIRONMENT).step(each, variables).basis


def test_a_cell_depends_on_the_cells_whose_variables_it_uses(tmp_path: Path) -> None:
    """And on no others."""
    request = request_of(tmp_path)
    assert cell_basis(request, "use") != cell_basis(request, "use", load="l" * 64)
    assert cell_basis(request, "apart") == cell_basis(request, "apart", load="l" * 64)


def test_a_cell_depends_on_the_seed_and_not_on_a_clock_it_does_not_read(tmp_path: Path) -> None:
    """The seed decides its random numbers, whether it draws any or not."""
    request = request_of(tmp_path)
    assert cell_basis(request, "apart") == cell_basis(replace(request, as_of="2027-01-01"), "apart")
    assert cell_basis(request, "apart") != cell_basis(replace(request, seed=1), "apart")


def test_a_cell_that_reads_all_parameters_depends_on_each(tmp_path: Path) -> None:
    """Also on one that its code does not name."""
    request = request_of(tmp_path)
    other = replace(request, parameters={"top_n": 3})
    assert cell_basis(request, "all") != cell_basis(other, "all")
    assert cell_basis(request, "apart") == cell_basis(other, "apart")


def test_code_is_normalised_without_changing_what_it_means() -> None:
    """Kinds of line endings and blank lines around it count for nothing; indentation and spaces in strings count."""
    assert normalised("\n\nx = 1\r\ny = 2  \n\n") == normalised("x = 1\ny = 2")
    assert normalised('x = """a \nb"""') != normalised('x = """a\nb"""')
    assert normalised("if x:\n    y = 2") != normalised("if x:\n  y = 2")
