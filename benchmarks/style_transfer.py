"""Whole runs of style transfer, their time, memory and pictures, against the tutorial's loop.

Each run has a fresh process, so that its peak memory is its own. The tutorial's loop descends with
L-BFGS at one size, with plain losses on the same network, and evaluates them as often.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import torch
from _objective import objective
from _paired import Row, main, peak_megabytes_of_process, row
from skimage import data
from torch import Tensor
from torch.nn import functional as F

from backpass.style import StyleTransfer, efficientnet_lite0, ladder, pattern, write_picture

PAIRS = [("coffee", "glass"), ("coffee", "rings"), ("rocket", "swirl")]
SIZES = [256, 384]
STEPS = [100, 80, 60]
PICTURES = Path(__file__).parents[1] / "docs" / "_static" / "style"
RIGHTS = {
    "coffee": "skimage.data.coffee(): photograph by Rachel Michetti, CC0",
    "rocket": "skimage.data.rocket(): photograph by SpaceX, public domain",
}


def photograph(name: str) -> Tensor:
    """Return the square in the middle of one of scikit-image's pictures."""
    picture = torch.from_numpy(getattr(data, name)()).permute(2, 0, 1)[None] / 255
    height, width = picture.shape[2:]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return picture[..., top : top + side, left : left + side]


def tutorial(content: Tensor, style: Tensor, evaluations: int) -> Tensor:
    """Return the picture of the tutorial's loop."""
    total = objective(efficientnet_lite0(), content, style, "plain")
    canvas = content.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([canvas])
    done = 0

    def closure() -> Tensor:
        nonlocal done
        done += 1
        with torch.no_grad():
            canvas.clamp_(0, 1)
        optimizer.zero_grad()
        loss = total(canvas)
        loss.backward()
        return loss

    while done < evaluations:
        optimizer.step(closure)
    return canvas.detach().clamp(0, 1)


def one(content: str, style: str, size: int, loop: str) -> Row:
    """Do one run in this process, and return what it took."""
    steps = STEPS[: len(ladder(size))]
    photo, drawn = photograph(content), pattern(style, size)
    scaled = F.interpolate(photo, (size, size), mode="bicubic", antialias=True).clamp(0, 1)
    start = perf_counter()
    if loop == "ours":
        picture = StyleTransfer().run(photo, drawn, sizes=ladder(size), steps=steps)
    else:
        picture = tutorial(scaled.contiguous(), drawn, sum(steps))
    took = {"ms": 1000 * (perf_counter() - start), "peak": peak_megabytes_of_process()}
    if loop == "ours" and size == SIZES[-1]:
        PICTURES.mkdir(exist_ok=True)
        write_picture(PICTURES / f"{content}_{style}.jpg", picture, overwrite=True)
    with torch.no_grad():
        loss = objective(efficientnet_lite0(), scaled, drawn, "plain")(picture)
    return took | {"loss": round(loss.item(), 4)}


def fresh(*arguments: object) -> Row:
    """Do one run in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def compare(rounds: int, size: int, content: str, style: str) -> Iterator[Row]:
    """Yield the row of one size and pair of pictures; the first pair has an anchor."""
    loops = ["tutorial", "ours"] if (content, style) == PAIRS[0] else ["ours"]
    runs = [[fresh(content, style, size, loop) for loop in loops] for _ in range(rounds)]
    *theirs, ours = ([run["ms"] for run in each] for each in zip(*runs, strict=True))
    label = f"`{content}` × `{style}`, {size} × {size}"
    yield row(label, "tutorial’s loop", theirs[0] if theirs else None, ours) | {
        "columns": {
            "Peak memory, MB": [run["peak"] for run in runs[-1]],
            "Loss": [run["loss"] for run in runs[-1]],
        }
    }


def provenance() -> Row:
    """Return how the pictures were made, and why there is no other anchor."""
    pictures = {}
    for content, style in PAIRS:
        path = PICTURES / f"{content}_{style}.jpg"
        pictures[path.name] = {
            "content": RIGHTS[content],
            "style": f"backpass.style.pattern({style!r}, {SIZES[-1]})",
            "sizes": ladder(SIZES[-1]),
            "steps": STEPS,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
    return {"pictures": pictures, "not_measured": {"pystiche 1.0.1": why_no_pystiche()}}


def why_no_pystiche() -> str:
    """Install the last pystiche beside this environment, and return why it cannot be imported."""
    with tempfile.TemporaryDirectory() as folder:
        packages = ["pystiche==1.0.1", "torchvision", "tqdm"]
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder]
        if subprocess.run([*pip, *packages], check=False, capture_output=True).returncode:
            return "pip cannot install it"
        code = f"import sys; sys.path.append({folder!r}); import pystiche"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        raise SystemExit("style_transfer: expected no importable pystiche, got one; measure it")
    return done.stderr.strip().splitlines()[-1].replace(folder, "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*json.loads(sys.argv[2]))))
    else:
        cases = [(size, *pair) for size in SIZES for pair in PAIRS]
        heads = {"label": "Pictures", "ours": "backpass"}
        main("style_transfer", compare, cases, rounds=1, after=provenance, **heads)
