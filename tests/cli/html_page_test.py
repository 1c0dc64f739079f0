"""The page of a report with everything in it: sound, self-contained, and seen by a browser."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

from page import Page, png_size


def pixels_of(data):
    """Rows of a PNG as bytes, its filters undone."""
    size = png_size(data)
    channels = {2: 3, 6: 4}[data[25]]
    packed, place = b"", 8
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        if data[place + 4:place + 8] == b"IDAT":
            packed += data[place + 8:place + 8 + length]
        place += 12 + length
    raw, step = zlib.decompress(packed), size[0] * channels
    rows, above = [], bytes(step)
    for y in range(size[1]):
        method, line = raw[y * (step + 1)], bytearray(raw[y * (step + 1) + 1:(y + 1) * (step + 1)])
        for i in range(step):
            left = line[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            if method == 1:
                line[i] = (line[i] + left) & 255
            elif method == 2:
                line[i] = (line[i] + above[i]) & 255
            elif method == 3:
                line[i] = (line[i] + (left + above[i]) // 2) & 255
            elif method == 4:
                guess = left + above[i] - corner
                nearest = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]),
                              (abs(guess - corner), 2, corner))
                line[i] = (line[i] + nearest[2]) & 255
        above = bytes(line)
        rows.append([above[i:i + 3] for i in range(0, step, channels)])
    return rows


class ExamplePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.file = cls.folder / "a report.html"
        subprocess.run([os.environ["HTML_EXAMPLE"], cls.file], check=True)
        cls.text = cls.file.read_text(encoding="utf-8")  # strict: no byte that is no UTF-8
        cls.page = Page(cls.text)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_sound_and_self_contained(self):
        self.assertEqual(self.page.faults, [])
        self.assertTrue(self.text.startswith("<!DOCTYPE html>"))
        self.assertEqual(self.page.count("script"), 0)
        self.assertEqual(self.page.count("link"), 0)
        self.assertNotIn("http:", self.text)
        self.assertNotIn("https:", self.text)
        policy = [tag for name, tag in self.page.tags
                  if tag.get("http-equiv") == "Content-Security-Policy"]
        self.assertEqual(len(policy), 1)
        self.assertIn("default-src 'none'", policy[0]["content"])

    def test_the_reader_tells_faults(self):
        for text, words in [("<p><b></p>", "closes nothing"), ("<p>", "never closed"),
                            ("<img src=\"http://x/y.png\">", "points to"),
                            ("<p onclick=\"x()\"></p>", "has the script"),
                            ("<style>p { background: url(x) }</style>", "asks for a file")]:
            self.assertIn(words, " ".join(Page(text).faults), text)

    def test_names_stay_text(self):
        self.assertNotIn("<script", self.text)
        self.assertIn("pictures/<script>alert(1)</script>&\"x'\ufffd.png", self.page.words)
        self.assertIn("The tower was fed raw bytes 0..255: <b>the normalisation</b> was skipped", self.page.words)

    def test_everything_is_told_in_order(self):
        place = 0
        for words in ["Differ", "3", "differ, cause named", "norm_skipped", "1.1e-6 is left",
                      "norm_twice", "rescale_skipped", "b is a scaled by 1.86",
                      "What to do", "Look at the call", "The worst token", "Token 209",
                      "392..420", "0.00024", "the last 12 tokens", "the worst token's box",
                      "Comparisons", "smallest k", "60 %", "1.8", "not finite", "64 / 0",
                      "its ledger has other stages", "lost.png", "Items", "broken.png",
                      "clip.mp4", "the 4 with the largest errors are drawn", "deepstack.1",
                      "grid not known", "Error by depth", "The first stage beyond it is", "block.4",
                      "Ledger", "normalized", "Plan", "max_batch_rows", "Attestation", "captured",
                      "Policy", "limits", "Notes", "merge order was assumed", "Failed items",
                      "torn.jpg", "ends after 3 of 8 blocks", "graph@cuda: there is no GPU"]:
            found = self.page.words.find(words, place)
            self.assertNotEqual(found, -1, f"no {words!r} after {self.page.words[:place][-60:]!r}")
            place = found

    def test_pictures_are_png(self):
        sizes = [png_size(image) for image in self.page.images]
        # The worst token's photograph; for the still three layers and for each of four groups of
        # the clip; tokens alone and two sides for the one without pixels; the strip.
        self.assertEqual(len(sizes), 1 + 4 + 4 * 4 + 3 + 1)
        self.assertEqual(sizes.count((420, 392)), 2)
        self.assertEqual(sizes.count((15, 14)), 3)
        self.assertTrue(all(max(size) <= 512 for size in sizes))

    def test_a_browser_shows_it(self):
        picture = self.folder / "page.png"
        process = subprocess.run([os.environ["HTML_SCREENSHOT"], self.file, picture, "900", "700"],
                                 capture_output=True, text=True, check=False)
        if process.returncode == 77:
            self.skipTest(process.stderr.strip())
        self.assertEqual(process.returncode, 0, process.stderr)
        rows = pixels_of(picture.read_bytes())
        self.assertEqual((len(rows[0]), len(rows)), (900, 700))
        # The banner's edge is red; a page without its style would have no such pixel.
        edge = [row[x] for row in rows[:160] for x in range(60)]
        reds = sum(1 for r, g, b in edge if r > 180 and g < 60 and b < 60)
        self.assertGreater(reds, 300)


if __name__ == "__main__":
    unittest.main(verbosity=2)
