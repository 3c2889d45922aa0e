"""A folder of documents: an empty one, and one with three documents."""

from pathlib import Path

import pytest

from fakes.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def shelves(library: Library) -> Library:
    library.write("eia.gov/prices.md", "---\ntitle: Gas prices\ndate: 2026-03-02\n---\nGas prices rose by 4 %.")
    library.write(
        "iea/pumps.md",
        "---\nurl: https://www.iea.org/pumps\ndate: 2025-06-01\n---\n# Heat pumps\nHeat pumps sold well.",
    )
    library.write("notes.txt", "Our own notes on gas and heat pumps, undated.")
    return library
