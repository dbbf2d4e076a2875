"""Pictures of any kind are read as they look, and are written whole or not at all."""

import resource
import runpy
import struct
import sys
import warnings
import zlib

import pytest
import torch
from PIL import Image

from backpass.style import _pictures, pattern, read_picture, write_picture
from backpass.style._pictures import contact_sheet
from helpers import exactly

RED, HALF = (255, 0, 0), 128


def tensor(image):
    """Return what an RGB picture holds, pixel by pixel."""
    pixels = [image.getpixel((x, y)) for y in range(image.height) for x in range(image.width)]
    return torch.tensor(pixels).view(1, image.height, image.width, 3).permute(0, 3, 1, 2) / 255


def gradient(width=12, height=8):
    """Return a smooth picture without any symmetry."""
    image = Image.new("RGB", (width, height))
    for x in range(width):
        for y in range(height):
            image.putpixel((x, y), (x * 255 // width, y * 255 // height, (x + y) * 9))
    return image


def saved(image, path, **settings):
    image.save(path, **settings)
    return path


def png(width, height, data=b""):
    """Return a PNG of zeros that says it has these sides."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


# What is read


def test_a_picture_is_read_as_numbers_from_0_to_1(tmp_path):
    picture = read_picture(saved(gradient(), tmp_path / "a.png"))
    assert picture.shape == (1, 3, 8, 12)
    assert picture.dtype == torch.float32
    assert picture.is_contiguous()
    torch.testing.assert_close(picture, tensor(gradient()))


def test_the_path_may_be_a_string(tmp_path):
    assert read_picture(str(saved(gradient(), tmp_path / "a.png"))).shape == (1, 3, 8, 12)


@pytest.mark.parametrize("ending", ["bmp", "gif", "jpg", "png", "tif", "webp"])
def test_usual_formats_are_read(ending, tmp_path):
    picture = read_picture(saved(gradient(), tmp_path / f"a.{ending}"))
    assert (picture - tensor(gradient())).abs().mean() < 0.03


def test_grey_becomes_three_equal_colours(tmp_path):
    grey = gradient().convert("L")
    picture = read_picture(saved(grey, tmp_path / "a.png"))
    torch.testing.assert_close(picture, tensor(grey.convert("RGB")))


def test_black_and_white_becomes_0_and_1(tmp_path):
    picture = read_picture(saved(gradient().convert("1"), tmp_path / "a.png"))
    assert picture.unique().tolist() == [0, 1]


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_grey_of_16_bits_is_scaled_and_not_cut_off(ending, tmp_path):
    values = [0, 1, 128, 200, 256, 300, 4096, 32768, 65279, 65534, 65535]
    image = Image.new("I;16", (len(values), 1))
    for x, value in enumerate(values):
        image.putpixel((x, 0), value)
    picture = read_picture(saved(image, tmp_path / f"a.{ending}"))
    expected = (torch.tensor(values) / 65535).expand(1, 3, 1, -1)
    torch.testing.assert_close(picture, expected, rtol=0, atol=0.5 / 255 + 1e-6)
    assert (picture[..., 0].max(), picture[..., -1].min()) == (0, 1)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparent_pixels_lie_on_white(mode, tmp_path):
    image = Image.new("RGBA", (3, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, HALF))
    image.putpixel((2, 0), (0, 0, 0, 0))
    picture = read_picture(saved(image.convert(mode), tmp_path / "a.png"))
    expected = torch.tensor([0, 1 - HALF / 255, 1]).expand(1, 3, 1, 3)
    torch.testing.assert_close(picture, expected, rtol=0, atol=1 / 255)


def test_a_transparent_colour_of_a_palette_lies_on_white(tmp_path):
    image = Image.new("P", (2, 1))
    image.putpalette([*RED, 0, 0, 255])
    image.putpixel((1, 0), 1)
    picture = read_picture(saved(image, tmp_path / "a.png", transparency=1))
    torch.testing.assert_close(picture[0, :, 0], torch.tensor([[1.0, 1], [0, 1], [0, 1]]))


def test_cmyk_becomes_rgb(tmp_path):
    image = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    picture = read_picture(saved(image, tmp_path / "a.jpg", quality=100))
    expected = torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1).expand(1, 3, 16, 16)
    torch.testing.assert_close(picture, expected, rtol=0, atol=0.03)


ORIENTATIONS = {
    1: lambda picture: picture,
    2: lambda picture: picture.flip(3),
    3: lambda picture: picture.flip(2, 3),
    4: lambda picture: picture.flip(2),
    5: lambda picture: picture.transpose(2, 3),
    6: lambda picture: picture.rot90(-1, (2, 3)),
    7: lambda picture: picture.transpose(2, 3).flip(2, 3),
    8: lambda picture: picture.rot90(1, (2, 3)),
}


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_picture_is_turned_as_its_exif_data_say(orientation, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = read_picture(saved(gradient(), tmp_path / "a.png", exif=exif))
    torch.testing.assert_close(picture, ORIENTATIONS[orientation](tensor(gradient())))


def test_of_an_animation_the_first_picture_is_taken(tmp_path):
    frames = [Image.new("RGB", (4, 4), colour) for colour in (RED, (0, 0, 255))]
    path = saved(frames[0], tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    torch.testing.assert_close(read_picture(path), tensor(frames[0]))


def test_one_pixel_is_a_picture(tmp_path):
    picture = read_picture(saved(Image.new("RGB", (1, 1), RED), tmp_path / "a.png"), longest=64)
    assert picture.flatten().tolist() == [1, 0, 0]


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_the_longer_side_is_shrunk_and_never_enlarged(ending, tmp_path):
    path = saved(gradient(60, 30), tmp_path / f"a.{ending}")
    assert read_picture(path, longest=20).shape == (1, 3, 10, 20)
    assert read_picture(path, longest=600).shape == (1, 3, 30, 60)
    turned = saved(gradient(30, 60), tmp_path / f"b.{ending}")
    assert read_picture(turned, longest=20).shape == (1, 3, 20, 10)


# What is refused


def test_a_picture_of_floating_point_numbers_is_refused(tmp_path):
    path = saved(Image.new("F", (2, 2), 0.5), tmp_path / "a.tif")
    message = (
        "read_picture: expected a picture of whole numbers, got a.tif of floating-point numbers; "
        "convert it to 8 or 16 bits"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        read_picture(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"%PDF-1.4", b"\x89PNG\r\n"])
def test_a_file_of_something_else_is_refused(content, tmp_path):
    (tmp_path / "a.jpg").write_bytes(content)
    message = "read_picture: expected a picture, got a.jpg in no known format"
    with pytest.raises(ValueError, match=exactly(message)):
        read_picture(tmp_path / "a.jpg")


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp", "bmp", "tif", "ppm", "qoi"])
def test_a_truncated_picture_is_refused(ending, tmp_path):
    image = Image.effect_noise((64, 64), 80).convert("RGB")
    path = saved(image, tmp_path / f"a.{ending}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(
        ValueError, match=rf"^read_picture: expected a whole picture, got a\.{ending}; ."
    ):
        read_picture(path)


def test_damage_is_refused_or_read_over_without_any_other_error_or_warning(tmp_path):
    generator = torch.Generator().manual_seed(0)
    exif = Image.Exif()
    exif[0x0112] = 6
    for ending in ("png", "jpg", "tif", "webp", "ppm"):
        path = tmp_path / f"a.{ending}"
        gradient().save(path, **({"exif": exif} if ending != "ppm" else {}))
        data = path.read_bytes()
        for _ in range(60):
            place, byte = torch.randint(2**31, (2,), generator=generator).tolist()
            path.write_bytes(
                data[: place % len(data)] + bytes([byte % 256]) + data[place % len(data) + 1 :]
            )
            try:
                said = f"read_picture: expected {read_picture(path, longest=8).shape}"
            except ValueError as error:
                said = str(error)
            assert said.startswith("read_picture: expected ")


@pytest.mark.parametrize("sides", [(10_000, 10_000), (20_000, 20_000), (2**31 - 1, 2**31 - 1)])
def test_a_picture_that_would_fill_the_memory_is_refused_before_it_does(sides, tmp_path):
    (tmp_path / "a.png").write_bytes(png(*sides))
    message = "read_picture: expected at most 89478485 pixels, got a.png with more; shrink it first"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=exactly(message)):
        read_picture(tmp_path / "a.png")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_the_filters_of_warnings_are_afterwards_what_they_were(tmp_path):
    path = saved(gradient(), tmp_path / "a.png")
    before = list(warnings.filters)
    read_picture(path)
    assert warnings.filters == before


def test_a_missing_file_and_a_folder_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        read_picture(tmp_path / "nowhere.png")
    with pytest.raises(IsADirectoryError):
        read_picture(tmp_path)


def test_without_pillow_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    message = "backpass.style: expected Pillow to be installed, got none; install backpass[style]"
    with pytest.raises(ImportError, match=exactly(message)):
        runpy.run_path(_pictures.__file__)


# What is written


def test_a_png_gives_back_each_of_its_256_values(tmp_path):
    picture = (torch.arange(3 * 256) % 256 / 255).view(1, 3, 16, 16)
    write_picture(tmp_path / "a.png", picture)
    assert torch.equal(read_picture(tmp_path / "a.png"), picture)


def test_a_jpeg_gives_back_almost_the_same(tmp_path):
    picture = tensor(gradient(32, 32))
    write_picture(tmp_path / "a.jpg", picture)
    torch.testing.assert_close(read_picture(tmp_path / "a.jpg"), picture, rtol=0, atol=0.12)
    assert (read_picture(tmp_path / "a.jpg") - picture).abs().mean() < 0.02


def test_values_outside_are_clamped_and_those_between_rounded(tmp_path):
    picture = torch.tensor([-1.0, 0.4 / 255, 0.6 / 255, 2.0]).expand(1, 3, 1, 4)
    write_picture(tmp_path / "a.png", picture)
    assert (255 * read_picture(tmp_path / "a.png")[0, 0, 0]).round().tolist() == [0, 0, 1, 255]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_any_floating_point_and_any_strides_are_written(dtype, tmp_path):
    picture = tensor(gradient()).to(dtype).to(memory_format=torch.channels_last).requires_grad_()
    write_picture(tmp_path / "a.png", picture)
    torch.testing.assert_close(
        read_picture(tmp_path / "a.png"), tensor(gradient()), rtol=0, atol=0.01
    )


def test_a_file_that_exists_is_left_as_it_is(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    message = f"write_picture: expected a new file, got {path} which exists; allow to overwrite it"
    with pytest.raises(FileExistsError, match=exactly(message)):
        write_picture(path, pattern("glass", 8))
    assert path.read_bytes() == b"old"


def test_a_file_that_exists_may_be_overwritten(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    write_picture(path, pattern("glass", 8), overwrite=True)
    assert read_picture(path).shape == (1, 3, 8, 8)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "a.png").mkdir()
    message = f"write_picture: expected a file, got the folder {tmp_path / 'a.png'}"
    with pytest.raises(IsADirectoryError, match=exactly(message)):
        write_picture(tmp_path / "a.png", pattern("glass", 8), overwrite=True)


def test_an_encoder_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "a.webp"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="encoding error"):
        write_picture(path, torch.zeros(1, 3, 1, 16_384), overwrite=True)  # a WebP has 16,383
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["a", "a.txt", "a.xbm", "a.psd", "a.hdf"])
def test_an_ending_that_names_no_format_for_colours_is_refused(name, tmp_path):
    message = (
        f"write_picture: expected the ending of a format for colours, got {name!r}; "
        "name it for example out.png"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        write_picture(tmp_path / name, pattern("glass", 8))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_picture(tmp_path / "nowhere" / "a.png", pattern("glass", 8))


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 3, 8, 8), (1, 1, 8, 8), (1, 3, 0, 8)])
def test_another_shape_is_refused(shape, tmp_path):
    message = f"write_picture: expected picture of shape (1, 3, H, W), got {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        write_picture(tmp_path / "a.png", torch.zeros(shape))


def test_what_is_no_floating_point_tensor_is_refused(tmp_path):
    message = (
        "write_picture: expected picture of a real floating-point dtype, got torch.uint8; "
        "convert it, for example with picture.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        write_picture(tmp_path / "a.png", torch.zeros(1, 3, 8, 8, dtype=torch.uint8))
    message = (
        "write_picture: expected picture to be a torch.Tensor, got list; wrap it in torch.as_tensor"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        write_picture(tmp_path / "a.png", [[0.0]])


# The sheet


def test_a_contact_sheet_shows_each_picture_and_has_room_for_labels():
    colours = {f"--a {n} --b {n}": torch.full((1, 3, 40, 200), n / 8) for n in range(5)}
    sheet = contact_sheet(colours, columns=2)
    assert sheet.shape == (1, 3, 3 * (40 + 36), 2 * (200 + 8))
    for number in range(5):
        top, left = number // 2 * 76 + 4, number % 2 * 208 + 4
        tile = sheet[..., top : top + 40, left : left + 200]
        torch.testing.assert_close(tile, torch.full_like(tile, number / 8), rtol=0, atol=1 / 255)
        label = sheet[..., top + 40 : top + 72, left : left + 200]
        assert label.min() < 0.1
        assert label.max() == 1
    assert sheet[..., 2 * 76 :, 208:].min() == 1


def test_a_contact_sheet_of_narrow_pictures_leaves_the_labels_their_width():
    assert contact_sheet({"a": torch.zeros(1, 3, 32, 32)}, columns=1).shape == (1, 3, 68, 168)
