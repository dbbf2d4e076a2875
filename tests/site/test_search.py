"""The search that ships finds every page that holds the query: its own JavaScript, run on its index."""

import json
import re

import pytest
from built_site import HTML, pages, parse
from py_mini_racer import MiniRacer

QUERIES = {
    "en": [
        "gradcheck", "gradient", "save_for_backward", "vector-Jacobian product", "leaf", "custom",
    ],
    "zh-cn": [
        "反向传播", "梯度", "自定义", "风格迁移", "计算图", "叶子张量", "格拉姆矩阵", "gradcheck", "save_for_backward",
    ],
}  # fmt: skip
MESSAGES = [
    "grad can be implicitly created only for scalar outputs",
    "Legacy autograd function with non-static forward method is deprecated",
    "invalid gradient at index 2 - got [] but expected shape compatible with [1]",
    "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
    "Jacobian mismatch for output 0 with respect to input 0",
    "one of the variables needed for gradient computation has been modified by an inplace operation",
    "volatile was removed and now has no effect",
    "invalid index of a 0-dim tensor",
    "got an unexpected keyword argument 'retain_variables'",
    "attribute 'parameters' already exists",
]
# The pages that are made of others, or that Sphinx does not index.
LISTS = {"search.html", "genindex.html"}
BROWSER = """
var window = globalThis, location = {search: "", href: ""}, navigator = {};
var localStorage = {setItem() {}, getItem() {}, removeItem() {}};
var document = {
  readyState: "loading", addEventListener() {}, getElementById: () => null, querySelector: () => null,
  querySelectorAll: () => [], documentElement: {dataset: {content_root: "./"}}, body: {}, head: {},
};
function find(query) {
  const [text, terms, excluded, highlight, objects] = Search._parseQuery(query);
  const results = Search._performSearch(text, terms, excluded, highlight, objects);
  return JSON.stringify(results.map((result) => result[0]));
}
"""


class Search:
    """The search page's scripts in an embedded JavaScript engine."""

    def __init__(self, folder):
        root = HTML / folder
        self.engine = MiniRacer()
        self.engine.eval(BROWSER)
        for name in (
            "documentation_options.js",
            "doctools.js",
            "sphinx_highlight.js",
            "language_data.js",
            "searchtools.js",
        ):
            script = (root / "_static" / name).read_text("utf-8")
            # Top-level constants are script-local here, while pages share them.
            self.engine.eval(re.sub(r"^(const|let) ", "var ", script, flags=re.M))
        self.engine.eval((root / "searchindex.js").read_text("utf-8"))

    def pages(self, query):
        found = self.engine.eval(f"find({json.dumps(query)})")
        return {f"{name}.html" for name in json.loads(found)}


@pytest.fixture(scope="module", params=["en", "zh-cn"])
def search(request):
    return request.param, Search(request.param)


def holding(folder, query):
    """The pages whose article holds the query, as a reader sees it."""
    found = set()
    for page in pages(folder):
        article = parse(HTML / folder / page).select_one("article")
        if page not in LISTS and query.lower() in re.sub(r"\s+", " ", article.get_text()).lower():
            found.add(page)
    return found


def test_every_page_that_holds_a_query_is_found(search):
    folder, engine = search
    for query in QUERIES[folder]:
        expected, found = holding(folder, query), engine.pages(query)
        print(f"{folder:6} {query}: {len(expected)} pages hold it, {len(found)} found")
        assert expected, f"no page holds {query!r}"
        assert expected <= found, query


@pytest.mark.parametrize("message", MESSAGES)
def test_an_error_message_stands_as_text_and_is_found(search, message):
    folder, engine = search
    expected = holding(folder, message)
    assert expected, f"no page of {folder} holds {message!r}"
    assert expected <= engine.pages(message)


def test_every_sentence_that_an_example_prints_is_found(search, build):
    folder, engine = search
    printed = set()
    for page in build["examples"]:
        for block in parse(HTML / folder / page).select(".sphx-glr-script-out pre"):
            lines = block.get_text().splitlines()
            printed.update(line for line in lines if len(re.findall("[A-Za-z]{2,}", line)) > 5)
    assert len(printed) > 10
    for message in (" ".join(line.split()) for line in printed):
        expected = holding(folder, message)
        assert expected, message
        assert expected <= engine.pages(message), message


def test_the_search_does_not_find_what_is_not_there(search):
    _, engine = search
    assert not engine.pages("xylophone")
    assert not engine.pages("鲸鱼迁徙")
