"""Chromium with a private profile, and the built site on a loopback port."""

from __future__ import annotations

import json
import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from built_site import HTML
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from pathlib import Path

PHONE, DESKTOP = (390, 844), (1400, 900)
THEMES = ("light", "dark")
# As Debian names them; the environment may name others. Paths, lest selenium download its own.
CHROMIUM = shutil.which(os.environ.get("CHROMIUM", "chromium"))
CHROMEDRIVER = shutil.which(os.environ.get("CHROMEDRIVER", "chromedriver"))
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def brightness(colour: str) -> float:
    """How bright a colour of CSS is, from 0 to 255."""
    return sum(map(float, colour[colour.index("(") + 1 : -1].split(",")[:3])) / 3


class Handler(SimpleHTTPRequestHandler):
    """Serve the site at the path of its address, with its own page for what is not there."""

    prefix = "/"

    def translate_path(self, path: str) -> str:
        inside = path.removeprefix(self.prefix) if path.startswith(self.prefix) else "outside"
        return super().translate_path("/" + inside)

    def send_error(self, code, message=None, explain=None):
        if code != 404:
            return super().send_error(code, message, explain)
        page = (HTML / "404.html").read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        return self.wfile.write(page)

    def log_message(self, *arguments):
        """The tests read what the browser asked for; the terminal is theirs."""


@contextmanager
def serving():
    """Serve the site, and yield its address."""
    robots = (HTML / "robots.txt").read_text("utf-8")
    site = urlsplit(robots.rpartition("Sitemap: ")[2].strip().removesuffix("sitemap.xml"))
    handler = type("Site", (Handler,), {"prefix": site.path})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=HTML))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{site.path}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Browser:
    """A driver, and the few things that the tests do with it."""

    driver: webdriver.Chrome
    site: str
    downloads: Path

    @classmethod
    @contextmanager
    def start(cls, site: str, private: Path):
        """Start Chromium, which keeps all it writes under ``private``."""
        assert CHROMIUM, "no chromium; on Debian: apt-get install chromium"
        assert CHROMEDRIVER, "no chromedriver; on Debian: apt-get install chromium-driver"
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        for switch in (
            "headless=new", f"user-data-dir={private / 'profile'}", "no-first-run", "no-sandbox",
            "disable-background-networking", "disable-component-update", "disable-sync",
            "disable-dev-shm-usage", "disable-gpu", "lang=en-US",
        ):  # fmt: skip
            options.add_argument(f"--{switch}")
        driver = webdriver.Chrome(options, Service(CHROMEDRIVER))
        driver.set_script_timeout(120)
        try:
            browser = cls(driver, site, private / "downloads")
            browser.reset()
            yield browser
        finally:
            driver.quit()

    def reset(self):
        """Forget what a test has set: theme, size, languages, storage, log."""
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.cdp("Storage.clearDataForOrigin", origin=self.origin, storageTypes="all")
        self.cdp("Browser.setDownloadBehavior", behavior="deny")
        self.prefer(theme="light", languages="en-US,en")
        self.resize(DESKTOP)
        self.driver.get("about:blank")
        self.console(), self.requests()

    @property
    def origin(self) -> str:
        return "http://" + urlsplit(self.site).netloc

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        """Run JavaScript in the page, and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def open(self, page=""):
        self.driver.get(self.site + page)

    @property
    def page(self) -> str:
        """The page shown, relative to the site."""
        return urlsplit(self.driver.current_url).path.removeprefix(urlsplit(self.site).path)

    def wait(self, condition, seconds=10):
        """Wait until ``condition()`` is true, and return its value."""
        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        (found,) = self.all(selector)
        return found

    def press(self, *keys):
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def press_with_shift(self, key):
        chain = ActionChains(self.driver, duration=0)
        chain.key_down(Keys.SHIFT).send_keys(key).key_up(Keys.SHIFT).perform()

    def prefer(self, theme=None, languages=None):
        """Set what the reader prefers: a theme, languages."""
        if theme:
            # Without motion, what a test sees does not depend on when it looks.
            preferences = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
            features = [{"name": name, "value": value} for name, value in preferences.items()]
            self.cdp("Emulation.setEmulatedMedia", features=features)
        if languages:
            agent = self.run("return navigator.userAgent")
            self.cdp("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=languages)

    def resize(self, size):
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == PHONE,
        )  # fmt: skip

    def console(self) -> list[str]:
        """Errors and warnings since the last call."""
        entries = self.driver.get_log("browser")
        return [e["message"] for e in entries if e["level"] in ("WARNING", "SEVERE")]

    def requests(self) -> list[str]:
        """Addresses asked for since the last call, whether or not an answer came."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]

    def axe(self, **rules: bool) -> list[str]:
        """Return the violations that axe-core finds in the page as it is shown."""
        if not self.run("return 'axe' in window"):
            self.run(AXE)
        found = self.driver.execute_async_script(
            """const [runOnly, rules, done] = arguments;
            axe.run({runOnly, rules, preload: false, resultTypes: ["violations"]}).then((r) => done(r.violations.map(
              (v) => `${v.id} (${v.impact}): ${v.help}: ` + v.nodes.slice(0, 3).map(
                (n) => n.target.join(" ") + (n.any[0] ? " " + n.any[0].message : "")).join(" | ")
                + ` [${v.nodes.length}]`)), (error) => done(["axe failed: " + error]))""",
            RULES,
            {name.replace("_", "-"): {"enabled": on} for name, on in rules.items()},
        )
        return list(found)
