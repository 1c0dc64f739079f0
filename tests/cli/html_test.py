"""--html of check and diff: pages of real runs, real dumps and names that are markup."""

import json
import shutil
import struct
import unittest

from page import Page, png_size
from program import CHECKPOINTS, GOLDEN, IMAGES, VIDEOS, Safetensors, TestCase, run

TINY = CHECKPOINTS / "qwen2_5_vl-tiny-fp32"
SMALL = ["--max-pixels", "50176", "--min-pixels", "3136"]


class Html(TestCase):
    def page(self, *arguments, code):
        """The page of a command that ends with `code`; it holds no fault."""
        file = self.folder / "page.html"
        self.check(run(*arguments, "--html", file, "--progress", "none"), code)
        page = Page(file.read_text(encoding="utf-8"))
        self.assertEqual(page.faults, [])
        self.assertNotIn("script", {tag for tag, _ in page.tags})
        self.assertIn(f"exit code  {code}", page.words.replace("\n", " "))
        for image in page.images:
            png_size(image)
        return page

    def banner(self, page):
        return next(tag["class"] for name, tag in page.tags if name == "header")

    def foreign(self, dump, path):
        """The tensors of a dump without its record, as another tool would write them."""
        tensors = Safetensors(dump)
        text = json.dumps(tensors.header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + tensors.data)
        return path

    def test_runs_that_agree(self):
        nasty = self.folder / "<script>&\"x\".jpg"
        shutil.copy(IMAGES / "photo_astronaut.jpg", nasty)
        page = self.page("check", TINY, nasty, VIDEOS / "h264_7_frames.mp4", *SMALL, code=0)
        self.assertEqual(self.banner(page), "banner agree")
        self.assertIn(str(nasty), page.words)
        self.assertIn("No stage is beyond it", page.words)
        self.assertIn("max_batch_rows", page.words)
        # The worst token's photograph, and four layers of every group of frames: photograph,
        # errors, tokens of both sides.
        self.assertGreaterEqual(len(page.images), 1 + 4 + 4)
        self.assertEqual(len(page.images) % 4, 1)

    def test_a_named_cause(self):
        other = self.folder / "checkpoint"
        shutil.copytree(TINY, other)
        file = other / "preprocessor_config.json"
        config = json.loads(file.read_text())
        config["image_mean"], config["image_std"] = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        file.write_text(json.dumps(config))
        picture = IMAGES / "photo_astronaut.jpg"
        for checkpoint, name in ((TINY, "a"), (other, "b")):
            dump = self.folder / f"{name}.safetensors"
            self.check(run("encode", checkpoint, picture, *SMALL, "-o", dump), 0)
            self.foreign(dump, self.folder / f"foreign_{name}.safetensors")
        pixels = self.folder / "pixels.safetensors"
        self.check(run("preprocess", picture, "--checkpoint", TINY, *SMALL, "-o", pixels), 0)
        page = self.page("diff", self.folder / "foreign_a.safetensors",
                         self.folder / "foreign_b.safetensors", "--checkpoint", TINY, "--pixels",
                         pixels, code=3)
        self.assertEqual(self.banner(page), "banner differ")
        self.assertIn("The first stage beyond it is  normalized", page.words)
        self.assertEqual(len(page.images), 1 + 4)

    def test_dumps_without_a_tower(self):
        dumps = GOLDEN / "vllm_dumps/qwen2_vl"
        page = self.page("diff", dumps / "batch.vllm-0.29.0.fp32.embed.safetensors",
                         dumps / "batch.vllm-0.29.0.fp32.graph.safetensors", code=1)
        self.assertEqual(self.banner(page), "banner differ")
        self.assertGreaterEqual(len(page.images), 1)

    def test_nothing_compared(self):
        dump = GOLDEN / "vllm_dumps/qwen2_vl/batch.vllm-0.29.0.fp32.graph.safetensors"
        page = self.page("diff", dump, dump, code=9)
        self.assertEqual(self.banner(page), "banner unsure")

    def test_a_place_that_cannot_be_written(self):
        dump = GOLDEN / "vllm_dumps/qwen2_vl/batch.vllm-0.29.0.fp32.graph.safetensors"
        process = run("diff", dump, dump, "--html", self.folder / "no folder/page.html")
        self.assertEqual(process.returncode, 5, process.stderr)
        self.assertIn("page.html", process.stderr)


if __name__ == "__main__":
    unittest.main()
