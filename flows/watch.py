"""Whoever follows a run while it runs."""

from typing import Protocol

from recipes.recipe import Recipe
from tasks.step import Step
from three_tools.after_call import Recorded
from three_tools.run import Run


class Watch(Protocol):
    """Is told of a run's steps as they begin and end, from whatever thread does them."""

    def opened(self, run: Run, recipe: Recipe) -> None: ...
    def began(self, step: Step) -> None: ...
    def ended(self, step: Step, recorded: Recorded) -> None: ...


class _Silence:
    """Nobody."""

    def opened(self, run: Run, recipe: Recipe) -> None: ...
    def began(self, step: Step) -> None: ...
    def ended(self, step: Step, recorded: Recorded) -> None: ...


SILENCE: Watch = _Silence()
