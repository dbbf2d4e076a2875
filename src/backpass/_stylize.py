"""``backpass stylize``: style transfer from the command line, for one picture or for a folder."""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from torch import Tensor

    from backpass.style import Progress, StyleTransfer

INTERRUPTED = 130  # what a shell reports of a command that Ctrl-C has ended
ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
SHEET = [(content, scale) for content in (0.01, 0.03, 0.1) for scale in (0.6, 1.0, 1.5)]

EPILOG = """\
STYLE is a file, or pattern:glass, pattern:rings or pattern:swirl, which are drawn.

Where CONTENT is a folder, OUT is one too. Pictures that are already in it are left, so a run
that was stopped goes on where it was. Several processes or machines share the work under
  python -m torch.distributed.run --nproc-per-node 2 -m backpass stylize ...

exit status: 0 done; 1 some pictures of a folder could not be painted; 2 nothing could be done,
for the reason that is given; 130 interrupted: the best picture so far has been written.
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line, as all errors of the command do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> Parser:
    """Return the parser of the arguments."""
    made = Parser(
        prog="backpass stylize",
        description="Paint a picture in the style of others.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("content", type=Path, metavar="CONTENT", help="the picture, or a folder of pictures")
    add("styles", nargs="+", metavar="STYLE", help="a picture whose style is taken, or several")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="the file or folder to write",
    )
    add("--force", action="store_true", help="write over what exists")
    add("--size", type=whole(32), default=256, metavar="N", help="the longer side in pixels (256)")
    steps = "at each size from 128 on, doubling, or one number for all (100 80 60 40)"
    add("--steps", type=whole(1), nargs="+", metavar="N", help=steps)
    add("--content-weight", type=number, default=0.03, metavar="X", help="smaller is bolder (0.03)")
    add("--variation-weight", type=number, default=0.3, metavar="X", help="larger is calmer (0.3)")
    add("--style-scale", type=number, default=1.0, metavar="X", help="larger strokes (1.0)")
    add("--style-weights", type=number, nargs="+", metavar="X", help="the share of each style")
    add("--colour", choices=["style", "keep"], default="style", help="keep: those of the content")
    add("--optimizer", choices=["adam", "lbfgs"], default="adam", help="(adam)")
    networks = ["efficientnet-lite0", "vgg19"]
    add("--network", choices=networks, default=networks[0], help=f"({networks[0]})")
    add("--weights", type=Path, metavar="FILE", help="the weights of the network")
    add("--seed", type=whole(0), default=0, metavar="N", help="the seed of the noise (0)")
    add("--device", default="cpu", help="for example cuda (cpu)")
    add("--preview", action="store_true", help="write a sheet of small pictures, by settings")
    add("--quiet", action="store_true", help="show no progress")
    return made


def main(argv: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    arguments = parser().parse_args(argv)
    # Threads that spin while they wait cost a busy machine ten times the run; read at torch's import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return _folder(arguments) if arguments.content.is_dir() else _file(arguments)
    except (ImportError, OSError, TypeError, ValueError) as error:
        _complain(_reason(error))
        return 2
    except KeyboardInterrupt:
        _complain("interrupted before there was a picture")
        return INTERRUPTED


def _file(arguments: argparse.Namespace) -> int:
    """Paint one picture, or a sheet of it in several settings."""
    from backpass.style import write_picture  # noqa: PLC0415

    start = time.perf_counter()
    _demand_writable(arguments.output, force=arguments.force)
    paint = _sheet if arguments.preview else _paint
    picture, status = paint(arguments, arguments.content)
    write_picture(arguments.output, picture, overwrite=arguments.force)
    height, width = picture.shape[2:]
    seconds = time.perf_counter() - start
    print(f"{arguments.output}: {width} x {height} pixels in {seconds:.1f} s")
    return status


def _folder(arguments: argparse.Namespace) -> int:
    """Paint this process's share of a folder; all processes end together, with one status."""
    from torch import distributed  # noqa: PLC0415

    from backpass.style import write_picture  # noqa: PLC0415

    pictures = sorted(p for p in arguments.content.iterdir() if p.suffix.lower() in ENDINGS)
    if not pictures:
        raise ValueError(f"expected pictures in {arguments.content}, got none")
    arguments.output.mkdir(parents=True, exist_ok=True)
    rank, processes = (int(os.environ.get(name, n)) for name, n in (("RANK", 0), ("WORLD_SIZE", 1)))
    if processes > 1:
        # The processes meet only at the end, and one may have a day more to do than another.
        distributed.init_process_group("gloo", timeout=timedelta(days=7))
    failed = []
    for path in pictures[rank::processes]:
        output = arguments.output / path.name
        if output.exists() and not arguments.force:
            print(f"{output}: left as it is")
            continue
        try:
            picture, status = _paint(arguments, path)
            if status:
                return status
            write_picture(output, picture, overwrite=arguments.force)
        except (OSError, ValueError) as error:
            failed.append(path.name)
            _complain(_reason(error))
        else:
            print(f"{output}: painted")
    if processes > 1:
        everywhere: list[list[str]] = [[] for _ in range(processes)]
        distributed.all_gather_object(everywhere, failed)
        distributed.destroy_process_group()
        failed = [name for names in everywhere for name in names]
    return 1 if failed else 0


def _paint(arguments: argparse.Namespace, path: Path, **settings: float) -> tuple["Tensor", int]:
    """Return a picture and the exit status."""
    from backpass.style import read_picture  # noqa: PLC0415

    transfer = _transfer(arguments, **settings)
    content = read_picture(path, longest=arguments.size)
    styles = [_style(name, arguments.size) for name in arguments.styles]
    sizes, steps = _stages(arguments)
    last: Progress | None = None
    with _progress(arguments, path, sizes, steps) as show:
        try:
            for last in transfer.steps(
                content, styles, style_weights=arguments.style_weights, sizes=sizes, steps=steps,
                seed=arguments.seed,
            ):  # fmt: skip
                show(last)
        except KeyboardInterrupt:
            if last is None:
                raise
            return last.picture, INTERRUPTED
    assert last is not None  # there is at least one step
    return last.picture, 0


def _sheet(arguments: argparse.Namespace, path: Path) -> tuple["Tensor", int]:
    """Return a sheet of small pictures, each with the settings that made it, and the status."""
    from backpass.style._pictures import contact_sheet  # noqa: PLC0415

    small = argparse.Namespace(**{**vars(arguments), "size": 128, "steps": [60]})
    pictures, status = {}, 0
    for content_weight, style_scale in SHEET:
        label = f"--content-weight {content_weight} --style-scale {style_scale}"
        picture, status = _paint(
            small, path, content_weight=content_weight, style_scale=style_scale
        )
        pictures[label] = picture
        if status:
            break
    return contact_sheet(pictures, columns=3), status


def _transfer(arguments: argparse.Namespace, **settings: float) -> "StyleTransfer":
    from backpass.style import StyleTransfer, efficientnet_lite0, vgg19  # noqa: PLC0415

    load = vgg19 if arguments.network == "vgg19" else efficientnet_lite0
    options: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("content_weight", "variation_weight", "style_scale", "colour", "optimizer")
    }
    network = load(arguments.weights).to(_device(arguments.device))
    return StyleTransfer(network, **{**options, **settings})


def _device(name: str) -> str:
    """Return the name of a device that works; each process of a machine takes its own."""
    import torch  # noqa: PLC0415

    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        torch.zeros(1, device=name)
    # torch without CUDA asserts, and knows other devices by name that it cannot use.
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).split("\n", 1)[0]
        raise ValueError(f"expected a device that works, got {name!r}; {reason}") from None
    return name


def _style(name: str, size: int) -> "Tensor":
    from backpass.style import pattern, read_picture  # noqa: PLC0415

    prefix, _, drawn = name.partition("pattern:")
    if drawn and not prefix:
        return pattern(drawn, max(256, size))  # type: ignore[arg-type]  # which it checks
    return read_picture(name, longest=2 * size)


def _stages(arguments: argparse.Namespace) -> tuple[list[int], list[int]]:
    from backpass.style import ladder  # noqa: PLC0415

    sizes = ladder(arguments.size)
    steps = arguments.steps or [100, 80, 60, *[40] * len(sizes)][: len(sizes)]
    return sizes, steps * len(sizes) if len(steps) == 1 else steps


@contextmanager
def _progress(
    arguments: argparse.Namespace, path: Path, sizes: list[int], steps: list[int]
) -> Iterator[Callable[["Progress"], None]]:
    """Show a bar on a terminal, and a line now and then elsewhere."""
    from rich import console, progress  # noqa: PLC0415

    screen = console.Console(stderr=True)
    bar = progress.Progress(
        progress.TextColumn("{task.description}  {task.fields[said]}"),
        progress.BarColumn(),
        progress.TimeRemainingColumn(compact=True),
        console=screen,
        disable=arguments.quiet or not screen.is_terminal,
    )
    # The time that a step takes grows as the number of pixels.
    total = sum(size**2 * count for size, count in zip(sizes, steps, strict=False))
    task = bar.add_task(path.name, total=total, said="")

    def show(now: "Progress") -> None:
        said = f"{now.size} px  step {now.step}/{now.steps}  loss {now.loss:.4f}"
        bar.update(task, advance=now.size**2, said=said)
        rare = now.step in (1, now.steps) or now.step % 20 == 0
        if rare and not arguments.quiet and not screen.is_terminal:
            left = bar.tasks[0].time_remaining
            ending = "" if left is None else f"  {math.ceil(left)} s left"
            print(f"{path.name}  {said}{ending}", file=sys.stderr, flush=True)

    with bar:
        yield show


def _demand_writable(output: Path, *, force: bool) -> None:
    """Refuse before the work what would be refused after it."""
    from backpass.style._pictures import writable  # noqa: PLC0415

    writable(output, overwrite=force)
    probe = output.with_name(f".{output.name}.{os.getpid()}")
    probe.touch()
    probe.unlink()


def _reason(error: Exception) -> str:
    """Return one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _complain(message: str) -> None:
    print(f"backpass stylize: {message}", file=sys.stderr)


def whole(least: int) -> Callable[[str], int]:
    """Return the reader of a whole number that is not less than another."""

    def read(text: str) -> int:
        if not text.lstrip("-").isdecimal() or int(text) < least:
            message = f"expected a whole number of at least {least}, got {text!r}"
            raise argparse.ArgumentTypeError(message)
        return int(text)

    return read


def number(text: str) -> float:
    """Read a number that is neither negative, nor infinite, nor NaN."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value
