"""Both languages have the same pages, code, outputs, figures and links, and name each other."""

import re

from built_site import HTML, LANGUAGES, pages, parse

HAN = re.compile(r"[\u3400-\u9fff]")


def test_both_languages_have_the_same_pages():
    assert pages("en") == pages("zh-cn")
    assert "index.html" in pages("en")


def test_only_the_first_language_executed_examples(build):
    assert build["executed"]["zh-cn"] == 0
    assert len(build["examples"]) == 15


def test_code_output_and_figures_are_those_of_build_json_in_both_languages(build):
    import importlib.util

    spec = importlib.util.spec_from_file_location("assemble", HTML.parents[1] / "assemble.py")
    assemble = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(assemble)
    for page, recorded in build["examples"].items():
        for folder in LANGUAGES.values():
            found = assemble.outputs(HTML / folder, page)
            assert found == {key: recorded[key] for key in found}, (folder, page)
            assert found["figures"], f"{page} has no figure"


def test_pages_name_their_language_and_their_twins(folder):
    tag = next(t for t, f in LANGUAGES.items() if f == folder)
    for page in pages(folder):
        soup = parse(HTML / folder / page)
        assert soup.html["lang"] == tag, page
        alternates = {
            a["hreflang"]: a["href"] for a in soup.select("link[rel=alternate][hreflang]")
        }
        assert set(alternates) == {*LANGUAGES, "x-default"}, page
        for twin, address in alternates.items():
            assert address.endswith(f"/{LANGUAGES.get(twin, 'en')}/{page}"), page
        canonical = [c["href"] for c in soup.select("link[rel=canonical]")]
        assert canonical == [alternates[tag]], page


def test_the_language_switch_is_relative_and_stays_on_the_page(folder):
    for page in pages(folder):
        path = HTML / folder / page
        switch = parse(path).select(".languages a")
        targets = [path.parent.joinpath(a["href"]).resolve() for a in switch]
        assert targets == [HTML / f / page for f in LANGUAGES.values()], page


def test_links_of_a_page_lead_to_the_same_targets_in_both_languages():
    for page in pages("en"):
        if page == "genindex.html":  # sorted under the letters of its own language
            continue
        english, chinese = (targets(f, page) for f in LANGUAGES.values())
        assert english == chinese, page


def targets(folder, page):
    links = parse(HTML / folder / page).select("article a[href]:not(.headerlink)")
    path = (HTML / folder / page).parent
    found = []
    for link in links:
        file, hash_, fragment = link["href"].partition("#")
        if not re.match(r"\w+:", file):
            file = (path / file).resolve().relative_to(HTML / folder).as_posix() if file else page
        # A fragment made from a heading is in the language of the heading.
        found.append(file + (hash_ + fragment if "." in fragment else ""))
    return sorted(found)


def test_every_chinese_page_is_chinese():
    for page in pages("zh-cn"):
        prose = [
            prose_of(p)
            for p in parse(HTML / "zh-cn" / page).select("article :is(p, h1, h2, li, td)")
        ]
        # The references to papers keep their titles.
        english = [
            p
            for p in prose
            if untranslated(p) and not re.search("ICML|CVPR|arXiv|differentiation", p)
        ]
        assert not english, page


def prose_of(tag):
    """The text of a tag without code and formulas."""
    return "".join(
        text
        for text in tag.find_all(string=True)
        if not text.find_parent(["code", "math", "pre", "svg"])
    )


def untranslated(text):
    return len(re.findall(r"[A-Za-z]{3,}", text)) > 4 and not HAN.search(text)


def test_an_untranslated_sentence_is_caught():
    assert untranslated("The gradient passes where the output is positive.")
    assert not untranslated("梯度在输出为正处通过，见 PyTorch 的文档。")


def test_every_example_says_how_it_was_executed(folder, build):
    for page, record in build["examples"].items():
        about = parse(HTML / folder / page).select_one(".about-this-page").get_text()
        for fact in ("python", "torch", "backpass", "date"):
            assert record["execution"][fact] in about


def test_labels_around_the_text_are_chinese_on_chinese_pages():
    for page in pages("zh-cn"):
        soup = parse(HTML / "zh-cn" / page)
        labels = [
            t["aria-label"] for t in soup.select("[aria-label]") if not t.find_parent("article")
        ]
        labels += [t["placeholder"] for t in soup.select("[placeholder]")]
        labels += [
            t.get_text()
            for t in soup.select(".skip-to-content, .back-to-top, .context, .toc-title")
        ]
        assert labels
        assert not [label for label in labels if label.strip() and not HAN.search(label)], page
