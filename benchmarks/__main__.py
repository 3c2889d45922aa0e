"""All benchmarks, or those named: python -m benchmarks [NAME …]

There are append_step, change_detection, object_store, help_time, sandbox_speed, registry_execute, after_call,
local_search and recipe_run.

Speed is shown as ratios to peers measured in the same run, and never asserted by a test: machines are noisy.
"""

import sys
from importlib import import_module

ALL = (
    "append_step",
    "change_detection",
    "object_store",
    "help_time",
    "sandbox_speed",
    "registry_execute",
    "after_call",
    "local_search",
    "recipe_run",
)

for name in sys.argv[1:] or ALL:
    if name not in ALL:
        sys.exit(f"error: no benchmark '{name}'\n  → there are {', '.join(ALL)}")
    import_module(f"benchmarks.{name}").main()
