"""The site that a release carries for reading offline works from a folder, without any server."""

import pytest
from built_site import HTML, LANGUAGES

from browser import Browser


@pytest.fixture
def offline(browser):
    return Browser(browser.driver, f"{HTML.as_uri()}/", browser.downloads)


def test_the_root_the_switch_and_the_pages_work_from_a_folder(offline):
    offline.open("index.html")
    offline.wait(lambda: offline.page == "en/index.html")
    offline.driver.find_element("link text", "简体中文").click()
    offline.wait(lambda: offline.page == "zh-cn/index.html")
    offline.open("zh-cn/gallery/1_functions/plot_relu.html")
    for image in offline.all("article img"):
        offline.run("arguments[0].scrollIntoView()", image)
        offline.wait(lambda image=image: image.get_property("naturalWidth") > 0)
    assert not offline.console()
    assert not [a for a in offline.requests() if a.startswith("http")]


@pytest.mark.parametrize(("folder", "word"), [("en", "kink"), ("zh-cn", "折点")])
def test_the_search_finds_pages_from_a_folder(offline, folder, word):
    assert folder in LANGUAGES.values()
    offline.open(f"{folder}/search.html?q={word}")
    # The excerpts are missing: a browser lets no page read the others from a folder.
    offline.wait(lambda: len(offline.all("#search-results li a")) > 3)
