"""Pictures in files: what Pillow reads becomes a tensor, and a tensor a file, in one step."""

import os
import warnings
from collections.abc import Mapping
from io import BytesIO
from os import PathLike
from pathlib import Path

import torch
from torch import Tensor

from backpass import _checks

try:
    from PIL import Image, ImageDraw, ImageOps, UnidentifiedImageError
except ImportError:
    raise ImportError(
        "backpass.style: expected Pillow to be installed, got none; install backpass[style]"
    ) from None


def read_picture(path: str | PathLike[str], *, longest: int | None = None) -> Tensor:
    """Read a picture as ``(1, 3, H, W)`` with values in [0, 1].

    It is turned as its EXIF data say. Grey, 16-bit, indexed and CMYK pictures become RGB,
    transparent pixels are laid on white, and of an animation the first picture is taken.

    Args:
        path: The file, in any format that Pillow reads.
        longest: The length in pixels to which a longer side is shrunk.

    Raises:
        OSError: If the file cannot be opened.
        ValueError: If it holds no picture, a damaged one, one of floating-point numbers, or one of
            more than 89 million pixels.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from backpass.style import pattern, read_picture, write_picture
        >>> with TemporaryDirectory() as folder:
        ...     write_picture(Path(folder, "rings.png"), pattern("rings", 64))
        ...     read_picture(Path(folder, "rings.png"), longest=48).shape
        torch.Size([1, 3, 48, 48])
    """
    path = Path(path)
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damage that Pillow reads over
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(file) as image:
                if longest is not None:
                    image.draft("RGB", (longest, longest))
                picture = ImageOps.exif_transpose(image)
        except UnidentifiedImageError:
            raise ValueError(
                f"read_picture: expected a picture, got {path.name} in no known format"
            ) from None
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise ValueError(
                f"read_picture: expected at most {Image.MAX_IMAGE_PIXELS} pixels, got {path.name} "
                "with more; shrink it first"
            ) from None
        # A decoder meets damaged data with almost any exception.
        except Exception as error:  # noqa: BLE001
            raise ValueError(
                f"read_picture: expected a whole picture, got {path.name}; {error}"
            ) from None
    if picture.mode == "F":
        raise ValueError(
            f"read_picture: expected a picture of whole numbers, got {path.name} of floating-point "
            "numbers; convert it to 8 or 16 bits"
        )
    picture = _rgb(picture)
    if longest is not None:
        picture.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return _tensor(picture)


def write_picture(path: str | PathLike[str], picture: Tensor, *, overwrite: bool = False) -> None:
    """Write a picture in the format that the file's ending names.

    The file appears whole or not at all: it is written beside its place and then renamed.

    Args:
        path: The file.
        picture: ``(1, 3, H, W)``; values outside [0, 1] are clamped.
        overwrite: Whether a file that exists may be replaced.

    Raises:
        FileExistsError: If the file exists and ``overwrite`` is false.
        OSError: If it cannot be written.
        TypeError: If the picture is not a floating-point tensor.
        ValueError: If the picture has another shape, or the ending names no format for colours.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from backpass.style import pattern, write_picture
        >>> with TemporaryDirectory() as folder:
        ...     write_picture(Path(folder, "rings.png"), pattern("rings", 64))
        ...     write_picture(Path(folder, "rings.png"), pattern("glass", 64), overwrite=True)
    """
    path = Path(path)
    _checks.floating("write_picture", picture=picture)
    holds = picture.dim() == 4 and picture.shape[:2] == (1, 3) and picture.numel() > 0
    _checks.shape("write_picture", "picture", picture, "(1, 3, H, W)", holds=holds)
    kind = writable(path, overwrite=overwrite)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("xb") as file:
            _image(picture).save(file, kind, quality=95)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def contact_sheet(pictures: Mapping[str, Tensor], *, columns: int) -> Tensor:
    """Lay pictures of one size side by side, each above its label."""
    tiles = [_image(picture) for picture in pictures.values()]
    texts = [label.replace(" --", "\n--") for label in pictures]
    width, height = max(160, tiles[0].width) + 8, tiles[0].height + 36
    rows = -(-len(tiles) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (tile, text) in enumerate(zip(tiles, texts, strict=True)):
        left, top = number % columns * width, number // columns * height
        sheet.paste(tile, (left + 4, top + 4))
        draw.text((left + 4, top + tile.height + 6), text, fill="black")
    return _tensor(sheet)


def writable(path: Path, *, overwrite: bool) -> str:
    """Return the format of a file that may be written, or say why it may not."""
    Image.init()
    kind = Image.EXTENSION.get(path.suffix.lower(), "none")
    try:
        Image.new("RGB", (16, 16)).save(BytesIO(), kind)  # some formats are only read, or only grey
    except (KeyError, OSError, ValueError):
        raise ValueError(
            f"write_picture: expected the ending of a format for colours, got {path.name!r}; "
            "name it for example out.png"
        ) from None
    if path.is_dir():
        raise IsADirectoryError(f"write_picture: expected a file, got the folder {path}")
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"write_picture: expected a new file, got {path} which exists; allow to overwrite it"
        )
    return kind


def _tensor(image: Image.Image) -> Tensor:
    data = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return data.view(1, image.height, image.width, 3).permute(0, 3, 1, 2).contiguous() / 255


def _image(picture: Tensor) -> Image.Image:
    data = (255 * picture.detach()[0].clamp(0, 1)).round().byte().permute(1, 2, 0)
    height, width = picture.shape[2:]
    return Image.frombytes("RGB", (width, height), bytes(data.flatten().tolist()))


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits, of which convert() would only cut the tops off
        image = image.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert("RGB")
