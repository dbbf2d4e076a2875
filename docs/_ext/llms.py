"""Write ``llms.txt``: what the site is and what each page is about, for readers that are programs.

The form is that of llmstxt.org. Titles, descriptions and their order are those of the pages.
"""

from pathlib import Path

from bs4 import BeautifulSoup, Tag

from sources import LANGUAGES

HEAD = """# {name}

> {summary}

Each page of the gallery is a script that ran when this site was built; it lies beside the page as
`.py` and `.ipynb`. All pages exist in: {languages}.
"""


def llms(root: Path, site: str) -> str:
    """Return the text for the site in ``root``, which will be found at the address ``site``."""
    source, *others = LANGUAGES.values()
    start = parse(root / source["folder"] / "index.html")
    lines = HEAD.format(
        name="backpass",
        summary=description(start),
        languages=", ".join(language["name"] for language in LANGUAGES.values()),
    ).splitlines()
    every = ["index.html"]
    alone = [line(root, site, source["folder"], "index.html")]
    sections: dict[str, list[str]] = {}
    for entry in start.select(".sidebar-tree > ul > li"):
        links = entry.select("a.reference.internal")
        pages = [str(link["href"]) for link in links]
        found = [line(root, site, source["folder"], page) for page in pages]
        if len(found) == 1:
            alone += found
        else:
            sections[links[0].get_text()] = found
        every += pages
    sections["Other pages"] = alone
    for other in others:
        sections[other["name"]] = [line(root, site, other["folder"], page) for page in every]
    for section, found in sections.items():
        lines += ["", f"## {section}", "", *found]
    return "\n".join([*lines, ""])


def line(root: Path, site: str, folder: str, page: str) -> str:
    """Return the item of one page."""
    path = f"{folder}/{page}"
    soup = parse(root / path)
    heading = soup.select_one("article h1")
    assert heading is not None, f"{path} has no title"
    for link in heading.select(".headerlink"):
        link.extract()
    title = " ".join(heading.get_text().split()).replace("[", r"\[").replace("]", r"\]")
    return f"- [{title}]({site}{path}): {description(soup)}"


def description(soup: BeautifulSoup) -> str:
    """Return the description of a page; where it states none, its first paragraph."""
    meta = soup.select_one("meta[name=description]")
    first = soup.select_one("article p:not(.admonition-title)")
    text = str(meta["content"]) if meta else first.get_text() if isinstance(first, Tag) else ""
    return " ".join(text.split())


def parse(path: Path) -> BeautifulSoup:
    """Parse a page."""
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")
