"""The switch of the version keeps page and language, and is not shown where it leads nowhere."""

import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from built_site import HTML, LANGUAGES, pages
from jinja2 import Environment

import publish
from browser import Browser

SWITCH = Path(__file__).parents[2] / "docs" / "_templates" / "sidebar" / "versions.html"
LABELS = {"Stable": "稳定版", "Development": "开发版"}
ONLY_DEV = "guide/performance.html"


def with_switch(root):
    """Write into each page what the template adds when ``DOCS_VERSIONED`` is set."""
    template = Environment(autoescape=True).from_string(SWITCH.read_text("utf-8"))
    for folder in LANGUAGES.values():
        for page in pages(folder):
            path = root / folder / page
            up = "../" * page.count("/")
            switch = template.render(
                _=lambda text, folder=folder: LABELS.get(text, text) if folder == "zh-cn" else text,
                versioned=True,
                content_root=up,
                twins=[{"current": True, "href": f"{up}../{folder}/{page}"}],
            )
            text = path.read_text("utf-8")
            if 'class="versions"' not in text:  # else the site was built with DOCS_VERSIONED
                text, count = re.subn('(?=<form class="sidebar-search)', switch, text)
                assert count == 1, page
            path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Three versions, of which the development version has one page more."""
    root = tmp_path_factory.mktemp("served")
    site = shutil.copytree(HTML, tmp_path_factory.mktemp("built") / "site")
    with_switch(site)
    publish.publish(site, root, "dev")
    for folder in LANGUAGES.values():
        (site / folder / ONLY_DEV).unlink()
    publish.publish(site, root, "v0.1.0")
    return root


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def versions(browser, served):
    handler = partial(Quiet, directory=served)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Browser(browser.driver, f"http://127.0.0.1:{server.server_port}/", browser.downloads)
    server.shutdown()
    server.server_close()


def choose(browser, text):
    browser.wait(lambda: browser.one(".versions").is_displayed())
    (link,) = [link for link in browser.all(".versions a") if link.text == text]
    link.click()


def test_the_switch_keeps_page_and_language(versions, folder):
    stable, dev = ("稳定版", "开发版") if folder == "zh-cn" else ("Stable", "Development")
    versions.open(f"dev/{folder}/gallery/1_functions/plot_relu.html")
    choose(versions, stable)
    versions.wait(lambda: versions.page == f"stable/{folder}/gallery/1_functions/plot_relu.html")
    choose(versions, "v0.1")
    versions.wait(lambda: versions.page == f"v0.1/{folder}/gallery/1_functions/plot_relu.html")
    choose(versions, dev)
    versions.wait(lambda: versions.page == f"dev/{folder}/gallery/1_functions/plot_relu.html")
    versions.wait(lambda: versions.one(".versions").is_displayed())
    assert [link.text for link in versions.all(".versions a")] == [stable, dev, "v0.1"]
    assert versions.one(".versions [aria-current=true]").text == dev
    assert not versions.console()
    assert not versions.axe()


def test_a_page_that_a_version_lacks_leads_to_its_start_in_the_same_language(versions, folder):
    versions.open(f"dev/{folder}/{ONLY_DEV}")
    choose(versions, "v0.1")
    versions.wait(lambda: versions.page == f"v0.1/{folder}/index.html")


def test_the_root_leads_to_the_stable_version(versions):
    versions.open()
    versions.wait(lambda: versions.page == "stable/en/index.html")


def test_without_a_list_of_versions_there_is_no_switch(versions, served):
    listed = served / "versions.json"
    listed.rename(served / "hidden.json")
    try:
        versions.open("dev/en/index.html")
        versions.wait(lambda: "versions.json" in "".join(versions.requests()))
        versions.run("return new Promise((done) => setTimeout(done, 300))")
        assert not versions.one(".versions").is_displayed()
    finally:
        (served / "hidden.json").rename(listed)


def test_without_javascript_there_is_no_switch(versions):
    versions.cdp("Emulation.setScriptExecutionDisabled", value=True)
    versions.open("dev/en/index.html")
    assert not versions.one(".versions").is_displayed()
