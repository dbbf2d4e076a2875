"""A page loads only what it shows, and its pictures when they come near."""

from types import SimpleNamespace

import pytest

import light_pages

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes.fromhex("00000140 000000f0")


@pytest.fixture
def lighten(tmp_path):
    images = tmp_path / "gallery" / "images"
    images.mkdir(parents=True)
    (images / "one.png").write_bytes(PNG)

    def lightened(body):
        context = {
            "body": body,
            "css_files": [
                SimpleNamespace(filename=n) for n in ("_static/sg_gallery.css", "furo.css")
            ],
            "script_files": ["_static/copybutton.js"],
        }
        light_pages.lighten(SimpleNamespace(srcdir=tmp_path), "page", "page.html", context, None)
        return context

    return lightened


def test_a_picture_is_lazy_and_has_the_size_of_its_file(lighten):
    body = lighten('<img alt="a > b" src="../_images/one.png" srcset="../_images/one.png 2x"/>')[
        "body"
    ]
    assert 'loading="lazy" width="320" height="240"' in body
    assert body.endswith('alt="a > b" src="../_images/one.png" srcset="../_images/one.png 2x"/>')


@pytest.mark.parametrize(
    "body",
    [
        '<img src="../_images/other.png">',
        '<img src="../_images/drawing.svg"><p title="one.png">',
        '<img src="../_images/one.png" width="10">',
        "",
    ],
)
def test_what_is_no_picture_of_a_lesson_or_has_a_size_is_left_alone(lighten, body):
    assert lighten(body)["body"] == body


def test_a_page_without_a_use_for_a_file_does_not_load_it(lighten):
    plain = lighten("<p>text</p>")
    assert [file.filename for file in plain["css_files"]] == ["furo.css"]
    assert plain["script_files"] == []
    lesson = lighten('<div class="sphx-glr-thumb"></div><div class="highlight"></div>')
    assert len(lesson["css_files"]) == 2
    assert lesson["script_files"] == ["_static/copybutton.js"]
