"""Both languages have the same pages, code, outputs, figures and links, and name each other."""

import re
from collections import Counter

import pytest
from built_site import HTML, LANGUAGES, pages, parse

HAN = re.compile(r"[\u3400-\u9fff]")


def test_both_languages_have_the_same_pages():
    assert pages("en") == pages("zh-cn")
    assert "index.html" in pages("en")


def test_only_the_first_language_executed_examples(build):
    assert build["executed"]["zh-cn"] == 0
    scripts = HTML.parents[2].glob("examples/*/plot_*.py")
    assert {page.rpartition("/")[2] for page in build["examples"]} == {
        f"{p.stem}.html" for p in scripts
    }


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


def alternates(soup):
    return {a["hreflang"]: a["href"] for a in soup.select("link[rel=alternate][hreflang]")}


def misnamed(root, folder, page, site):
    """What is wrong with the addresses that a page gives for itself and for its twins."""
    soup = parse(root / folder / page)
    tag = next(t for t, f in LANGUAGES.items() if f == folder)
    own, named = f"{site}{folder}/{page}", alternates(soup)
    found = [] if soup.html["lang"] == tag else [f"lang is {soup.html['lang']}"]
    if [c["href"] for c in soup.select("link[rel=canonical]")] != [own]:
        found.append("canonical is not self")
    if named.get(tag) != own or set(named) != {*LANGUAGES, "x-default"}:
        found.append("alternates are not all languages and x-default, with self among them")
    for twin, address in named.items():
        file = root / address.removeprefix(site)
        if not address.startswith(site) or not file.is_file():
            found.append(f"{twin}: no such page")
        elif alternates(parse(file)) != named:
            found.append(f"{twin}: not reciprocal")
    return found


def test_pages_name_their_language_and_their_twins_and_these_name_them(folder):
    site = re.search(r"Sitemap: (.*)sitemap.xml", (HTML / "robots.txt").read_text("utf-8"))[1]
    for page in pages(folder):
        assert not misnamed(HTML, folder, page, site), page


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('rel="canonical" href="https://a.org/en/', 'rel="canonical" href="https://a.org/', "canonical is not self"),
        ('hreflang="zh-CN" href="https://a.org/zh-cn/p', 'hreflang="zh-CN" href="https://a.org/zh-cn/q', "zh-CN: no such page"),
        ('hreflang="x-default"', 'hreflang="fr"', "alternates are not all languages and x-default, with self among them"),
        ('lang="en"', 'lang="zh-CN"', "lang is zh-CN"),
        ('hreflang="x-default" href="https://a.org/en/', 'hreflang="x-default" href="https://a.org/zh-cn/', "zh-CN: not reciprocal"),
    ],
)  # fmt: skip
def test_a_planted_wrong_address_is_found(old, new, fault, tmp_path):
    named = {**LANGUAGES, "x-default": "en"}.items()
    twins = "".join(
        f'<link rel="alternate" hreflang="{t}" href="https://a.org/{f}/p.html">' for t, f in named
    )
    for tag, folder in LANGUAGES.items():
        (tmp_path / folder).mkdir()
        canonical = f'<link rel="canonical" href="https://a.org/{folder}/p.html">'
        text = f'<html lang="{tag}">{canonical}{twins}'
        assert old in text or folder != "en"
        (tmp_path / folder / "p.html").write_text(
            text.replace(old, new) if folder == "en" else text, "utf-8"
        )
    assert fault in misnamed(tmp_path, "en", "p.html", "https://a.org/")


def test_the_language_switch_is_relative_and_stays_on_the_page(folder):
    for page in pages(folder):
        path = HTML / folder / page
        switch = parse(path).select(".languages a")
        targets = [path.parent.joinpath(a["href"]).resolve() for a in switch]
        assert targets == [HTML / f / page for f in LANGUAGES.values()], page


def test_links_of_a_page_lead_to_the_same_targets_in_both_languages():
    for page in pages("en"):
        english, chinese = (targets(HTML, folder, page) for folder in LANGUAGES.values())
        assert english, page
        assert english == chinese, page


def targets(root, folder, page):
    """Where the links of a page lead, but for the language switch and the letters of an index."""
    path = root / folder / page
    chosen = "a[href]:not(.headerlink):not(.languages a):not(.genindex-jumpbox a)"
    chosen += ":not(.about-this-page a[href^=http])"  # notebooks and catalogues have a language
    return Counter(target(link["href"], path, root / folder) for link in parse(path).select(chosen))


def target(address, path, folder):
    file, _, fragment = address.partition("#")
    if re.match(r"[a-z]+:", file):
        return address
    leads = (path.parent / file).resolve() if file else path
    name = leads.relative_to(folder).as_posix()
    if not fragment or "." in fragment:
        return f"{name}#{fragment}"
    # An anchor that is made of a heading is in the language of the heading: its place counts.
    anchor = parse(leads).find(id=fragment)
    return f"{name}#{len(anchor.find_all_previous('section')) + (anchor.name == 'section')}"


def test_a_planted_other_target_is_found(tmp_path):
    text = '<section id="{0}"></section><section id="{1}"></section><a href="{2}">x</a>'
    for folder, ids in {"en": ("one", "two"), "zh-cn": ("一", "二"), "fr": ("un", "deux")}.items():
        (tmp_path / folder).mkdir()
        link = "#" + ids[0 if folder == "fr" else 1]
        (tmp_path / folder / "p.html").write_text(text.format(*ids, link), "utf-8")
    assert targets(tmp_path, "en", "p.html") == targets(tmp_path, "zh-cn", "p.html")
    assert targets(tmp_path, "en", "p.html") != targets(tmp_path, "fr", "p.html")


def test_every_chinese_page_is_chinese():
    for page in pages("zh-cn"):
        prose = [
            prose_of(p)
            for p in parse(HTML / "zh-cn" / page).select("article :is(p, h1, h2, li, td)")
        ]
        # A reference to a paper begins with an author's initial and names the year.
        reference = re.compile(r"[A-Z]\. .*\b(19|20)\d\d\b")
        english = [p for p in prose if untranslated(p) and not reference.match(p)]
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
