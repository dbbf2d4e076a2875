"""Every link resolves, every address of the site itself exists, and nobody else is asked anything."""

import re
from collections import Counter

import pytest
from built_site import HTML, LANGUAGES, pages, parse

NOT_LISTED = ("/search.html", "/genindex.html")
SELF_MADE = ("index.html", "404.html")  # at the root
ADDRESSES = {
    "a": ["href"], "link": ["href"], "script": ["src"], "img": ["src", "srcset"],
    "source": ["src", "srcset"], "form": ["action"], "object": ["data"], "iframe": ["src"],
}  # fmt: skip
STORED = {"theme", "sphinx_highlight_terms"}  # the reader's choice, and the words just searched for


def every_page():
    return [
        *(f"{folder}/{page}" for folder in LANGUAGES.values() for page in pages(folder)),
        *SELF_MADE,
    ]


def links(page):
    """Every address in a page, with the tag it stands in."""
    for tag in page.find_all(list(ADDRESSES)):
        for attribute in ADDRESSES[tag.name]:
            for candidate in tag.get(attribute, "").split(", ") if tag.get(attribute) else []:
                yield tag, candidate.split()[0] if attribute == "srcset" else candidate


def broken(path, root):
    """The links of a page that lead to nothing; what begins with a scheme leads out of the site."""
    found = []
    for tag, address in links(parse(path)):
        if re.match(r"[a-z]+:|//", address):
            continue
        file, _, fragment = address.partition("#")
        file = file.partition("?")[0]
        target = path.parent / file if file else path
        target = (target / "index.html" if target.is_dir() else target).resolve()
        if not target.is_file() or not target.is_relative_to(root.resolve()):
            found.append(f"<{tag.name}> {address}: no such file")
        elif fragment and target.suffix == ".html" and not anchored(parse(target), fragment):
            found.append(f"<{tag.name}> {address}: no such place")
    return found


def anchored(page, fragment):
    return page.find(id=fragment) or page.find("a", attrs={"name": fragment})


def site():
    """The address that the site was built for."""
    robots = (HTML / "robots.txt").read_text("utf-8")
    return re.search(r"^Sitemap: (.*/)sitemap\.xml$", robots, re.M)[1]


def file_of(address):
    assert address.startswith(site()), address
    return HTML / address.removeprefix(site()).partition("#")[0]


def prefix():
    """The path of that address, with which the links of 404.html begin."""
    return "/" + site().partition("://")[2].partition("/")[2]


@pytest.mark.parametrize("page", [page for page in every_page() if page != "404.html"])
def test_internal_links_and_fragments_resolve(page):
    assert not broken(HTML / page, HTML)


def test_the_links_of_the_404_page_begin_at_the_root_of_the_host_and_resolve():
    found = [address for _, address in links(parse(HTML / "404.html"))]
    assert len(found) > len(LANGUAGES)
    for address in found:
        assert (HTML / address.removeprefix(prefix())).is_file(), address
        assert address.startswith(prefix()), address


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ('<a href="gone.html">', "<a> gone.html: no such file"),
        ('<a href="b.html#gone">', "<a> b.html#gone: no such place"),
        ('<a href="#gone">', "<a> #gone: no such place"),
        ('<a href="../../outside.html">', "<a> ../../outside.html: no such file"),
        ('<img src="b.html" srcset="b.html, gone.png 2.00x">', "<img> gone.png: no such file"),
        ('<script src="gone.js?v=1">', "<script> gone.js?v=1: no such file"),
        ('<form action="gone.html">', "<form> gone.html: no such file"),
        ('<link href="gone.css">', "<link> gone.css: no such file"),
    ],
)
def test_a_planted_broken_link_is_found(tag, fault, tmp_path):
    root = tmp_path / "site"
    root.mkdir()
    (tmp_path / "outside.html").touch()
    (root / "b.html").write_text('<p id="here">', "utf-8")
    (root / "a.html").write_text(f'<a href="b.html#here">{tag}', "utf-8")
    assert broken(root / "a.html", root) == [fault]


def test_the_sitemap_lists_every_page_in_every_language_with_its_twins():
    text = (HTML / "sitemap.xml").read_text("utf-8")
    entries = re.findall(r"<url><loc>([^<]+)</loc>(.*?)</url>", text)
    listed = Counter(file_of(address).relative_to(HTML).as_posix() for address, _ in entries)
    expected = {page for page in every_page() if "/" in page and not page.endswith(NOT_LISTED)}
    assert listed == Counter(expected)
    for address, twins in entries:
        named = dict(re.findall(r'hreflang="([^"]+)" href="([^"]+)"', twins))
        assert set(named) == set(LANGUAGES)
        assert address in named.values()
        assert all(file_of(twin).is_file() for twin in named.values())


def test_llms_txt_links_to_every_page_and_to_nothing_else():
    text = (HTML / "llms.txt").read_text("utf-8")
    head = r"# backpass\n\n> \S[^\n]+\n\n"
    assert re.match(head, text)
    items = re.findall(r"^- \[(.+)\]\((\S+)\): (.+)$", text, re.M)
    linked = Counter(file_of(address).relative_to(HTML).as_posix() for _, address, _ in items)
    assert linked == Counter(p for p in every_page() if "/" in p and not p.endswith(NOT_LISTED))
    assert len(re.findall(r"^- ", text, re.M)) == len(items)
    for title, address, description in items:
        heading = parse(file_of(address)).select_one("article h1").get_text()
        assert title.replace("\\", "") in " ".join(heading.split()), address
        assert len(description) > 10, address


@pytest.mark.parametrize("page", every_page())
def test_no_page_loads_anything_from_another_site(page):
    soup = parse(HTML / page)
    loaded = [
        address
        for tag, address in links(soup)
        if tag.name not in ("a", "form") and tag.get("rel") not in (["alternate"], ["canonical"])
    ]
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]
    inline = "".join(script.get_text() for script in soup.select("script:not([src])"))
    assert not re.search(r"https?://", inline.replace(site(), ""))


def test_every_page_has_the_favicon():
    for page in every_page():
        (icon,) = parse(HTML / page).select("link[rel~=icon]")
        address = icon["href"].removeprefix(prefix()) if page == "404.html" else icon["href"]
        icon_file = HTML / address if page in SELF_MADE else (HTML / page).parent / address
        assert icon_file.is_file(), page


def test_styles_load_nothing_from_another_site():
    sheets = list(HTML.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        remote = re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))
        assert not remote, sheet.name


def keeps(script):
    """What a script would keep in the browser or send away."""
    found = set(
        re.findall(r"document\.cookie|cookieStore|indexedDB|sessionStorage|sendBeacon", script)
    )
    keys = re.findall(
        r"localStorage\s*(?:\.\w+Item\(\s*[\"']([^\"']+)[\"']|(.{,20}))", script, re.S
    )
    return found | {key or rest for key, rest in keys if key not in STORED}


def test_nothing_is_kept_in_the_browser_but_the_theme_and_the_words_searched_for():
    scripts = [path.read_text("utf-8") for path in HTML.rglob("*.js")]
    scripts += [
        tag.get_text() for page in every_page() for tag in parse(HTML / page).select("script")
    ]
    assert any("localStorage" in script for script in scripts)
    assert not set().union(*map(keeps, scripts))


@pytest.mark.parametrize(
    "script",
    [
        'document.cookie = "a=1"', "localStorage.setItem('visitor', 1)", "localStorage.visitor = 1",
        "localStorage[key] = 1", "navigator.sendBeacon(x)", "sessionStorage.setItem('theme', 1)",
    ],
)  # fmt: skip
def test_a_planted_tracker_is_found(script):
    assert keeps(script)
