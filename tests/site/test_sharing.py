"""Every page describes itself, in its language, to search engines and to those who share it."""

import re

from built_site import HTML, LANGUAGES, pages, parse

HAN = re.compile(r"[\u3400-\u9fff]")
TERRITORIES = {"en": "en_US", "zh-cn": "zh_CN"}


def properties(folder, page):
    """The OpenGraph properties of a page; a property may occur more than once."""
    found = {}
    for meta in parse(HTML / folder / page).select("meta[property^='og:']"):
        found.setdefault(meta["property"].removeprefix("og:"), []).append(meta["content"])
    return found


def described(folder, page):
    return [m["content"] for m in parse(HTML / folder / page).select("meta[name=description]")]


def test_every_page_has_one_description_of_its_own_in_its_language(folder):
    found = {}
    for page in pages(folder):
        (text,) = described(folder, page)
        assert properties(folder, page)["description"] == [text], page
        assert 10 < len(text) < 300, page
        assert not re.search(r"\\|[`*{}<>]|  ", text), page
        assert bool(HAN.search(text)) == (folder == "zh-cn"), page
        found.setdefault(text, []).append(page)
    assert [same for same in found.values() if len(same) > 1] == []


def test_the_title_is_that_of_the_page(folder):
    for page in pages(folder):
        (title,) = properties(folder, page)["title"]
        soup = parse(HTML / folder / page)
        heading = soup.select_one("article h1") or soup.title  # the search page gets its own later
        assert title.strip(), page
        assert heading.get_text().startswith(title), page


def test_the_addresses_are_absolute_and_lead_to_the_page_and_to_a_picture(folder):
    site = re.search(r"Sitemap: (.*)sitemap.xml", (HTML / "robots.txt").read_text("utf-8"))[1]
    pictures = set()
    for page in pages(folder):
        found = properties(folder, page)
        assert found["url"] == [f"{site}{folder}/{page}"], page
        (picture,) = found["image"]
        assert picture.startswith("https://"), page
        file = HTML / picture.removeprefix(site)
        assert file.read_bytes().startswith(b"\x89PNG"), page
        pictures.add(picture)
    assert len(pictures) > 10


def test_the_kind_the_site_and_the_languages_are_named(folder, build):
    for page in pages(folder):
        found = properties(folder, page)
        assert found["type"] == ["article" if page in build["examples"] else "website"], page
        assert found["site_name"] == ["backpass"], page
        assert found["locale"] == [TERRITORIES[folder]], page
        others = [TERRITORIES[other] for other in LANGUAGES.values() if other != folder]
        assert found["locale:alternate"] == others, page
