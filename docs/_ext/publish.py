"""Put a built site into a checkout of the branch that is served, beside its other versions.

``publish.py SITE SERVED NAME``: NAME is ``dev``, or a tag such as ``v0.2.1``. A tag becomes the
version ``v0.2``, and ``stable`` as well unless a newer one is there. The root then leads to
``stable``, or to ``dev`` while nothing is released.
"""

import json
import re
import shutil
import sys
from pathlib import Path

RELEASE = re.compile(r"v(\d+)\.(\d+)")
ROOT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={name}/">
<link rel="canonical" href="{name}/">
<title>backpass</title>
</head>
<body><a href="{name}/">backpass</a></body>
</html>
"""


def publish(site: Path, served: Path, name: str) -> None:
    """Add the site as the versions that ``name`` stands for, and write what the root needs."""
    for version in versions(served, name):
        shutil.rmtree(served / version, ignore_errors=True)
        shutil.copytree(site, served / version)
    present = sorted((p.name for p in served.iterdir() if (p / "build.json").is_file()), key=order)
    listed = [{"name": one, "pages": pages(served / one)} for one in present]
    (served / "versions.json").write_text(json.dumps({"versions": listed}) + "\n", "utf-8")
    (served / "index.html").write_text(ROOT.format(name=present[0]), "utf-8")
    for file in ("404.html", "llms.txt"):
        shutil.copy(served / present[0] / file, served / file)
    prepare_binder(served, json.loads((served / present[0] / "build.json").read_text("utf-8")))
    (served / ".nojekyll").touch()


def prepare_binder(served: Path, build: dict[str, str]) -> None:
    """Say what Binder installs for the notebooks of this branch; they install backpass themselves."""
    (served / "binder").mkdir(exist_ok=True)
    (served / "binder" / "runtime.txt").write_text(
        f"python-{build['python'].rpartition('.')[0]}\n", "utf-8"
    )
    (served / "binder" / "requirements.txt").write_text(
        "--extra-index-url https://download.pytorch.org/whl/cpu\n"
        f"torch=={build['torch']}+cpu\nmatplotlib\n",
        "utf-8",
    )


def versions(served: Path, name: str) -> list[str]:
    """Return the folders that a name stands for."""
    if name == "dev":
        return [name]
    tag = re.fullmatch(r"(v\d+\.\d+)\.\d+", name)
    if tag is None:
        sys.exit(f"publish: expected dev or a tag such as v0.2.1, got {name!r}")
    releases = [p.name for p in served.iterdir() if RELEASE.fullmatch(p.name)]
    newest = min([tag[1], *releases], key=order)
    return [tag[1], "stable"] if newest == tag[1] else [tag[1]]


def order(version: str) -> tuple[int, ...]:
    """Sort ``stable`` first, then ``dev``, then the releases from the newest."""
    release = RELEASE.fullmatch(version)
    if release:
        return (2, -int(release[1]), -int(release[2]))
    return (0,) if version == "stable" else (1,)


def pages(version: Path) -> list[str]:
    """Return the pages of a version, as paths inside it."""
    return sorted(page.relative_to(version).as_posix() for page in version.glob("*/**/*.html"))


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
