import base64
import struct

import pytest

from playhead.entry.message import Media
from playhead.view import media_tokens as prices
from playhead.view.tokens import default_counter


def price(media):
    return prices.media_tokens(media, count=default_counter().count)


def picture(head, *, padding=0, **facts):
    return Media(kind="image", data=base64.b64encode(head + b"\0" * padding).decode(), **facts)


def png(width, height):
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height)


def jpeg(width, height, *, before=20_000):
    exif = b"\xff\xe1" + struct.pack(">H", before + 2) + b"\0" * before
    return b"\xff\xd8" + exif + b"\xff\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width)


def webp_lossy(width, height):
    return b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)


def webp_lossless(width, height):
    return b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)


def webp_extended(width, height):
    return b"RIFF\0\0\0\0WEBPVP8X" + struct.pack("<IB3x", 10, 0) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")


FORMATS = [png, gif, jpeg, webp_lossy, webp_lossless, webp_extended]


@pytest.mark.parametrize("form", FORMATS)
def test_the_size_of_a_picture_is_read_from_its_beginning(form):
    assert prices.pixels(picture(form(640, 480)).data) == (640, 480)


@pytest.mark.parametrize("form", FORMATS)
def test_a_broken_picture_has_no_size(form):
    whole = form(640, 480)
    for length in range(min(len(whole), 40)):
        assert prices.pixels(base64.b64encode(whole[:length]).decode()) in (None, (640, 480))
    assert prices.pixels(base64.b64encode(b"\0" + whole).decode()) is None


@pytest.mark.parametrize("data", ["", "?", "é", "\ud800", "====", "a", "iVBORw0KGgo", "/9j/", "not base64 at all"])
def test_what_is_no_base64_has_no_size(data):
    assert prices.pixels(data) is None


def test_a_picture_is_priced_by_its_pixels():
    assert prices.picture_tokens((1_000, 1_000)) == 1_334
    assert prices.picture_tokens((4_000, 3_000)) == 1_600
    assert prices.picture_tokens((64, 64)) == 85 + 170
    assert prices.picture_tokens((2_048, 256)) == 85 + 4 * 170
    assert prices.picture_tokens(None) == 1_600


def test_the_length_of_a_pictures_data_does_not_matter():
    assert price(picture(png(300, 200), mime="image/png")) == price(picture(png(300, 200), mime="image/png", padding=3_000_000))


def test_a_picture_in_a_data_url_is_read_like_an_inline_one():
    inline = picture(png(300, 200), mime="image/png")
    assert price(Media(kind="image", url=f"data:image/png;base64,{inline.data}")) == price(inline)


def test_a_picture_that_cannot_be_seen_costs_the_most_and_its_label():
    assert price(Media(kind="image", url="https://example.org/a.png")) > prices.PICTURE
    assert price(Media(kind="image", ref="blob:1", name="holiday.png")) > prices.PICTURE


def test_a_text_document_costs_its_words():
    words = "Minutes of the meeting. " * 200
    document = Media(kind="document", mime="text/markdown", data=base64.b64encode(words.encode()).decode())
    assert default_counter().count(words) < price(document) < default_counter().count(words) + 60


def test_a_pdf_is_priced_by_its_pages():
    pages = b"%PDF-1.4\n<< /Type /Pages /Count 3 >>\n" + b"<< /Type /Page >>\n<</Type/Page/Parent 1 0 R>>\n<< /Type /Page\n>>"
    linear = b"%PDF-1.5\n1 0 obj\n<</Linearized 1/L 99999/O 12/E 4000/N 7/T 99000>>"
    costs = [price(Media(kind="document", mime="application/pdf", data=base64.b64encode(body).decode())) // prices.PAGE for body in (pages, linear, b"%PDF-1.7")]
    assert costs == [3, 7, 1]


def wave(seconds, *, rate=32_000):
    return b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, rate, 2, 16) + b"data\0\0\0\0" + b"\0" * (seconds * rate)


def mpeg(seconds, *, tag=b""):
    return tag + b"\xff\xfb\x90\x00" + b"\0" * (seconds * 16_000)


@pytest.mark.parametrize("sound", [wave(60), mpeg(60), mpeg(60, tag=b"ID3\x04\0\0\0\0\x01\x00" + b"\0" * 128)])
def test_sound_is_priced_by_its_seconds(sound):
    cost = price(Media(kind="audio", mime="audio/wav", data=base64.b64encode(sound).decode()))
    assert 60 * prices.SECOND <= cost <= 60 * prices.SECOND + 60


@pytest.mark.parametrize("data", [b"OggS" + b"\0" * 99_999, b"\xff\xfb\xf0\x00", b"\xff\xfb", b"ID3", wave(0)[:30], b""])
def test_sound_of_unknown_length_and_films_have_a_flat_price(data):
    held = base64.b64encode(data).decode()
    assert prices.UNKNOWN <= price(Media(kind="audio", data=held)) < prices.UNKNOWN + 60
    assert prices.UNKNOWN <= price(Media(kind="video", data=held)) < prices.UNKNOWN + 60


def test_opaque_base64_is_priced_as_what_it_begins_like():
    assert prices.opaque_tokens(picture(png(64, 64), padding=900_000).data) == prices.picture_tokens((64, 64))
    assert prices.opaque_tokens(base64.b64encode(b"%PDF-1.7 /Type /Page " * 9_000).decode()) == 9_000 * prices.PAGE
    assert prices.opaque_tokens("q83v" * 400) == 400
    assert prices.opaque_tokens("q83v" * 4_000_000) == prices.OPAQUE
