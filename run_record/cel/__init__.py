"""The Context Engineering Log: a run's journal as a person reads it."""

from run_record.cel.cel_text import CelText, Edit, cel_text, entries_as_of
from run_record.cel.step_block import StepBlock, block_of, parse, render

__all__ = ["CelText", "Edit", "StepBlock", "block_of", "cel_text", "entries_as_of", "parse", "render"]
