"""A reader comes to their language, and can leave it for the other from any page."""

import pytest
from built_site import LANGUAGES, pages


@pytest.mark.parametrize(
    ("languages", "folder"),
    [
        ("en", "en"),
        ("zh-CN,zh", "zh-cn"),
        ("zh-TW,zh", "zh-cn"),
        ("fr", "en"),
        ("fr,zh-CN,en", "zh-cn"),
        ("de-DE,en-GB,zh", "en"),
    ],
)
def test_the_root_leads_to_the_first_language_that_the_reader_knows(browser, languages, folder):
    browser.prefer(languages=languages)
    browser.open()
    browser.wait(lambda: browser.page == f"{folder}/index.html")
    assert browser.run("return navigator.languages.join()") == languages


def test_without_javascript_the_root_links_to_both_languages(browser):
    for position, folder in enumerate(LANGUAGES.values()):
        browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
        browser.open()
        assert browser.page == ""
        links = browser.all("main a")
        assert [link.text for link in links] == ["English", "简体中文"]
        links[position].click()
        browser.wait(lambda folder=folder: browser.page == f"{folder}/index.html")


@pytest.mark.parametrize(
    "page", ["index.html", "gallery/1_functions/plot_relu.html", "search.html"]
)
def test_a_click_on_the_switch_lands_on_the_twin_and_a_second_one_back(browser, page):
    browser.open(f"en/{page}")
    for folder, name in (("zh-cn", "简体中文"), ("en", "English")):
        browser.driver.find_element("link text", name).click()
        browser.wait(lambda folder=folder: browser.page == f"{folder}/{page}")
        assert browser.run("return document.documentElement.lang").lower() == folder


def test_the_switch_marks_the_language_of_the_page(browser, folder):
    browser.open(f"{folder}/{pages(folder)[0]}")
    current = browser.one(".languages [aria-current=true]").get_attribute("hreflang")
    assert LANGUAGES[current] == folder
