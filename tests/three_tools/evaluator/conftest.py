"""A real sandbox for each worker, an object store, and files as real libraries write them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.backends import Place, local_jail, modes_here
from run_record import Artifact, ObjectStore, StepEvaluated
from three_tools.evaluator import Evaluator, JudgedStep

WRITE = """
import datetime, decimal, zipfile, pandas as pd, matplotlib.pyplot as plt, openpyxl, pptx, weasyprint
from PIL import Image
kpis = pd.DataFrame({
    "month": pd.date_range("2024-01-01", periods=36, freq="MS"), "leads": range(36),
    "rate": [i / 36 for i in range(36)], "region": ["north", "south"] * 18, "won": [True, False] * 18,
})
kpis.to_parquet("kpis.parquet")
pd.DataFrame({"region": ["northsouth"]}).to_parquet("sealed.parquet", write_page_checksum=True, compression="none")
kpis.to_feather("kpis.feather")
kpis.head(0).to_parquet("no-rows.parquet")
kpis.assign(rate=kpis["rate"].where(kpis["leads"] != 7)).to_parquet("gaps.parquet")
kpis.to_csv("kpis.csv", index=False)
kpis.to_excel("kpis.xlsx", index=False)
pd.DataFrame({
    "day": [datetime.date(2024, 1, 1)] * 2, "at": pd.date_range("2024", periods=2, tz="Europe/Berlin"),
    "area": pd.Categorical(["a", "b"]), "price": [decimal.Decimal("1.50")] * 2, "units": [decimal.Decimal(3)] * 2,
    "count": pd.array([1, None], dtype="Int64"), "flag": pd.array([True, None], dtype="boolean"),
    "short": pd.array([0.5, 1], dtype="float16"), "note": [None, None], "tags": [["x"], []], "blank": ["", ""],
    "taken": pd.to_timedelta([1, 2], unit="D"), "code": ["1", "2"],
}).to_parquet("kinds.parquet")
openpyxl.Workbook().save("no-cells.xlsx")
book = openpyxl.Workbook()
book.active.append(["month", "leads", "double", "code"])
book.active.append([datetime.date(2024, 1, 1), 4, "=B2*2", "12"])
book.active.append([None, 5, "=B3*2", "#DIV/0!"])
book.active["XFD1048576"].font = openpyxl.styles.Font(bold=True); book.save("formulas.xlsx")
plt.plot([1, 2, 3]); plt.savefig("chart.png", dpi=40); plt.savefig("chart.svg"); plt.close()
Image.new("RGB", (40, 30), "white").save("blank.png")
Image.new("RGBA", (40, 30), (9, 9, 9, 0)).save("clear.png")
speck = Image.new("RGB", (640, 480), "white"); speck.putpixel((9, 9), (0, 0, 0))
speck.save("speck.png"); speck.save("speck.jpg"); Image.new("RGB", (40, 30), "white").save("blank.webp")
plt.figure(figsize=(4, 1)); plt.axis("off"); plt.plot([1, 5, 2, 8], lw=1); plt.savefig("spark.png", transparent=True)
plt.close()
weasyprint.HTML(string="<p>One page.").write_pdf("brief.pdf")
weasyprint.HTML(string="<p>One page.").write_pdf("packed.pdf", full_fonts=False, pdf_version="1.7")
deck = pptx.Presentation(); deck.save("no-slides.pptx")
deck.slides.add_slide(deck.slide_layouts[0]); deck.save("deck.pptx")
with zipfile.ZipFile("pack.zip", "w", zipfile.ZIP_DEFLATED) as pack: pack.writestr("a.txt", "hello " * 100)
with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as pack:
    for name in "abcdef": pack.writestr(name, bytes(100_000_000))
"""


@dataclass(frozen=True)
class Court:
    """Puts files into the store and has steps judged."""

    place: Place
    objects: ObjectStore
    made: Mapping[str, bytes]
    """What real libraries wrote, by name."""

    def artifact(self, path: str, content: bytes) -> Artifact:
        """A file of the run, its bytes in the store."""
        source = self.place.folder() / "content"
        source.write_bytes(content)
        descriptor = os.open(source, os.O_RDONLY)
        try:
            size, sha256 = self.objects.put(descriptor)
        finally:
            os.close(descriptor)
        return Artifact(path=path, size=size, sha256=sha256)

    def step(self, files: Mapping[str, bytes], **options: Any) -> JudgedStep:
        """A step that went well and made these files."""
        artifacts = tuple(self.artifact(path, content) for path, content in files.items())
        known = {artifact.path: artifact for artifact in artifacts}
        return JudgedStep(**{"tool": "sandbox.exec", "ok": True, "artifacts": artifacts, "files": known, **options})

    def judge(self, step: JudgedStep, **options: Any) -> StepEvaluated:
        return Evaluator(self.place.backend, self.objects, **options).evaluate(step, 1)


@pytest.fixture(scope="session")
def court() -> Iterator[Court]:
    with local_jail(modes_here()[0]) as place:
        with place.session() as desk:
            result = desk.run(WRITE)
            assert result.ok, result.detail
            made = {path.name: path.read_bytes() for path in Path(desk.work).iterdir() if path.is_file()}
        yield Court(place, ObjectStore.create(place.top / "objects"), made)
