"""Sphinx settings; ``DOCS_LANGUAGE`` chooses the language and ``DOCS_BASE_URL`` the address."""

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["OMP_NUM_THREADS"] = "1"  # examples are small, and one thread rounds the same everywhere

metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
site = os.environ.get("DOCS_BASE_URL", metadata["urls"]["Documentation"]).rstrip("/") + "/"

project, author = "backpass", "The backpass authors"
project_copyright = f"2026, {author}"
language = os.environ.get("DOCS_LANGUAGE", "en")
languages = tomllib.loads((HERE / "languages.toml").read_text("utf-8"))

extensions = [
    "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.napoleon", "myst_parser",
    "sphinx_copybutton", "sphinx_gallery.gen_gallery",
    "archives", "benchmarks", "bilingual", "descriptions", "downloads", "execution", "gallery_pages", "glossary_page", "inventories", "light_pages", "mathml", "repository_links", "theme_labels", "translation_status", "zh_search",
]  # fmt: skip
exclude_patterns = ["_build", "_root", "recorded", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
nitpicky = True

smartquotes_action = languages[language]["smartquotes"]
smartquotes_excludes = {"languages": [], "builders": ["man", "text"]}

html_theme = "furo"
html_title = "backpass"
html_static_path = ["_static"]
html_css_files, html_js_files = ["backpass.css"], ["backpass.js"]
html_favicon = "_static/favicon.svg"
html_baseurl = f"{site}{languages[language]['folder']}/"
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
html_sidebars = {"**": [
    "sidebar/brand.html", "sidebar/languages.html", "sidebar/versions.html", "sidebar/search.html",
    "sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html",
]}  # fmt: skip
html_context = {"site": site, "versioned": "DOCS_VERSIONED" in os.environ, "repository": os.environ.get("DOCS_REPOSITORY", metadata["urls"].get("Repository", "")), "published": os.environ.get("DOCS_PUBLISHED", "")}  # fmt: skip

locale_dirs = ["locales", "theme_locales"]
gettext_compact = gettext_location = False  # lines of generated files change with every output

linkcheck_ignore = [r"https?://(localhost|127\.0\.0\.1|\[::1\]|([\w.-]+\.)?example\.)", site]
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]  # a script makes its anchors
linkcheck_timeout, linkcheck_retries, linkcheck_rate_limit_timeout = 20, 2, 60

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_custom_sections = ["Shape", "Dtype", "Gradient", "Saved", "Transforms"]
napoleon_use_rtype = napoleon_attr_annotations = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
intersphinx_mapping = {}  # filled by the extension "inventories", without any network

sphinx_gallery_conf = {
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "capture_repr": ("_repr_html_",),  # a plain repr may hold an address
    "doc_module": ("backpass",),
    "download_all_examples": False,
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "image_srcset": ["2x"],
    "inspect_global_variables": False,
    "min_reported_time": 1_000_000,  # a time would make every build differ
    "prefer_full_module": {r"backpass\..*"},
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "execution.before_example"),
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
