"""Templates of queries: what they can do, and what ends them."""

from pathlib import Path

import pytest
from jinja2 import TemplateAssertionError, UndefinedError

from fakes.recipes import write_recipe
from recipes.errors import RecipeInvalid
from recipes.recipe import Search
from recipes.recipe_file import read_recipe
from recipes.rendering import TooMuch, render
from recipes.searches import queries


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ x ~ 1 ~ 'a' }}", "abc1a"),
        ("{{ '%.1f' % 0.25 }} {{ '%.2f'|format(0.25) }} {{ '{:>5}'.format(1) }}", "0.2 0.25     1"),
        ("{% for i in x %}{{ loop.index }}/{{ loop.length }}{{ ', ' if not loop.last }}{% endfor %}", "1/3, 2/3, 3/3"),
        ("{% for k, v in d.items() %}{{ k }}{{ v }}{% else %}none{% endfor %}", "a1"),
        ("{% for k in [] %}{{ k }}{% else %}none{% endfor %}", "none"),
        ("{{ l|map('string')|join('+') }} = {{ l|sum }}", "1+2+3 = 6"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(1) }}{% set y %}b{{ x }}{% endset %}{{ y }}", "<1>babc"),
        (
            "{% set n = namespace(t=0) %}{% for a, b in [(1, 2), [3, 4]] %}{% set n.t = n.t + a * b %}{% endfor %}{{ n.t }}",
            "14",
        ),
        ("{{ {'a': (1, 'b')} }} {{ 'x\ny'|indent(2) }} {{ l|tojson(indent=1)|length }}", "{'a': (1, 'b')} x\n  y 14"),
        ("{{ u|default('q') }} {{ l + [4] }} {{ x|upper }} {{ '2026-01'[:4]|int - 1 }}", "q [1, 2, 3, 4] ABC 2025"),
        (
            "{{ range(3)|list }} {{ '-' * 3 }} {{ 10 ** 3 }} {{ 7 % 3 }} {{ x|center(5) }}|",
            "[0, 1, 2] --- 1000 1  abc |",
        ),
    ],
)
def test_a_template_may_do_what_templates_do(template: str, text: str) -> None:
    """Loops, filters, macros, formats."""
    assert render(template, {"x": "abc", "l": [1, 2, 3], "d": {"a": 1}}) == text


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**10 }}",
        "{{ 10**10 * 'a' }}",
        "{{ [1] * 10**9 }}",
        "{{ 9**9**9 }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(n) %}{{ m(n-1) if n }}{{ m(n-1) if n }}{% endmacro %}{{ m(50) }}",
        "{% for i in range(10**9) %}a{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{{ 'abcdefghij' }}{% endfor %}",
        "{{ 'a'.ljust(10**10) }}",
        "{{ 'a'|center(10**10) }}",
        "{{ 'a'|indent(width=10**10) }}",
        "{{ [1]|map('center', 10**10)|list }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%9999999999d'|format(1) }}",
        "{{ '{:9999999999}'.format(1) }}",
        "{{ '{:{n}}'.format(1, n=10**10) }}",
        "{{ ('a' * 99999)|replace('a', 'b' * 99999) }}",
        "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
        "{% set n = namespace(x='a') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(40) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
        "{{ lipsum(n=100000) }}",
        f"{{{{ {'(' * 500}1{')' * 500} }}}}",
        f"{{{{ {'+'.join('1' * 3000)} }}}}",
        "{% include 'x' %}",
        "{{ 10**400 / 3 }}",
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=1) %}{% for i in range(60) %}{% set n.x = {1: n.x, 2: n.x} %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=1) %}{% for i in range(60) %}{% set n.x = (n.x, n.x) %}{% endfor %}{{ n.x == n.x[0] }}",
        "{% set n = namespace(x=1) %}{% for i in range(60) %}{% set n.x = namespace(a=n.x, b=n.x) %}{% endfor %}",
        "{{ (['a' * 90000] * 90000)|string }}",
        "{{ ('\\t' * 90000).expandtabs(90000) }}",
        "{{ ('\\n' * 90000)|indent(90000, blank=true) }}",
        "{{ ([1] * 90000)|tojson(indent=90000) }}",
    ],
    ids=range(34),
)
def test_a_template_that_would_not_end_well_is_its_authors(tmp_path: Path, template: str) -> None:
    """Too large, too deep, too long: its search is named, and nothing is made of it."""
    recipe = read_recipe(write_recipe(tmp_path / "mine"))
    search = Search(name="m", query="x", date_range=template)
    with pytest.raises(RecipeInvalid, match=r"searches\.m\.date_range: ['\w]"):
        queries(recipe.model_copy(update={"searches": (search,)}), {}, "?", "2026-01-31")


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ '{:99999}'.format(1) }}", "too wide"),
        ("{{ '%99999d' % 1 }}", "too wide"),
        ("{{ '%99999d'|format(1) }}", "too wide"),
        ("{{ '%*d' % (9, 1) }}", "too wide"),
        ("{{ ('ab' * 2000)|replace('ab', 'b' * 4000) }}", "it would make 32,000,000"),
        ("{% macro m(n) %}{{ m(n - 1) + m(n - 1) if n else '' }}{% endmacro %}{{ m(18) }}", "100,000 steps"),
        ("{% for i in range(99999) %}{{ range(1)|length }}{% endfor %}", "100,000 steps"),
    ],
)
def test_what_would_be_too_much_is_refused_before_it_is_made(template: str, says: str) -> None:
    """By what is asked for, not by what the machine has: each of these could still be made."""
    with pytest.raises(TooMuch, match=says):
        render(template, {})


def test_a_template_leaves_nothing_to_chance() -> None:
    """A query is the same each time it is rendered: once to check it, and once to make it."""
    with pytest.raises(UndefinedError, match="lipsum"):
        render("{{ lipsum(n=1) }}", {})
    with pytest.raises(TemplateAssertionError, match="random"):
        render("{{ ['a', 'b']|random }}", {})
