"""Jinja's sandbox for short texts: what would fill the memory, or never end, is refused."""

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from typing import Any, cast

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer
from pydantic import JsonValue

_LARGEST = 100_000
"""Characters, items, and numbers that say how many."""
_PRODUCT = 10_000_000
"""What a call may make of what it is given, at most: the sizes of all that multiplied."""
_IN_ALL = 1_000_000
"""Values and characters in one thing, with all that it holds: twice the same list is twice as much text."""
_STEPS = 100_000
"""Turns of loops, and calls."""
_WIDENING = ("expandtabs", "do_indent", "do_tojson")
"""What puts as many blanks as a number says into each line, or each value."""
_ATTRIBUTES = "_Namespace__attrs"  # what {% set it.name = … %} puts into a namespace
_WIDE_FORMAT = re.compile(r"\d{5}|\*")


class TooMuch(SecurityError):
    """More than a short text can need."""


def render(template: str, known: Mapping[str, JsonValue]) -> str:
    """The text, as plain text: it is never put into HTML. Raises whatever the template does."""
    text = _Bounded().from_string(template).render(known)
    _check(len(text))
    return text


class _Bounded(ImmutableSandboxedEnvironment):
    """Jinja's sandbox forbids what reaches out; this one bounds sizes and steps too, and leaves nothing to chance.

    One for each rendering.
    """

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, finalize=_checked)
        self._left = _STEPS
        del self.globals["lipsum"]
        del self.filters["random"]
        self.filters = {name: _bounded(each) for name, each in self.filters.items()} | {
            "counted": self._counted,
            "checked": _checked,
        }

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # Any: as in Jinja
        if operator == "**":
            _check(max(_number(left), _number(right)) * 100)
        if operator == "*":
            _check(max(_size(left) * _number(right), _number(left) * _size(right)))
        if operator == "%" and isinstance(left, str):
            _check_format(left)
        return _checked(super().call_binop(context, operator, left, right))

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # Any: as in Jinja
        self._step()
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)  # of a text's own method: the text
        given = (owner, *args, *kwargs.values())
        _check_arguments(given)
        if isinstance(owner, str):
            _check_widening(obj.__name__, given)
            if obj.__name__.startswith("format"):
                _check_format(owner)
        return _checked(super().call(context, obj, *args, **kwargs))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return _Counting().visit(super()._parse(source, name, filename))

    def _counted(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self._step()
            yield item

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooMuch(f"it takes more than {_STEPS:,} steps")


class _Counting(NodeTransformer):
    """Each loop is counted; what ~ and brackets put together is bounded like what filters give."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  (as NodeTransformer calls it)
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "counted", [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  (likewise)
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "join", [], [], None, None, lineno=node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802  (likewise)
        return self._as_checked(node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802  (likewise)
        return self._as_checked(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802  (likewise)
        return self._as_checked(node) if node.ctx == "load" else node

    def _as_checked(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return nodes.Filter(node, "checked", [], [], None, None, lineno=node.lineno)


def _bounded(made: Callable[..., Any]) -> Callable[..., Any]:  # Any: filters take and give anything
    @functools.wraps(made)
    def bounded(*args: Any, **kwargs: Any) -> Any:  # Any: as above
        given = (*args, *kwargs.values())
        _check_arguments(given)
        _check_widening(made.__name__, given)
        if made.__name__ == "do_format":
            _check_format(str(given[0]))
        return _checked(made(*args, **kwargs))

    return bounded


def _check_arguments(given: Iterable[object]) -> None:
    product = 1
    for each in given:
        _check(_number(each))
        product *= max(_size(each), 1)
    if product > _PRODUCT:
        _check(product)


def _check_widening(name: str, given: Iterable[object]) -> None:
    if name in _WIDENING:
        values = list(given)
        _check(max(map(_number, values)) * sum(_size_in_all(each) for each in values if not isinstance(each, int)))


def _check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise TooMuch(f"the format {text[:40]!r} is too wide")


def _checked(value: Any) -> Any:  # Any: as above
    _check(_size(value))
    if _size_in_all(value) > _IN_ALL:
        raise TooMuch(f"it would hold more than {_IN_ALL:,} values and characters, counting all that is in it")
    return value


def _number(value: object) -> int:
    return abs(value) if isinstance(value, int) else 0


def _size(value: object) -> int:
    match value:
        case int():
            return value.bit_length()
        case str() | bytes() | list() | tuple() | dict() | set() | range():
            return len(cast("Sized", value))
        case _:
            return 0


def _size_in_all(value: object) -> int:
    """No further than it must: what holds itself has no end."""
    total, left = 0, [value]
    while left and total <= _IN_ALL:
        each = left.pop()
        match each:
            case str() | bytes():
                total += len(each)
            case list() | tuple() | set():
                items = cast("Collection[object]", each)
                total += len(items)
                left.extend(items)
            case dict() | Namespace():
                held = cast("dict[object, object]", each if isinstance(each, dict) else getattr(each, _ATTRIBUTES))
                total += len(held)
                left.extend((*held.keys(), *held.values()))
            case _:
                total += 1
    return total


def _check(size: int) -> None:
    if size > _LARGEST:
        shown = f"{size:,}" if size < 10**15 else "more than can be counted"
        raise TooMuch(f"it would make {shown} at once, and {_LARGEST:,} is the most")
