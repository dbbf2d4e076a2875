"""What holds for every page: it is accessible, quiet, self-contained, fits a phone and has a twin."""

import pytest
from built_site import LANGUAGES, pages

from browser import THEMES, brightness


def bad(visits, theme, what):
    """The pages where ``what`` is not empty."""
    return {
        page: getattr(seen, what)
        for (page, shown), seen in visits.items()
        if shown == theme and getattr(seen, what)
    }


def test_every_page_of_the_site_is_visited_and_shown(visits, folder):
    for page in pages(folder):
        for theme in THEMES:
            seen = visits[f"{folder}/{page}", theme]
            assert LANGUAGES[seen.language] == folder
            assert seen.title
            assert not seen.title.startswith("Page not found")


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_has_an_accessibility_violation(visits, theme):
    assert not bad(visits, theme, "violations")


def test_no_page_has_an_accessibility_violation_on_a_phone(visits):
    assert not bad(visits, "light", "phone")


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_reports_an_error_or_a_warning(visits, theme):
    assert not bad(visits, theme, "console")


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_asks_anything_of_another_host(visits, theme):
    assert not bad(visits, theme, "elsewhere")


def test_no_page_scrolls_sideways_on_a_phone(visits):
    assert not bad(visits, "light", "sideways")


def test_every_page_is_dark_where_the_reader_prefers_dark(visits):
    for page in {page for page, _ in visits}:
        light, dark = (brightness(visits[page, theme].background) for theme in THEMES)
        assert light > 200 > 50 > dark, page


def test_the_language_switch_of_every_page_leads_to_its_twins(visits, started, folder):
    for page in pages(folder):
        expected = {tag: f"{started.site}{other}/{page}" for tag, other in LANGUAGES.items()}
        assert visits[f"{folder}/{page}", "light"].switch == expected
        assert all((f"{other}/{page}", "light") in visits for other in LANGUAGES.values())
