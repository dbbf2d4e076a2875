"""A reader types into the search box, and reads what is found."""

import re

import pytest
from selenium.webdriver.common.keys import Keys

NOTHING = {"en": "did not match any documents", "zh-cn": "没有"}
QUERIES = [
    ("en", "gradcheck", "gallery/4_verification/plot_gradcheck.html"),
    ("en", "vector-Jacobian product", "guide/mental_model.html"),
    ("en", "got an unexpected keyword argument 'retain_variables'", "migration/index.html"),
    ("zh-cn", "gradcheck", "gallery/4_verification/plot_gradcheck.html"),
    ("zh-cn", "反向传播", "guide/mental_model.html"),
    ("zh-cn", "自定义", "guide/which_tool.html"),
    ("zh-cn", "got an unexpected keyword argument 'retain_variables'", "migration/index.html"),
]


def search(browser, folder, query):
    """Type a query on the first page of a language; return the pages found, when all are."""
    browser.open(f"{folder}/index.html")
    browser.one(".sidebar-search").send_keys(query, Keys.ENTER)
    browser.wait(lambda: browser.page == f"{folder}/search.html")
    # Sphinx replaces the title, and with it the moving dots, when the list is complete.
    browser.wait(lambda: browser.run("return Search.dots && !Search.title.contains(Search.dots)"))
    links = browser.run("return [...document.querySelectorAll('.search a')].map((a) => a.href)")
    return [re.split("[?#]", link.removeprefix(f"{browser.site}{folder}/"))[0] for link in links]


@pytest.mark.parametrize(("folder", "query", "page"), QUERIES)
def test_a_typed_query_finds_its_page(browser, folder, query, page):
    assert page in search(browser, folder, query)
    assert not browser.console()
    assert not browser.axe()


def test_a_result_leads_to_the_page_and_marks_the_words(browser, folder):
    search(browser, folder, "gradcheck")
    browser.all(".search a")[0].click()
    browser.wait(lambda: browser.page != f"{folder}/search.html")
    marked = browser.wait(lambda: browser.all("article .highlighted"))
    assert "gradcheck" in marked[0].text.lower()


def test_the_summary_counts_what_is_listed_in_the_language_of_the_reader(browser, folder):
    found = search(browser, folder, "gradcheck")
    summary = browser.one(".search-summary").text
    assert re.search(r"\d+", summary)[0] == str(len(found))
    assert bool(re.search("[\u3400-\u9fff]", summary)) == (folder == "zh-cn")


def test_where_nothing_is_found_the_page_says_so_in_the_language_of_the_reader(browser, folder):
    assert not search(browser, folder, "xylophone")
    assert NOTHING[folder] in browser.one("#search-results").text
