"""The links into the repository, without building a site."""

import pytest
from sphinx.errors import ExtensionError

import repository_links

REPOSITORY = "https://github.com/example/backpass"


def test_without_a_repository_nothing_is_installed_and_nothing_is_linked():
    assert repository_links.installation("", "0123456789ab", "import backpass") is None

    class App:
        class config:
            html_context = {"repository": ""}

    context = {}
    repository_links.add_links(App, "index", "page.html", context, object())
    assert context == {}


@pytest.mark.parametrize(
    ("commit", "at"), [("0123456789ab", "@0123456789ab"), ("0123456789ab-dirty", ""), (None, "")]
)
def test_a_notebook_installs_the_commit_that_was_executed_if_there_is_one(commit, at):
    cell = repository_links.installation(f"{REPOSITORY}.git", commit, "import matplotlib")
    assert cell == f'%pip install --quiet matplotlib "backpass @ git+{REPOSITORY}{at}"'


def test_a_notebook_installs_what_it_imports():
    code = "import matplotlib\nfrom skimage import data\nfrom backpass.style import x"
    cell = repository_links.installation(REPOSITORY, None, code)
    assert (
        cell == f'%pip install --quiet matplotlib scikit-image "backpass[style] @ git+{REPOSITORY}"'
    )


@pytest.mark.parametrize("address", ["https://gitlab.com/a/b", "github.com/a/b", f"{REPOSITORY}/x"])
def test_an_address_that_links_cannot_be_made_of_is_refused(address):
    with pytest.raises(ExtensionError, match=r"expected https://github.com/<owner>/<name>, got"):
        repository_links.owner_and_name(address)
