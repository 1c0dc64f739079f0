"""vtower preprocess: rows equal to the reference's, and readable by encode."""

import hashlib
import json
import unittest

from program import BAD, CHECKPOINTS, GOLDEN, IMAGES, VIDEOS, Safetensors, TestCase, run


class Preprocess(TestCase):
    def test_rows_have_the_hashes_of_the_reference(self):
        golden = json.loads((GOLDEN / "media/pixels/qwen2-small.json").read_text())["images"]
        names = ["exif_6.jpg", "png_rgba8.png", "jpeg_cmyk.jpg", "webp_lossy.webp"]
        for profile in ("vllm", "hf", "hf-pil"):
            self.check(run("preprocess", *(IMAGES / name for name in names), "--checkpoint",
                           CHECKPOINTS / "qwen2_vl-tiny-fp32", "--profile", profile, "-o",
                           self.out), 0)
            dump = Safetensors(self.out)
            first = 0
            for name, item in zip(names, dump.record["items"], strict=True):
                expected = golden[name][profile]
                self.assertEqual(item["rows_sha256"], expected["sha256_u8"], (profile, name))
                self.assertEqual([item["grid_thw"]], expected["grid_thw"])
                rows = expected["rows"][0] * expected["rows"][1]
                self.assertEqual(
                    hashlib.sha256(dump.bytes("pixels")[first:first + rows]).hexdigest(),
                    expected["sha256_u8"])
                first += rows

    def test_rows_encode_like_their_media(self):
        checkpoint = CHECKPOINTS / "qwen3_vl-tiny-fp32"
        media = [IMAGES / "photo_rocket.jpg", VIDEOS / "h264_7_frames.mp4"]
        rows = self.folder / "rows.safetensors"
        self.check(run("preprocess", *media, "--checkpoint", checkpoint, "-o", rows), 0)
        self.check(run("encode", checkpoint, rows, "-o", self.out), 0)
        from_rows = Safetensors(self.out)
        self.check(run("encode", checkpoint, *media, "-o", self.out), 0)
        from_media = Safetensors(self.out)
        for name in ("embeddings", "deepstack.1", "grid_thw", "cu_tokens"):
            self.assertEqual(from_rows.bytes(name), from_media.bytes(name), name)

    def test_limits(self):
        checkpoint = CHECKPOINTS / "qwen2_vl-tiny-fp32"
        self.check(run("preprocess", IMAGES / "photo_china.jpg", "--max-pixels", "50176",
                       "--checkpoint", checkpoint, "-o", self.out), 0)
        item = Safetensors(self.out).record["items"][0]
        self.assertLessEqual(item["resized"][0] * item["resized"][1], 50176)

    def test_a_bad_file_is_reported(self):
        process = self.check(
            run("preprocess", IMAGES / "png_rgb8.png", BAD / "vector.svg", "--json",
                "--checkpoint", CHECKPOINTS / "qwen2_vl-tiny-fp32", "-o", self.out), 5)
        report = json.loads(process.stdout)
        self.assertEqual([failure["class"] for failure in report["failed"]], ["unsupported"])
        self.assertEqual(Safetensors(self.out).shape("grid_thw"), [1, 3])

    def test_rows_are_counted_under_the_limit_that_resizes(self):  # R106
        source = IMAGES / "photo_flower_1000x750.jpg"
        for limit in (50176, 200704, 401408):
            self.check(run("preprocess", source, "--checkpoint",
                           CHECKPOINTS / "qwen2_vl-tiny-fp32", "--max-pixels",
                           limit, "-o", self.out), 0)
            dump = Safetensors(self.out)
            (item,) = dump.record["items"]
            height, width = item["resized"]
            self.assertLessEqual(height * width, limit)
            self.assertEqual(list(dump.values("grid_thw")), [1, height // 14, width // 14])
            self.assertEqual(dump.shape("pixels")[0], height * width // 14 // 14)


if __name__ == "__main__":
    unittest.main()
