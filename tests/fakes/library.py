"""A folder of documents with an index, as a test writes them."""

from pathlib import Path

from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import Found, SearchQuery


class Library:
    """A folder, its index, and a clock by which every search looks for changes."""

    def __init__(self, path: Path) -> None:
        self.folder = path / "documents"
        self.folder.mkdir()
        self.index = path / "home" / "search" / "x.sqlite"
        self.time = 0.0
        self.provider = LocalFolderSearch(self.folder, self.index, self.tick)

    def tick(self) -> float:
        self.time += 10
        return self.time

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def search(self, query: str, **options: object) -> Found:
        return self.provider.search(SearchQuery(query, **options))  # type: ignore[arg-type]

    def urls(self, query: str, **options: object) -> list[str]:
        return [hit.url for hit in self.search(query, **options).hits]
