"""Reads a report's page with the standard library: is it sound, and is it self-contained?"""

import base64
import html.parser
import re
import struct
import zlib

VOID = {"meta", "img", "input"}
# What may make a browser ask for something elsewhere.
ADDRESSES = {"src", "href", "xlink:href", "action", "formaction", "data", "poster", "srcset",
             "background"}


class Page(html.parser.HTMLParser):
    """Tags, text, pictures and faults of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.faults, self.images = [], [], [], []
        self.words, self.style = "", ""
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")
        if re.search(r"url\s*\(|@import", self.style):
            self.faults.append("the style asks for a file")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.faults.append(f"<{tag}> has the script {name}={value}")
            if name in ADDRESSES:
                if tag != "img" or not value.startswith("data:image/png;base64,"):
                    self.faults.append(f"<{tag}> points to {value[:80]}")
                else:
                    self.images.append(base64.b64decode(value.split(",", 1)[1], validate=True))
            if name == "style" and "url" in value:
                self.faults.append(f"<{tag}> has the style {value}")

    def handle_startendtag(self, tag, attrs):
        if "svg" not in self.open:
            self.faults.append(f"<{tag}/> closes itself, which HTML does not know")
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing that is open")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.words += data + " "

    def count(self, tag):
        return sum(1 for name, _ in self.tags if name == tag)


def png_size(data):
    """Width and height; every chunk's CRC and the number of bytes of pixels must be right."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    place, pixels, size, channels = 8, b"", None, 0
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        kind, body = data[place + 4:place + 8], data[place + 8:place + 8 + length]
        (crc,) = struct.unpack_from(">I", data, place + 8 + length)
        assert crc == zlib.crc32(kind + body), kind
        if kind == b"IHDR":
            size = struct.unpack_from(">II", body)
            assert body[8] == 8, body
            channels = {2: 3, 6: 4}[body[9]]
        elif kind == b"IDAT":
            pixels += body
        place += 12 + length
    assert kind == b"IEND" and size
    assert len(zlib.decompress(pixels)) == (size[0] * channels + 1) * size[1]
    return size
