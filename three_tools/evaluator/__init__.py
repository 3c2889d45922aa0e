"""The Evaluator: judges every step by what was expected of it, reading hashed objects inside the sandbox."""

from three_tools.evaluator.evaluator import Evaluator
from three_tools.evaluator.expectations import ColumnKind, Expectations, ExpectedFile, Range
from three_tools.evaluator.judged_step import JudgedStep

__all__ = ["ColumnKind", "Evaluator", "Expectations", "ExpectedFile", "JudgedStep", "Range"]
