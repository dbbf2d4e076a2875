"""An unknown address, at any depth, leads back in both languages."""

import pytest
from built_site import LANGUAGES


@pytest.mark.parametrize("address", ["nowhere", "en/gallery/nowhere.html", "zh-cn/a/b/c/"])
def test_an_unknown_address_shows_the_way_back_in_both_languages(browser, address):
    for tag, folder in LANGUAGES.items():
        browser.open(address)
        assert browser.page == address
        assert browser.one("h1").text == "404"
        links = browser.all(f"main a[hreflang='{tag}']")
        assert len(links) == 2  # the start page and the search
        links[0].click()
        browser.wait(lambda folder=folder: browser.page == f"{folder}/index.html")
        assert browser.run("return document.documentElement.lang") == tag


def test_the_server_says_404_with_that_page(browser):
    browser.open("nowhere")
    assert browser.run("return performance.getEntriesByType('navigation')[0].responseStatus") == 404
