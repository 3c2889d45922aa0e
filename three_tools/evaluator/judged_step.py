"""A step as the Evaluator is given it: what was asked, how the call went, what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from run_record import Artifact
from three_tools.evaluator.expectations import Expectations


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """What is known of a step outside the sandbox."""

    tool: str
    """Its canonical name, such as sandbox.exec."""
    ok: bool
    """Whether the call did what was asked."""
    expects: Expectations = field(default_factory=Expectations)
    code: str = ""
    """The fixed code of a refusal."""
    cause: str = ""
    """Why its cell did not end well, in the sandbox's words."""
    detail: str = ""
    """The refusal or the cause as a sentence."""
    stderr: str = ""
    """The end of what it wrote there."""
    seconds: float = 0.0
    artifacts: tuple[Artifact, ...] = ()
    """The files that are new or changed."""
    files: Mapping[str, Artifact] = field(default_factory=dict[str, Artifact])
    """Every file the run has after the step, by its path."""
    results: int | None = None
    """How many results a search brought; None when it was no search."""
    citations: tuple[str, ...] = ()
    """The files that a search wrote its results to."""
    has_searched: bool = False
    """Whether the run has searched before: then only what its searches found is a source from outside."""
    killed_processes: int = 0
    """Processes that its cell left behind."""
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])
    """What lies beneath tmp/ and is no plain file, and why it was passed over."""
