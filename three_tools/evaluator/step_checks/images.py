"""Pictures: they decode wholly, and show something."""
# Only the sandbox's environment has this library.
# pyright: basic, reportMissingImports=false

import warnings
from typing import Any

_SPECKS = 3
_SPECK_SHARE = 5000
_BLUR = 2


def check(file: Any) -> list[dict[str, Any]]:
    from PIL import Image, ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # WeasyPrint, loaded beforehand, makes Pillow fill up what is cut off
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(file.object) as image:
            image.load()
            width, height = image.size
            is_blank = _is_blank(image)
    return [
        file.found("opens", 1, f"{width} × {height} pixels"),
        file.found(
            "not blank", float(not is_blank), f"all {width} × {height} pixels look the same" if is_blank else ""
        ),
    ]


def _is_blank(image: Any) -> bool:
    """Whether one shade fills it, but for specks. What is transparent has no colour, whatever its bytes say."""
    shades = image.convert("RGBA").convert("RGBa")
    specks = max(_SPECKS, shades.width * shades.height // _SPECK_SHARE)
    return all(_others(band.histogram()) <= specks for band in shades.split())


def _others(histogram: list[int]) -> int:
    """How many pixels are of another shade than most; JPEG blurs a shade into its neighbours."""
    commonest = histogram.index(max(histogram))
    return sum(histogram) - sum(histogram[max(0, commonest - _BLUR) : commonest + _BLUR + 1])
