"""Light and dark: the reader's system decides, until the reader does."""

import pytest

from browser import brightness

PAGE = "gallery/1_functions/plot_relu.html"


def backgrounds(browser):
    """How bright the page and its code are."""
    return [
        brightness(browser.run(f"return getComputedStyle(document.querySelector('{s}')).backgroundColor"))
        for s in ("body", ".highlight")
    ]  # fmt: skip


@pytest.mark.parametrize(("theme", "least", "most"), [("light", 200, 255), ("dark", 0, 50)])
def test_the_page_follows_the_system(browser, folder, theme, least, most):
    browser.prefer(theme=theme)
    browser.open(f"{folder}/{PAGE}")
    assert all(least <= value <= most for value in backgrounds(browser))


def test_the_button_changes_the_theme_and_the_next_page_keeps_it(browser, folder):
    browser.open(f"{folder}/{PAGE}")
    assert min(backgrounds(browser)) > 200
    button = next(b for b in browser.all(".theme-toggle") if b.is_displayed())
    seen = []
    for _ in range(3):
        button.click()
        seen.append((browser.run("return document.body.dataset.theme"), backgrounds(browser)))
    assert {theme for theme, _ in seen} == {"auto", "light", "dark"}
    for theme, values in seen:
        assert (max(values) < 50) if theme == "dark" else (min(values) > 200)
    while browser.run("return document.body.dataset.theme") != "dark":
        button.click()
    browser.open(f"{folder}/index.html")
    assert max(backgrounds(browser)) < 50
