"""Every internal link and fragment resolves, and no page asks anything of another site."""

import re

from built_site import HTML, pages, parse


def anchored(target, fragment):
    soup = parse(target)
    return soup.find(id=fragment) or soup.find(attrs={"name": fragment})


def test_internal_links_and_fragments_resolve(folder):
    broken = []
    for page in pages(folder):
        path = HTML / folder / page
        soup = parse(path)
        for tag in soup.select("a[href], link[href], script[src], img[src]"):
            address = tag.get("href") or tag.get("src")
            if re.match(r"[a-z]+:|//", address):
                continue
            file, _, fragment = address.partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            page_fragment = fragment and target.suffix == ".html"
            if not target.is_file() or (page_fragment and not anchored(target, fragment)):
                broken.append(f"{page}: {address}")
    assert not broken


def test_no_page_loads_anything_from_another_site(folder):
    for page in [*pages(folder), "../index.html", "../404.html"]:
        soup = parse(HTML / folder / page)
        loaded = [
            t.get("src") for t in soup.select("script[src], img[src], iframe[src], source[src]")
        ]
        loaded += [
            t["href"]
            for t in soup.select("link[rel~=stylesheet], link[rel~=preload], link[rel~=prefetch]")
        ]
        assert not [a for a in loaded if re.match(r"(https?:)?//", a)], page


def test_styles_load_nothing_from_another_site():
    sheets = list(HTML.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8")), (
            sheet.name
        )


def test_the_sitemap_lists_every_page_in_both_languages():
    listed = set(
        re.findall(
            r"<loc>[^<]*/((?:en|zh-cn)/[^<]+)</loc>", (HTML / "sitemap.xml").read_text("utf-8")
        )
    )
    expected = {f"{f}/{p}" for f in ("en", "zh-cn") for p in pages(f)}
    assert listed == {p for p in expected if not p.endswith(("/search.html", "/genindex.html"))}
