"""The queries of a recipe's searches, rendered for one run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from recipes.errors import RecipeInvalid
from recipes.recipe import Recipe, Search
from recipes.rendering import render

_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Query:
    """A search, ready to be made."""

    name: str
    query: str
    top_k: int
    include_page: bool
    allow_domains: tuple[str, ...]
    date_range: str | None
    freshness_h: float
    timeout_s: float
    retries: int
    retry_delay_s: float


def queries(recipe: Recipe, parameters: Mapping[str, JsonValue], objective: str, as_of: str) -> tuple[Query, ...]:
    """Every search of the recipe for these values; a template that fails is its author's mistake."""
    known = {**parameters, "objective": objective, "as_of": as_of}
    return tuple(query for search in recipe.searches for query in _of(search, known, recipe))


def _of(search: Search, known: Mapping[str, JsonValue], recipe: Recipe) -> Iterator[Query]:
    if search.for_each is None:
        yield _query(search, search.name, known, recipe)
        return
    items = known.get(search.for_each)
    for number, item in enumerate(items if isinstance(items, list) else [], 1):
        yield _query(search, f"{search.name}-{number}", {**known, "item": item}, recipe)


def _query(search: Search, name: str, known: Mapping[str, JsonValue], recipe: Recipe) -> Query:
    text = _rendered(search, "query", search.query, known, recipe)
    if not 0 < len(text) <= _LONGEST:
        raise RecipeInvalid(
            f"{recipe.folder / 'recipe.toml'}: searches.{search.name}.query: its text has {len(text)} characters",
            f"a query has 1 to {_LONGEST}; give a default to what it is made of",
        )
    date_range = search.date_range and _rendered(search, "date_range", search.date_range, known, recipe)
    return Query(
        name=name,
        query=text,
        top_k=search.top_k,
        include_page=search.include_page,
        allow_domains=search.allow_domains,
        date_range=date_range or None,
        freshness_h=search.freshness_h,
        timeout_s=search.timeout_s,
        retries=search.retries,
        retry_delay_s=search.retry_delay_s,
    )


def _rendered(search: Search, field: str, template: str, known: Mapping[str, JsonValue], recipe: Recipe) -> str:
    try:
        return " ".join(render(template, known).split())
    except Exception as error:  # a template can raise anything, and it is its author's
        raise RecipeInvalid(
            f"{recipe.folder / 'recipe.toml'}: searches.{search.name}.{field}: {_said(error)}",
            f"its template sees {', '.join(known)}",
        ) from None


def _said(error: Exception) -> str:
    """Some say nothing of themselves."""
    match error:
        case MemoryError():
            return "it takes more memory than there is"
        case RecursionError():
            return "it is nested too deeply, or calls itself without end"
        case _:
            return str(error)[:300] or type(error).__name__
