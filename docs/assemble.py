"""Put the languages together: root page, 404, sitemap and build.json, then publish in one step.

The site is assembled beside the published one and takes its place by two renames, so a reader
never meets half a site, and a build that fails leaves the old one as it was.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from bs4 import BeautifulSoup

HERE = Path(__file__).parent
WORK, HTML = HERE / "_build" / "work", HERE / "_build" / "html"
LANGUAGES = {"en": "en", "zh-CN": "zh-cn"}
NOT_LISTED = {"search.html", "genindex.html"}


def main() -> None:
    """Assemble the site; exit with a message if the languages differ."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    site = os.environ.get("DOCS_BASE_URL", project["urls"]["Documentation"]).rstrip("/") + "/"
    new, old = HTML.with_name("html.new"), HTML.with_name("html.old")
    if old.exists() and not HTML.exists():  # stopped between the two renames
        old.rename(HTML)
    for left_over in (new, old):
        shutil.rmtree(left_over, ignore_errors=True)
    for folder in LANGUAGES.values():
        ignored = shutil.ignore_patterns(".buildinfo*", ".doctrees", "executed.json")
        shutil.copytree(WORK / folder, new / folder, ignore=ignored)

    pages = {
        f: {p.relative_to(new / f).as_posix() for p in (new / f).rglob("*.html")}
        for f in LANGUAGES.values()
    }
    demand_equal("pages", pages)
    examples = {
        f: {n: outputs(new / f, n) for n in pages[f] if "/plot_" in n} for f in LANGUAGES.values()
    }
    demand_equal("code, output or figures", examples)

    alternates = "".join(
        f'<link rel="alternate" hreflang="{tag}" href="{site}{folder}/index.html">\n'
        for tag, folder in LANGUAGES.items()
    )
    for name in ("index.html", "404.html"):
        page = Template((HERE / "_root" / name).read_text("utf-8"))
        (new / name).write_text(page.substitute(site=site, alternates=alternates), "utf-8")
    (new / "sitemap.xml").write_text(sitemap(site, sorted(pages["en"] - NOT_LISTED)), "utf-8")
    (new / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {site}sitemap.xml\n", "utf-8"
    )
    (new / "build.json").write_text(json.dumps(facts(examples["en"]), indent=1) + "\n", "utf-8")

    if HTML.exists():
        HTML.rename(old)
    new.rename(HTML)
    shutil.rmtree(old, ignore_errors=True)
    where = os.path.relpath(HTML)
    print(f"\nThe site is in {where}. To look at it: python -m http.server --directory {where}")


def outputs(root: Path, page: str) -> dict[str, Any]:
    """Return digests of an example's code, standard output and figures, as published."""
    soup = BeautifulSoup((root / page).read_text("utf-8"), "html.parser")
    code = [block.get_text() for block in soup.select("article .highlight-Python pre")]
    stdout = [block.get_text() for block in soup.select("article .sphx-glr-script-out pre")]
    figures = [
        sha256((root / page).parent.joinpath(str(image["src"])).read_bytes())
        for image in soup.select("article img[class^=sphx-glr]")
    ]
    drawings = [sha256(str(svg).encode()) for svg in soup.select("article .output_subarea svg")]
    if not code:
        sys.exit(f"assemble: expected {page} to show its code, got none")
    return {
        "code": sha256("\0".join(code).encode()),
        "stdout": sha256("\0".join(stdout).encode()),
        "figures": figures + drawings,
    }


def facts(examples: dict[str, Any]) -> dict[str, Any]:
    """Return what build.json holds."""
    execution = json.loads((HERE / "gallery" / "execution.json").read_text("utf-8"))["examples"]
    return {
        "backpass": version("backpass"),
        "commit": commit(),
        "python": platform.python_version(),
        "torch": version("torch").split("+")[0],
        "sphinx": version("sphinx"),
        "executed": {
            folder: len(json.loads((WORK / folder / "executed.json").read_text("utf-8")))
            for folder in LANGUAGES.values()
        },
        "examples": {
            name: {**examples[name], "execution": execution[Path(name).stem]}
            for name in sorted(examples)
        },
    }


def commit() -> str | None:
    """Return the commit, with ``-dirty`` after it where files differ from it; None outside git."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        result = subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository
        return None
    return result.stdout.strip()


def demand_equal(what: str, found: dict[str, Any]) -> None:
    """Stop the build where the languages differ in ``what``, and say where."""
    (first, expected), *others = found.items()
    for folder, value in others:
        if value != expected:
            differing = sorted(
                set(value) ^ set(expected)
                or {name for name in value if value[name] != expected[name]}
            )
            sys.exit(
                f"assemble: expected {folder} to have the same {what} as {first}; differing: {', '.join(differing)}"
            )


def sitemap(site: str, pages: list[str]) -> str:
    """Return the sitemap: every page in every language, with its twins."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    )
    for page in pages:
        twins = "".join(
            f'<xhtml:link rel="alternate" hreflang="{tag}" href="{site}{folder}/{page}"/>'
            for tag, folder in LANGUAGES.items()
        )
        lines += [
            f"<url><loc>{site}{folder}/{page}</loc>{twins}</url>" for folder in LANGUAGES.values()
        ]
    return "\n".join([*lines, "</urlset>", ""])


def sha256(data: bytes) -> str:
    """Return the digest in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()
