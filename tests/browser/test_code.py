"""Code leaves the page whole: through the clipboard, and as downloads."""

import ast
import json

import pytest
from built_site import HTML, pages, parse

EXAMPLE = "gallery/1_functions/plot_relu.html"


def copied(browser, block):
    """Press the copy button of a block, and read the clipboard."""
    browser.cdp(
        "Browser.grantPermissions",
        origin=browser.origin,
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    button = browser.run("return arguments[0].parentElement.querySelector('.copybtn')", block)
    button.click()
    browser.wait(lambda: "success" in button.get_attribute("class"))
    return browser.driver.execute_async_script(
        "const done = arguments[0]; navigator.clipboard.readText().then(done, (e) => done('' + e))"
    )


def test_the_copy_button_copies_code_as_it_stands(browser, folder):
    browser.open(f"{folder}/{EXAMPLE}")
    for block in browser.all("article .highlight-Python pre")[:3]:
        assert copied(browser, block) == block.get_property("textContent").rstrip("\n")


def test_the_copy_button_leaves_prompts_and_output_out(browser, folder):
    browser.open(f"{folder}/reference/functions.html")
    block = next(b for b in browser.all(".highlight pre") if b.text.startswith(">>> "))
    lines = block.get_property("textContent").splitlines()
    code = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    assert len(code) < len(lines), "the block shows no output"
    assert copied(browser, block) == "\n".join(code)


def download(browser, link, folder):
    """Click a link, and return the file that arrives."""
    folder.mkdir()
    browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    link.click()
    (arrived,) = browser.wait(
        lambda: [f for f in folder.iterdir() if f.suffix != ".crdownload" and f.stat().st_size]
    )
    return arrived


def code_of(path):
    """The code of a script or notebook, as a syntax tree without the docstring of the module."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text("utf-8"))["cells"]
        source = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        return ast.dump(ast.parse(source))
    tree = ast.parse(path.read_text("utf-8"))
    return ast.dump(ast.Module(tree.body[ast.get_docstring(tree) is not None :], []))


def test_downloads_arrive_as_the_site_has_them(browser, folder, tmp_path):
    browser.open(f"{folder}/{EXAMPLE}")
    links = browser.all("article a[download]")
    assert links
    for number, link in enumerate(links):
        name = link.get_attribute("href").removeprefix(browser.site)
        arrived = download(browser, link, tmp_path / str(number))
        assert arrived.name == name.rpartition("/")[2]
        assert arrived.read_bytes() == (HTML / name).read_bytes()


def test_the_code_of_a_downloaded_script_and_notebook_is_that_of_the_page(
    browser, folder, tmp_path
):
    browser.open(f"{folder}/{EXAMPLE}")
    shown = ast.dump(ast.parse(browser.run(
        "return [...document.querySelectorAll('article .highlight-Python pre')]"
        ".map((block) => block.textContent).join('\\n')"
    )))  # fmt: skip
    for suffix in (".py", ".ipynb"):
        (link,) = browser.all(f"article a[download][href$='{suffix}']")
        assert code_of(download(browser, link, tmp_path / suffix)) == shown


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_every_example_offers_its_downloads(folder, suffix):
    for page in (p for p in pages(folder) if "/plot_" in p):
        (link,) = parse(HTML / folder / page).select(f"article a[download][href$='{suffix}']")
        assert (HTML / folder / page).parent.joinpath(link["href"]).is_file(), page
