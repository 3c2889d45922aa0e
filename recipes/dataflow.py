"""How the cells of a recipe depend on each other through their variables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from recipes.cell_names import KNOWN, CellNames, names_of
from recipes.errors import RecipeNotFound, meant
from recipes.imports import imports_in
from recipes.module_state import changing_cells
from recipes.reach import restores_objects
from recipes.recipe import RecipeCell
from recipes.run_reads import RunReads, WaysToRun, inputs_named, reads_of_run, ways_to_run


def dataflow(cells: Sequence[RecipeCell]) -> "Dataflow":
    """That of these cells, followed once in a process: the same code is asked about at the door and in the flow."""
    return _followed(tuple((cell.name, cell.source, cell.line) for cell in cells))


@lru_cache(maxsize=64)
def _followed(code: tuple[tuple[str, str, int], ...]) -> "Dataflow":
    return Dataflow([RecipeCell(name=name, source=source, line=line) for name, source, line in code])


class Dataflow:
    """Which cells must have run before another one can.

    Variables are mutable and have aliases, so cells that mention one name belong together, and so do the cells that
    these share a name with. A name that only imports bind ties nobody together: it means the same wherever it is
    bound. Cells that change a module's state, or can touch any name, are needed by every later cell; one that may
    read any name needs every earlier cell.
    """

    def __init__(self, cells: Sequence[RecipeCell]) -> None:
        self._order = [cell.name for cell in cells]
        self._places = {name: place for place, name in enumerate(self._order)}
        self._cells: Mapping[str, CellNames] = {cell.name: names_of(cell) for cell in cells}
        self._trees = {name: cell.tree for name, cell in self._cells.items()}

    def names(self, cell: str) -> CellNames:
        """What a cell uses and binds."""
        if cell not in self._cells:
            raise RecipeNotFound(f"there is no cell '{cell}'", meant(cell, self._order))
        return self._cells[cell]

    def needs(self, cell: str) -> tuple[str, ...]:
        """The earlier cells whose variables or module state this one may use, in order.

        Each name is followed once, so it takes no longer than there are cells and names.
        """
        here = self.names(cell)
        place = self._places[cell]
        found = {name for name in self._needed_by_all if self._places[name] < place}
        followed: set[str] = set()
        waiting = set(here.uses | here.spoken).union(*(self._asks(name) for name in found))
        while waiting:
            name = waiting.pop()
            followed.add(name)
            for giver in self._givers.get(name, ()):
                if giver not in found and self._places[giver] < place:
                    found.add(giver)
                    waiting |= self._asks(giver) - followed
        return tuple(self._order[:place]) if self._reading_all & {*found, cell} else self._in_order(found)

    def replay(self, cell: str, live: Collection[str]) -> tuple[str, ...]:
        """The cells to run before this one, in order, in a kernel where the `live` ones were run, in order.

        Cells that share variables are replayed together or not at all: running one of them twice, or out of its
        order, would change what the others find.
        """
        needs, there = self.needs(cell), set(live)
        if there.issuperset(needs):
            return ()
        return self._in_order(name for group in self._groups(needs) if not group <= there for name in group)

    def run_reads(self, cell: str) -> RunReads:
        """What of the run a cell reads, itself or through the code of the cells it needs."""
        return RunReads.together(self._own_run_reads[name] for name in (*self.needs(cell), cell))

    def inputs_named(self, cell: str) -> frozenset[str]:
        """The inputs that a cell asks for by name."""
        return inputs_named(self.names(cell), self._ways)

    def undefined(self, cell: str) -> tuple[str, ...]:
        """Names that a cell uses and that neither an earlier cell nor itself nor Python defines."""
        before = {name for one in (*self._earlier(cell), self.names(cell)) for name in (*one.defines, *one.imports)}
        if any(one.touches_everything for one in (*self._earlier(cell), self.names(cell))):
            return ()
        return tuple(sorted(self.names(cell).uses - before - KNOWN))

    def defined_later(self, cell: str, name: str) -> str | None:
        """The later cell that defines a name, when only a later one does."""
        later = self._order[self._places[cell] + 1 :]
        return next(
            (other for other in later if name in {*self.names(other).defines, *self.names(other).imports}), None
        )

    def _earlier(self, cell: str) -> list[CellNames]:
        self.names(cell)
        return [self._cells[name] for name in self._order[: self._places[cell]]]

    def _in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(set(names), key=self._places.__getitem__))

    def _asks(self, cell: str) -> frozenset[str]:
        """The names through which a cell that is needed needs others."""
        return self._cells[cell].uses | self._cells[cell].spoken | (self._shared(self._cells[cell]) & self._variables)

    def _groups(self, names: Sequence[str]) -> list[set[str]]:
        """Cells that must be replayed together: those that share a variable, and all with one that could share any."""
        if not (self._needed_by_all | self._reading_all).isdisjoint(names):
            return [set(names)]
        groups: list[set[str]] = []
        left, seen = set(names), set[str]()
        for first in names:
            if first not in left:
                continue
            group, waiting = set[str](), {first}
            while waiting:
                one = waiting.pop()
                group.add(one)
                shared = (self._shared(self._cells[one]) & self._variables) - seen
                seen |= shared
                waiting |= {other for name in shared for other in self._sharers[name] if other in left} - group
            left -= group
            groups.append(group)
        return groups

    @staticmethod
    def _shared(cell: CellNames) -> frozenset[str]:
        """Every name by which it could share something with another cell."""
        return cell.mentions | cell.imports.keys()

    @cached_property
    def _needed_by_all(self) -> frozenset[str]:
        """The cells that every later cell needs."""
        touching = {name for name, cell in self._cells.items() if cell.touches_everything}
        return changing_cells(self._trees) | touching

    @cached_property
    def _reading_all(self) -> frozenset[str]:
        """The cells that may read any variable."""
        imported = {each for tree in self._trees.values() for each in imports_in(tree)}
        return frozenset(
            name
            for name, cell in self._cells.items()
            if cell.touches_everything or cell.may_name_anything or restores_objects(cell.tree, imported)
        )

    @cached_property
    def _sharers(self) -> Mapping[str, Sequence[str]]:
        """The cells that could share each variable."""
        found: dict[str, list[str]] = {}
        for cell in self._cells.values():
            for name in self._shared(cell) & self._variables:
                found.setdefault(name, []).append(cell.name)
        return found

    @cached_property
    def _givers(self) -> Mapping[str, Sequence[str]]:
        """The cells that are needed for each name: who shares the variable, or who imports it."""
        found = {name: list(cells) for name, cells in self._sharers.items()}
        for cell in self._cells.values():
            for name in self._pure_imports & cell.imports.keys():
                found.setdefault(name, []).append(cell.name)
        return found

    @cached_property
    def _ways(self) -> WaysToRun:
        return ways_to_run(self._trees.values())

    @cached_property
    def _own_run_reads(self) -> Mapping[str, RunReads]:
        return {
            name: RunReads(everything=True) if name in self._reading_all else reads_of_run(one, self._ways)
            for name, one in self._cells.items()
        }

    @cached_property
    def _pure_imports(self) -> frozenset[str]:
        """Names bound by imports alone, and always to the same thing."""
        origins: dict[str, set[str]] = {}
        for cell in self._cells.values():
            for name, origin in cell.imports.items():
                origins.setdefault(name, set()).add(origin)
        assigned = {name for cell in self._cells.values() for name in cell.defines}
        return frozenset(name for name, several in origins.items() if len(several) == 1 and name not in assigned)

    @cached_property
    def _variables(self) -> frozenset[str]:
        bound = {name for cell in self._cells.values() for name in (*cell.defines, *cell.imports)}
        return frozenset(bound - self._pure_imports)
