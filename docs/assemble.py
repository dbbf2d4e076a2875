"""Put the languages together: root page, 404, sitemap and build.json, then publish in one step.

The site is assembled beside the published one and takes its place by two renames, so a reader
never meets half a site, and a build that fails leaves the old one as it was.
"""

import gettext
import hashlib
import html
import json
import os
import platform
import shutil
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
from llms import llms
from sources import DOCS, LANGUAGES, commit

WORK, HTML = DOCS / "_build" / "work", DOCS / "_build" / "html"
NEW, OLD = HTML.with_name("html.new"), HTML.with_name("html.old")
TAGS = {language["tag"]: language["folder"] for language in LANGUAGES.values()}
FOLDERS = list(TAGS.values())
NOT_LISTED = {"search.html", "genindex.html"}


def repair() -> None:
    """Bring back the site that a build took away, if it was stopped between its two renames."""
    if OLD.exists() and not HTML.exists():
        OLD.rename(HTML)
    for left_over in (NEW, OLD):
        shutil.rmtree(left_over, ignore_errors=True)


def main() -> None:
    """Assemble the site; exit with a message if the languages differ."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    site = os.environ.get("DOCS_BASE_URL", project["urls"]["Documentation"]).rstrip("/") + "/"
    repair()
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns(".buildinfo*", ".doctrees", "executed.json")
        shutil.copytree(WORK / folder, NEW / folder, ignore=ignored)

    pages = {
        f: {p.relative_to(NEW / f).as_posix() for p in (NEW / f).rglob("*.html")} for f in FOLDERS
    }
    demand_equal("pages", pages)
    examples = {f: {n: outputs(NEW / f, n) for n in pages[f] if "/plot_" in n} for f in FOLDERS}
    demand_equal("code, output or figures", examples)

    source = FOLDERS[0]
    for name in ("index.html", "404.html"):
        page = Template((DOCS / "_root" / name).read_text("utf-8"))
        (NEW / name).write_text(page.substitute(site=site, **every_language(site)), "utf-8")
    (NEW / "sitemap.xml").write_text(sitemap(site, sorted(pages[source] - NOT_LISTED)), "utf-8")
    (NEW / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {site}sitemap.xml\n", "utf-8"
    )
    (NEW / "llms.txt").write_text(llms(NEW, site), "utf-8")
    (NEW / "build.json").write_text(json.dumps(facts(examples[source]), indent=1) + "\n", "utf-8")

    if HTML.exists():
        HTML.rename(OLD)
    NEW.rename(HTML)
    shutil.rmtree(OLD, ignore_errors=True)
    where = os.path.relpath(HTML)
    print(f"\nThe site is in {where}. To look at it: python -m http.server --directory {where}")


def every_language(site: str) -> dict[str, str]:
    """Return what the root page and the 404 page say, once in each language."""
    path = urlsplit(site).path  # 404.html is shown at any depth, so its links begin at the root
    links, sentences, descriptions, titles = "", "", [], []
    for code, language in LANGUAGES.items():
        # Sphinx has compiled these catalogues.
        catalogue = gettext.translation("sphinx", DOCS / "theme_locales", [code], fallback=True)
        _ = catalogue.gettext
        tag, folder, name = language["tag"], language["folder"], html.escape(language["name"])
        here = f'<p lang="{tag}">'
        links += f'{here}<a href="{folder}/index.html" hreflang="{tag}">{name}</a></p>\n'
        places = {"index.html": _("Start page"), "search.html": _("Search")}
        ways = [
            f'<a href="{path}{folder}/{page}" hreflang="{tag}">{text}</a>'
            for page, text in places.items()
        ]
        sentences += f"{here}{_('There is no page at this address.')} {' · '.join(ways)}</p>\n"
        titles.append(_("Page not found"))
        descriptions.append(_("Custom autograd Functions and losses for PyTorch."))
    alternates = "".join(
        f'<link rel="alternate" hreflang="{tag}" href="{site}{folder}/index.html">\n'
        for tag, folder in TAGS.items()
    )
    folders = {tag.split("-")[0]: folder for tag, folder in TAGS.items()}
    return {
        "alternates": alternates,
        "description": html.escape(" ".join(descriptions)),
        "folders": json.dumps(folders),
        "links": links,
        "path": path,
        "sentences": sentences,
        "source": FOLDERS[0],
        "title": html.escape(" · ".join(titles)),
    }


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
    execution = json.loads((DOCS / "gallery" / "execution.json").read_text("utf-8"))["examples"]
    return {
        "backpass": version("backpass"),
        "commit": commit(),
        "python": platform.python_version(),
        "torch": version("torch").split("+")[0],
        "sphinx": version("sphinx"),
        "executed": {
            folder: len(json.loads((WORK / folder / "executed.json").read_text("utf-8")))
            for folder in FOLDERS
        },
        "examples": {
            name: {**examples[name], "execution": execution[Path(name).stem]}
            for name in sorted(examples)
        },
    }


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
            for tag, folder in TAGS.items()
        )
        lines += [f"<url><loc>{site}{folder}/{page}</loc>{twins}</url>" for folder in FOLDERS]
    return "\n".join([*lines, "</urlset>", ""])


def sha256(data: bytes) -> str:
    """Return the digest in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
