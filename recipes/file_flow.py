"""How the cells of a recipe depend on each other through files: as declared, as their code shows, and as observed."""

import ast
import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recipes.errors import RecipeNotFound, meant
from recipes.recipe import Recipe, RecipeCell

_READING = ("read", "load", "open", "render", "imread", "svg", "png")
_WRITING = ("to_", "write", "save", "dump")
_SEARCHED = ("evidence.json", "evidence/*", "citations.json", "citations/*", "CEL.md")
"""What the tools leave in the run's folder for cells to read."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """A file that will not be there when a cell reads it, or may not be."""

    cell: str
    problem: str
    remedy: str


class FileFlow:
    """Which cell makes which file and who reads it, in the order in which the cells run."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._order = [cell.name for cell in recipe.cells]
        self._literals = {cell.name: _literals(cell) for cell in recipe.cells}
        self._given = [*(entry.file for entry in recipe.inputs.values()), *recipe.templates, *_SEARCHED]

    def makes(self, cell: str) -> tuple[str, ...]:
        """Paths and patterns that the cell is expected to make, or that its code names when it writes."""
        return tuple(dict.fromkeys((*self._cell(cell).makes, *self._literals[cell].written)))

    def reads(self, cell: str) -> tuple[str, ...]:
        """Paths that the cell declares to read, or that its code names when it reads."""
        return tuple(dict.fromkeys((*self._cell(cell).reads, *self._literals[cell].read)))

    def needs(self, cell: str) -> tuple[str, ...]:
        """The earlier cells whose files this one reads, in order."""
        before = self._order[: self._order.index(cell)]
        return tuple(name for name in before if any(_fits(path, self.makes(name)) for path in self.reads(cell)))

    def undeclared(self, cell: str, observed: Iterable[str]) -> tuple[str, ...]:
        """Of the files that a cell was seen to read, those that neither recipe.toml nor its code names."""
        expected = (*self.reads(cell), *self.makes(cell), *self._given)
        return tuple(path for path in dict.fromkeys(observed) if not _fits(path, expected))

    def findings(self) -> tuple[FileFinding, ...]:
        """What is read before it is made, in a circle, or made by nobody."""
        return tuple(finding for cell in self._order for path in self.reads(cell) for finding in self._of(cell, path))

    def _of(self, cell: str, path: str) -> Iterator[FileFinding]:
        place = self._order.index(cell)
        makers = [name for name in self._order if _fits(path, self.makes(name))]
        if _fits(path, self._given) or any(self._order.index(name) <= place for name in makers):
            return
        if not makers:
            if path in self._cell(cell).reads or "/" in path or "." in path:
                every = [made for name in self._order for made in self.makes(name)]
                yield FileFinding(
                    cell,
                    f"{path} is read, and no cell, input or template makes it",
                    meant(path, [*every, *self._given[: -len(_SEARCHED)]], "declare who makes it: expects.files"),
                )
            return
        later = makers[0]
        if cell in self._behind(later):
            yield FileFinding(
                cell,
                f"{path} goes in a circle: '{cell}' reads what '{later}' makes, and '{later}' what '{cell}' makes",
                "split one of the two cells",
            )
        else:
            yield FileFinding(
                cell,
                f"{path} is read before it is made: the cell '{later}' makes it, and comes later",
                f"move '{later}' before '{cell}'",
            )

    def _behind(self, cell: str) -> set[str]:
        """The cells whose files this one reads, whatever their order, and theirs."""
        found: set[str] = set()
        waiting = [cell]
        while waiting:
            reads = self.reads(waiting.pop())
            more = {n for n in self._order if n not in found and any(_fits(path, self.makes(n)) for path in reads)}
            found |= more
            waiting += sorted(more)
        return found

    def _cell(self, name: str) -> RecipeCell:
        for cell in self._recipe.cells:
            if cell.name == name:
                return cell
        raise RecipeNotFound(f"there is no cell '{name}'", meant(name, self._order))


def _fits(path: str, patterns: Iterable[str]) -> bool:
    return any(path == pattern or fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class _Literals:
    read: tuple[str, ...]
    written: tuple[str, ...]


def _literals(cell: RecipeCell) -> _Literals:
    """Paths that stand in the code itself, by what is done with them."""
    read: list[str] = []
    written: list[str] = []
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:  # `Dataflow` says where
        return _Literals((), ())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for path, is_written in _paths(node):
                (written if is_written else read).append(path)
    return _Literals(tuple(dict.fromkeys(read)), tuple(dict.fromkeys(written)))


def _paths(call: ast.Call) -> Iterator[tuple[str, bool]]:
    match call:
        case ast.Call(func=ast.Attribute(attr="write", value=ast.Name(id="page"))):
            texts = [_text(argument) for argument in call.args[:2]]
            yield from ((text, number == 0) for number, text in enumerate(texts) if text)
        case ast.Call(func=ast.Attribute(attr=verb, value=ast.Call(func=ast.Name(id="Path"), args=[first]))):
            yield from _as_done(verb, _text(first), call.args[:1])
        case ast.Call(func=ast.Name(id=verb) | ast.Attribute(attr=verb), args=[first, *rest]):
            yield from _as_done(verb, _text(first), rest[:1])
        case _:
            pass


def _as_done(verb: str, path: str, then: list[ast.expr]) -> Iterator[tuple[str, bool]]:
    if not path or "\n" in path or path.startswith(("/", "http")) or not ("." in path or "/" in path):
        return
    if verb == "open":
        mode = _text(then[0]) if then else "r"
        yield path, bool(set(mode) & set("wax+"))
    elif verb.startswith(_WRITING):
        yield path, True
    elif verb.startswith(_READING):
        yield path, False


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
