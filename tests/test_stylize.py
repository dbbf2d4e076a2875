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
    **{name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "TTY_COMPATIBLE"}},
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "80",
}
SMALL = ["--size", "32", "--steps", "2"]


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
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    return [sys.executable, *launcher, "-m", "backpass", "stylize", *map(str, arguments)]


def sides(path):
    return tuple(read_picture(path).shape[2:])


# One picture


def test_a_picture_is_painted_and_the_command_says_where(content, out, capsys):
    assert stylize(content, "pattern:glass", "-o", out, *SMALL) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(rf"{re.escape(str(out))}: 29 x 32 pixels in \d+\.\d s\n", shown.out)
    assert (read_picture(out) - read_picture(content, longest=32)[..., :29]).abs().mean() > 0.01


def test_where_there_is_no_terminal_progress_is_a_line_now_and_then(content, out, capsys):
    arguments = ["--size", "32", "--steps", "41"]
    assert stylize(content, "pattern:glass", "-o", out, *arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    pattern = r"content\.png  32 px  step (\d+)/41  loss \d\.\d{4}(?:  \d+ s left)?"
    assert [int(re.fullmatch(pattern, line)[1]) for line in lines] == [1, 20, 40, 41]
    assert lines[-1].endswith("  0 s left")


def test_quiet_is_quiet(content, out, capsys):
    assert stylize(content, "pattern:glass", "-o", out, *SMALL, "--quiet") == 0
    assert capsys.readouterr().err == ""
