"""The searches of a run as the search tool takes them, checked before the run is opened."""

from collections.abc import Iterable
from datetime import date

from recipes.errors import RecipeInvalid
from recipes.searches import Query
from three_tools.errors import QueryRefused
from three_tools.search.date_range import FORMS, parse_date_range
from three_tools.search.domains import read_domains


def check_terms(queries: Iterable[Query], as_of: str) -> None:
    """RecipeInvalid names the search whose days or domains the tool would refuse."""
    for query in queries:
        try:
            read_domains(query.allow_domains)
            if query.date_range:
                parse_date_range(query.date_range, date.fromisoformat(as_of))
        except QueryRefused as error:
            raise RecipeInvalid(f"recipe.toml: searches.{query.name}.{error.problem}", error.remedy) from None
        except ValueError as error:
            problem = str(error).partition("; ")[0]
            raise RecipeInvalid(
                f"recipe.toml: searches.{query.name}.date_range: {problem}", f"one of {FORMS}"
            ) from None
