"""A folder of documents, empty or with three documents, and a service to ask."""

from collections.abc import Generator
from pathlib import Path

import pytest

from fakes.asker import Asker
from fakes.library import Library
from fakes.tavily_server import tavily_server


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


@pytest.fixture
def tavily() -> Generator[Asker]:
    with tavily_server() as server:
        yield Asker(server)
