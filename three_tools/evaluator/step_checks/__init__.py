"""The half of the Evaluator that runs inside the sandbox: opens a step's files and prints what it finds.

It is sent along with every check, compiled. Modules are imported when a file needs them: no check waits for all.
"""

import json
from typing import Any

MARKER = "step_checks.findings:"
"""Before the findings, on the last line that is printed."""


def main(text: str) -> None:
    """Check what the request names and print the findings as one line of JSON."""
    request: dict[str, Any] = json.loads(text)  # Any: JSON that `three_tools.evaluator.request` wrote
    findings: list[dict[str, Any]] = []
    if request["files"]:
        from .checks import check_files

        findings = check_files(request)
    line = json.dumps(findings, allow_nan=False)
    print(f"\n{MARKER}{line}", flush=True)
