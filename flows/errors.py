"""What can go wrong with a run of a recipe as a whole, by whose fault it is.

FlowError
├── BelowThreshold      the recipe's, or its data's: a step was done, and the Evaluator says FAIL
├── DeliverableMissing  the recipe's: what it declares to deliver is not there
└── NoWorkshop          the installation's: nothing says where runs live and what they work with
"""


class FlowError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class BelowThreshold(FlowError):
    """A step was done, and the Evaluator says FAIL."""


class DeliverableMissing(FlowError):
    """What the recipe declares to deliver is not there."""


class NoWorkshop(FlowError):
    """Nothing says where runs live and what they work with."""
