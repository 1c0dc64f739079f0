"""vtower encode."""

import hashlib
import json
import os
import unittest

from program import (BAD, CHECKPOINTS, GOLDEN, IMAGES, VIDEOS, Safetensors, TestCase,
                     relative_error, run)

TINY = {family: CHECKPOINTS / f"{family}-tiny-fp32"
        for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")}
SET = [IMAGES / "photo_chelsea.png", VIDEOS / "h264_rotate_90.mp4", IMAGES / "jpeg_cmyk.jpg"]


class Embeddings(TestCase):
    def encode(self, *arguments):
        self.check(run("encode", *arguments, "-o", self.out), 0)
        return Safetensors(self.out)

    def test_raw_patches_of_the_reference_give_its_embeddings(self):
        for family, checkpoint in TINY.items():
            for case in ("single", "batch", "mixed", "video"):
                cases = GOLDEN / "towers/cases" / family
                ours = self.encode(checkpoint, cases / f"{case}.input.safetensors")
                truth = Safetensors(cases / f"{case}.{checkpoint.name}.fp64.safetensors")
                self.assertEqual(ours.values("cu_tokens"), truth.values("cu_seqlens_tokens"))
                self.assertEqual(ours.values("grid_thw"), truth.values("grid_thw"))
                self.assertLessEqual(
                    relative_error(ours.values("embeddings"), truth.values("merger")), 4e-6)

    def test_the_oracle_agrees_on_media(self):
        for family, checkpoint in TINY.items():
            ours = self.encode(checkpoint, *SET)
            self.assertEqual(ours.record["attestation"]["mode"], "eager")
            self.assertEqual(ours.record["checkpoint"]["family"], family)
            oracle = self.encode("--mode", "oracle", checkpoint, *SET)
            self.assertEqual(oracle.record["attestation"]["mode"], "oracle")
            self.assertEqual(oracle.header["embeddings"]["dtype"], "F64")
            for name in ours.header:
                if name == "embeddings" or name.startswith("deepstack"):
                    self.assertLessEqual(
                        relative_error(ours.values(name), oracle.values(name)), 4e-6, name)

    def test_order_of_the_request_is_kept_and_company_does_not_matter(self):
        together = self.encode(TINY["qwen2_5_vl"], *SET)
        rows, cu = together.rows("embeddings"), together.values("cu_tokens")
        self.assertEqual([item["path"] for item in together.record["items"]],
                         [str(path) for path in SET])
        for i, path in enumerate(SET):
            alone = self.encode(TINY["qwen2_5_vl"], path)
            mine = [value for row in rows[cu[i]:cu[i + 1]] for value in row]
            self.assertLessEqual(relative_error(mine, alone.values("embeddings")), 4e-6)

    def test_the_record_tells_where_everything_came_from(self):
        dump = self.encode(TINY["qwen3_vl"], IMAGES / "exif_6.jpg", VIDEOS / "h264_7_frames.mp4")
        self.assertEqual(dump.metadata["format"], "pt")
        record = dump.record
        for part in ("version", "checkpoint", "norm", "profile", "plan", "attestation", "items",
                     "failed"):
            self.assertIn(part, record)
        self.assertEqual(record["norm"]["mean"], [0.5, 0.5, 0.5])
        self.assertIn("image_mean", record["norm"]["origins"]["mean"]["origin"])
        image, video = record["items"]
        self.assertEqual(image["orientation"], 6)
        self.assertTrue(image["orientation_applied"])
        self.assertEqual(image["sha256"],
                         hashlib.sha256((IMAGES / "exif_6.jpg").read_bytes()).hexdigest())
        self.assertEqual(video["video"]["frame_count"], 7)
        for frame in video["video"]["frames"]:
            self.assertEqual(len(frame["sha256"]), 64)
        self.assertEqual(sum(item["tokens"] for item in record["items"]),
                         dump.shape("embeddings")[0])

    def test_stages_are_written_under_their_names(self):
        dump = self.encode(TINY["qwen3_vl"], IMAGES / "exif_1.jpg",
                           "--stages", "normalized,patch_embed,pos_embed,block.0.attn,block.3")
        patches = dump.shape("normalized")[0]
        self.assertEqual(dump.shape("normalized"), [patches, 1536])
        for name in ("patch_embed", "pos_embed", "block.0.attn", "block.3"):
            self.assertEqual(dump.shape(name), [patches, 64])
        everything = self.encode(TINY["qwen3_vl"], IMAGES / "exif_1.jpg", "--stages", "all")
        self.assertIn("block.2.mlp", everything.header)

    def test_dtypes(self):
        for dtype, name in (("bf16", "BF16"), ("fp16", "F16"), ("fp32", "F32"), ("auto", "F32")):
            dump = self.encode(TINY["qwen3_vl"], IMAGES / "exif_1.jpg", "--dtype", dtype)
            for tensor in ("embeddings", "deepstack.0", "deepstack.2"):
                self.assertEqual(dump.header[tensor]["dtype"], name)

    def test_first_and_second_run_are_equal_bytes(self):
        first = self.encode(TINY["qwen2_vl"], *SET).bytes("embeddings")
        self.assertEqual(first, self.encode(TINY["qwen2_vl"], *SET).bytes("embeddings"))


class Failures(TestCase):
    def test_a_bad_file_is_reported_and_the_rest_goes_on(self):
        process = self.check(
            run("encode", TINY["qwen2_vl"], SET[0], BAD / "jpeg_cut_in_scan.jpg", SET[2], "--json",
                self.folder / "no such file.png", "-o", self.out), 5)
        report = json.loads(process.stdout)
        self.assertEqual(report["items"], 2)
        self.assertEqual([failure["class"] for failure in report["failed"]],
                         ["truncated", "unreadable"])
        self.assertEqual(report["exit_code"], 5)
        self.assertIn("jpeg_cut_in_scan.jpg", process.stderr)
        dump = Safetensors(self.out)
        self.assertEqual(dump.shape("grid_thw"), [2, 3])
        self.assertEqual(len(dump.record["failed"]), 2)

    def test_every_refusal_has_its_class(self):
        expected = json.loads((BAD / "EXPECT.json").read_text())
        names = sorted(expected)
        files = [self.folder / "directory.jpg" if name == "directory.jpg" else BAD / name
                 for name in names]
        (self.folder / "directory.jpg").mkdir()
        (self.folder / "list.txt").write_text("".join(f"{path}\n" for path in files))
        process = self.check(run("encode", TINY["qwen2_vl"], f"@{self.folder / 'list.txt'}",
                                 "--json", "-o", self.out), 5)
        classes = {os.path.basename(failure["path"]): failure["class"]
                   for failure in json.loads(process.stdout)["failed"]}
        self.assertEqual(classes, {name: expected[name]["require"] for name in names})
        self.check_nothing_left("directory.jpg", "list.txt")

    def test_nothing_is_written_when_all_fail(self):
        process = self.check(run("encode", TINY["qwen2_vl"], BAD / "empty.jpg", "-o", self.out), 5)
        self.assertIn("empty.jpg", process.stderr)
        self.check_nothing_left()

    def test_an_output_that_cannot_be_written_is_said_before_the_work_is_lost(self):
        process = self.check(run("encode", TINY["qwen2_vl"], SET[0], "-o",
                                 self.folder / "absent" / "out"), 5)
        self.assertIn("absent", process.stderr)
        self.check(run("encode", TINY["qwen2_vl"], SET[0], "-o", self.folder), 5)
        self.check_nothing_left()

    def test_bad_checkpoints(self):
        process = self.check(run("encode", self.folder / "none", SET[0], "-o", self.out), 6)
        self.assertIn("none", process.stderr)
        self.check(run("encode", SET[0], SET[0], "-o", self.out), 6)

    def test_usage(self):
        tiny, picture = TINY["qwen2_vl"], SET[0]
        for arguments in (
                ["--bogus"], ["--mode", "graphs"], ["--device", "gpu"], ["--dtype", "int8"],
                ["--profile", "opencv"], ["--fps", "2", "--num-frames", "4"],
                ["--min-pixels", "1003520", "--max-pixels", "200704"], ["--max-pixels", "0"],
                ["--max-pixels", "100"], ["--min-frames", "9", "--max-frames", "4"],
                ["--stages", "block.99"], ["--threads", "-1"]):
            process = self.check(run("encode", tiny, picture, *arguments, "-o", self.out), 2)
            self.assertTrue(process.stderr.strip(), arguments)
        self.check(run("encode", tiny, "-o", self.out), 2)
        self.check(run(), 2)
        self.check(run("encoded"), 2)
        self.check_nothing_left()

    def test_a_device_that_is_not_there(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        process = self.check(run("encode", TINY["qwen2_vl"], SET[0], "--device", "cuda", "-o",
                                 self.out), 7)
        self.assertIn("cuda", process.stderr)

    def test_raw_patches_of_another_family(self):
        process = self.check(run("encode", TINY["qwen3_vl"],
                                 GOLDEN / "towers/cases/qwen2_vl/single.input.safetensors", "-o",
                                 self.out), 5)
        self.assertIn("another family", process.stderr)

    def test_float_pixels_are_refused(self):
        cases = GOLDEN / "towers/cases/qwen2_vl"
        self.check(run("encode", TINY["qwen2_vl"],
                       cases / "single.qwen2_vl-tiny-fp32.fp32.safetensors", "-o", self.out), 5)


if __name__ == "__main__":
    unittest.main()
