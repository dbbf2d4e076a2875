"""Every page is visited once per theme, and tests read what was seen; the others share a browser."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from built_site import HTML, LANGUAGES, pages

from browser import DESKTOP, PHONE, THEMES, Browser, serving

ROOT = ""


@dataclass
class Visit:
    """What one page showed in one theme."""

    title: str
    language: str
    background: str
    switch: dict[str, str]
    violations: list[str]
    console: list[str]
    elsewhere: list[str]
    phone: list[str] = field(default_factory=list)
    sideways: list[str] = field(default_factory=list)


FACTS = """
const links = document.querySelectorAll(".languages a[hreflang]");
return [document.title, document.documentElement.lang, getComputedStyle(document.body).backgroundColor,
  Object.fromEntries([...links].map((link) => [link.hreflang, link.href]))];
"""
# What may scroll by itself on a phone; nothing else may, the window least of all.
SIDEWAYS = """
const boxes = [...document.querySelectorAll("body *")].filter((box) => box.scrollWidth > box.clientWidth
  && /auto|scroll/.test(getComputedStyle(box).overflowX)
  && !box.matches("pre, .table-wrapper, .math-block, .backpass-graph, .sidebar-scroll"));
const page = document.scrollingElement;
return [...(page.scrollWidth > innerWidth ? [page] : []), ...boxes].map(
  (box) => `${box.tagName}.${box.className}: ${box.scrollWidth} > ${box.clientWidth}`);
"""


def visit(browser: Browser, page: str, theme: str) -> Visit:
    # The page at the root leads on at once, unless its script does not run.
    browser.cdp("Emulation.setScriptExecutionDisabled", value=page == ROOT)
    browser.open(page)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    seen = Visit(*browser.run(FACTS), browser.axe(), [], [])
    if theme == "light":
        browser.resize(PHONE)
        # Colours do not depend on the width, and their contrast is most of the work.
        seen.phone = browser.axe(color_contrast=False)
        seen.sideways = browser.run(SIDEWAYS)
        browser.resize(DESKTOP)
    seen.console = browser.console()
    own = (browser.origin + "/", "data:")
    seen.elsewhere = [address for address in browser.requests() if not address.startswith(own)]
    return seen


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    assert (HTML / "build.json").is_file(), "no site: build it with `nox -s docs` first"
    with serving() as site, Browser.start(site, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def browser(started):
    started.reset()
    return started


@pytest.fixture(params=LANGUAGES.values())
def folder(request):
    return request.param


@pytest.fixture(scope="session")
def visits(started, request, tmp_path_factory):
    """Every page in every theme, with a browser for each."""
    names = [f"{folder}/{page}" for folder in LANGUAGES.values() for page in pages(folder)]

    def tour(theme):
        with Browser.start(started.site, tmp_path_factory.mktemp(theme)) as browser:
            browser.prefer(theme=theme)
            return {
                (page, theme): visit(browser, page, theme) for page in [*names, ROOT, "404.html"]
            }

    with ThreadPoolExecutor(len(THEMES)) as pool:
        found = {key: seen for part in pool.map(tour, THEMES) for key, seen in part.items()}
    request.config.stash[SUMMARY] = found
    return found


SUMMARY = pytest.StashKey[dict]()


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash.get(SUMMARY, None)
    if not found:
        return
    count, seen = len({page for page, _ in found}), found.values()
    phones = sum(1 for _, theme in found if theme == "light")
    terminalreporter.section("pages x checks")
    for line in (
        f"{count} pages x {len(THEMES)} themes x axe: {sum(len(v.violations) for v in seen)} violations",
        f"{phones} pages at {PHONE[0]} px x axe: {sum(len(v.phone) for v in seen)} violations",
        f"{phones} pages at {PHONE[0]} px x width: {sum(bool(v.sideways) for v in seen)} scroll sideways",
        f"{count} pages x {len(THEMES)} themes x console: {sum(len(v.console) for v in seen)} messages",
        f"{count} pages x {len(THEMES)} themes x requests: {sum(len(v.elsewhere) for v in seen)} to another host",
        f"{count} pages x language switch: {sum(len(v.switch) for (_, t), v in found.items() if t == 'light')} links checked",
    ):
        terminalreporter.write_line(line)
