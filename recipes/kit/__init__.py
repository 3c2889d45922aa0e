"""What cells import: the run they are part of, tables, and pages.

`from recipes.kit import page, run, tables`. Nothing heavy is imported here; `page` and `tables` do it themselves.
"""

from recipes.kit.current_run import run

__all__ = ["run"]
