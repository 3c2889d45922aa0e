"""What of this room is published into the sandbox's environment, for cells to import."""

from pathlib import Path

_HERE = Path(__file__).parent


def library() -> dict[str, Path]:
    """Files and folders, by the path they have there."""
    return {"recipes/__init__.py": _HERE / "__init__.py", "recipes/kit": _HERE / "kit"}
