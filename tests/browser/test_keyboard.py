"""The whole site can be used without a mouse."""

import pytest
from selenium.webdriver.common.keys import Keys

from browser import DESKTOP, PHONE

EXAMPLE = "gallery/1_functions/plot_relu.html"
FOCUS = """
const focus = document.activeElement, box = focus.getBoundingClientRect();
return {tag: focus.tagName, name: focus.className, id: focus.id, href: focus.href || "",
  inside: focus.closest("article, .sidebar-drawer, .toc-drawer")?.className ?? "",
  article: !!focus.closest("article"), x: box.x, y: box.y, width: box.width, height: box.height,
  seen: box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight};
"""


def tab(browser):
    browser.press(Keys.TAB)
    return browser.run(FOCUS)


def button(menu):
    return f"label[for='{menu}'] [role=button]"


def tab_to(browser, selector):
    """Press Tab until the focus is at a place; return it."""
    while (stop := tab(browser))["tag"] != "BODY":
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return stop
    raise AssertionError(f"Tab does not reach {selector}")


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_tab_first_reaches_the_link_that_skips_to_the_content(browser, folder, size):
    if size == "phone":
        browser.resize(PHONE)
    browser.open(f"{folder}/{EXAMPLE}")
    first = tab(browser)
    assert "skip-to-content" in first["name"]
    assert first["seen"]
    browser.press(Keys.ENTER)
    assert tab(browser)["article"]


def test_the_menu_opens_with_the_keyboard_on_a_phone_and_leads_to_a_page(browser, folder):
    browser.resize(PHONE)
    browser.open(f"{folder}/index.html")
    tab_to(browser, button("__navigation"))
    assert not browser.one(".sidebar-brand").is_displayed()
    browser.press(Keys.SPACE)
    browser.wait(lambda: browser.one(".sidebar-brand").is_displayed())
    browser.wait(lambda: browser.run(FOCUS)["inside"] == "sidebar-drawer")
    while "guide/index.html" not in (stop := tab(browser))["href"]:
        assert stop["inside"] == "sidebar-drawer", "the focus leaves the open menu"
    browser.press(Keys.ENTER)
    browser.wait(lambda: browser.page == f"{folder}/guide/index.html")


@pytest.mark.parametrize("menu", ["__navigation", "__toc"])
def test_escape_closes_a_menu_and_the_focus_returns(browser, folder, menu):
    browser.resize(PHONE)
    browser.open(f"{folder}/{EXAMPLE}")
    tab_to(browser, button(menu))
    browser.press(Keys.SPACE)
    assert browser.run(FOCUS)["inside"].endswith("-drawer")
    browser.press_with_shift(Keys.TAB)  # out of the page, or around to the end of the menu
    stop = browser.run(FOCUS)
    assert stop["tag"] == "BODY" or stop["inside"].endswith("-drawer"), "the focus leaves the menu"
    browser.press(Keys.ESCAPE)
    assert browser.run("return document.activeElement.matches(arguments[0])", button(menu))
    assert not browser.run(f"return document.getElementById('{menu}').checked")
    assert not browser.all("[inert]")


def test_the_search_is_reached_and_sent_with_the_keyboard(browser, folder):
    browser.open(f"{folder}/index.html")
    tab_to(browser, ".sidebar-search")
    browser.press("gradcheck", Keys.ENTER)
    browser.wait(lambda: browser.page == f"{folder}/search.html")
    browser.wait(lambda: browser.all(".search a"))


def picture(browser, stop):
    """What is seen around a stop, painted."""
    browser.driver.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    )
    left, top = browser.run("return [scrollX, scrollY]")
    clip = {
        "x": stop["x"] + left - 8, "y": stop["y"] + top - 8,
        "width": stop["width"] + 16, "height": stop["height"] + 16, "scale": 1,
    }  # fmt: skip
    return browser.cdp("Page.captureScreenshot", clip=clip)["data"]


@pytest.mark.parametrize(
    ("page", "size"),
    [
        ("en/index.html", PHONE),
        ("zh-cn/search.html?q=gradcheck", PHONE),
        (f"en/{EXAMPLE}", DESKTOP),
        ("zh-cn/guide/mental_model.html", DESKTOP),
        ("404.html", PHONE),
    ],
)
def test_every_stop_of_the_focus_is_in_sight_and_marked(browser, page, size):
    browser.resize(size)
    browser.open(page)
    count = 0
    while (stop := tab(browser))["tag"] != "BODY":
        count += 1
        assert stop["seen"], f"{stop} is out of sight"
        marked = picture(browser, stop)
        browser.run("window.left = document.activeElement; left.blur()")
        same = picture(browser, stop) == marked
        assert not same, f"{stop} looks as without focus"
        browser.run("left.focus({focusVisible: true, preventScroll: true})")
    assert count >= 4
