"""Chinese full-text search for Sphinx's own search page, by overlapping pairs of characters.

Index and query are cut in the same way, so a phrase of two or more characters is found wherever
it stands: no word list can miss it. This also avoids the Chinese stemmer that Sphinx 9.0 names in
its JavaScript but does not ship (sphinx#14229).
"""

import pickle
import re
from pathlib import Path

import snowballstemmer
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.search import SearchLanguage
from sphinx.search.en import SearchEnglish

RUN = re.compile(r"[\u3400-\u9fff]+|[A-Za-z0-9_]+")


class PairsOfCharacters(SearchLanguage):
    """Cut Chinese into pairs of characters, and leave other words whole."""

    lang = "zh"
    language_name = "English"  # names the JavaScript stemmer, used for the Latin words
    js_stemmer_rawcode = "english-stemmer.js"
    stopwords = SearchEnglish.stopwords
    js_splitter_code = r"""
var splitQuery = function (query) {
  return (query.match(/[\u3400-\u9fff]+|[A-Za-z0-9_]+/g) || []).flatMap((run) =>
    run.length > 2 && run >= "\u3400"
      ? Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2))
      : [run]
  );
};
"""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stemmer = snowballstemmer.stemmer("english")

    def split(self, input: str) -> list[str]:
        """Cut a text; ``js_splitter_code`` is the same rule for the query."""
        terms: list[str] = []
        for run in RUN.findall(input):
            if len(run) > 2 and run[0] >= "\u3400":
                terms += [run[i : i + 2] for i in range(len(run) - 1)]
            else:
                terms.append(run)
        return terms

    def stem(self, word: str) -> str:
        """Stem as the JavaScript does; Chinese comes back as it is."""
        return str(self.stemmer.stemWord(word.lower()))


def keep_index_entries(app: Sphinx, exception: Exception | None) -> None:
    """Save the environment again, for Sphinx collects the index entries of the search after saving it.

    Without this, a build that writes no page publishes a search without them.
    """
    if exception is None and app.builder.format == "html":
        with Path(app.doctreedir, ENV_PICKLE_FILENAME).open("wb") as file:
            pickle.dump(app.env, file, pickle.HIGHEST_PROTOCOL)


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace Sphinx's own rule for ``zh``, and see to the index entries of every language."""
    app.connect("build-finished", keep_index_entries)
    app.add_search_language(PairsOfCharacters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
