"""--mode: what was asked for runs, or nothing does."""

import json
import os
import unittest

from program import CHECKPOINTS, IMAGES, VIDEOS, Safetensors, TestCase, relative_error, run

TINY = {family: CHECKPOINTS / f"{family}-tiny-fp32"
        for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")}
SET = [IMAGES / "photo_chelsea.png", VIDEOS / "h264_rotate_90.mp4", IMAGES / "jpeg_cmyk.jpg",
       IMAGES / "size_1x1.png", IMAGES / "photo_china.jpg"]


class Modes(TestCase):
    def encode(self, *arguments):
        self.check(run("encode", *arguments, "-o", self.out), 0)
        return Safetensors(self.out)

    def test_graph_plan_agrees_with_eager(self):
        for family, checkpoint in TINY.items():
            eager = self.encode(checkpoint, *SET)
            padded = self.encode(checkpoint, *SET, "--mode", "graph-plan", "--poison")
            for name in ("grid_thw", "cu_tokens"):
                self.assertEqual(padded.bytes(name), eager.bytes(name))
            self.assertLessEqual(
                relative_error(padded.values("embeddings"), eager.values("embeddings")), 4e-6,
                family)
            attestation = padded.record["attestation"]
            self.assertEqual(attestation["mode"], "graph-plan")
            self.assertFalse(attestation["captured"])
            self.assertTrue(attestation["poison"])
            self.assertGreaterEqual(attestation["padding"]["padded_rows"],
                                    attestation["padding"]["item_rows"])

    def test_media_options_reach_every_mode(self):
        options = (["--profile", "hf"], ["--profile", "hf-pil"], ["--min-pixels", "80000"],
                   ["--max-pixels", "100352"], ["--fps", "1"], ["--num-frames", "6"],
                   ["--min-frames", "6"], ["--fps", "30", "--max-frames", "4"],
                   ["--as", "video"], ["--sample-by", "time"], ["--on-corrupt", "nearest"],
                   ["--max-image-pixels", "10000000"], ["--max-video-frames", "100"])
        media = [IMAGES / "gif_animated.gif", VIDEOS / "h264_vfr.mp4"]
        for option in options:
            inputs = media[1:] if option == ["--profile", "hf"] else media
            eager = self.encode(TINY["qwen3_vl"], *inputs, *option)
            for mode in ("graph-plan", "oracle"):
                other = self.encode(TINY["qwen3_vl"], *inputs, *option, "--mode", mode)
                self.assertEqual(other.bytes("grid_thw"), eager.bytes("grid_thw"), (mode, option))
                self.assertLessEqual(
                    relative_error(other.values("embeddings"), eager.values("embeddings")), 4e-6,
                    (mode, option))
                self.assertEqual(other.record["profile"], eager.record["profile"])

    def test_graph_without_a_gpu_is_no_graph_plan(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        for arguments in (["--mode", "graph"], ["--mode", "graph", "--device", "cpu"],
                          ["--mode", "graph", "--device", "cuda:1"]):
            process = self.check(run("encode", TINY["qwen2_vl"], SET[0], *arguments, "-o",
                                     self.out), 7)
            self.assertTrue(process.stderr.strip())
        self.check_nothing_left()

    def test_too_small_a_budget(self):
        process = self.check(run("encode", TINY["qwen2_vl"], SET[3], SET[4], "--mode",
                                 "graph-plan", "--budgets", "64,128", "--json", "-o", self.out), 5)
        (failure,) = json.loads(process.stdout)["failed"]
        self.assertEqual(failure["class"], "too_large")
        self.assertIn("--oversize", failure["message"])
        self.assertEqual(Safetensors(self.out).shape("grid_thw"), [1, 3])
        dump = self.encode(TINY["qwen2_vl"], SET[3], SET[4], "--mode", "graph-plan", "--budgets",
                           "64,128", "--oversize", "eager")
        self.assertEqual(dump.record["attestation"]["oversize_eager"], 1)
        self.check(run("encode", TINY["qwen2_vl"], SET[3], "--mode", "graph-plan", "--budgets",
                       "63", "-o", self.out), 2)


if __name__ == "__main__":
    unittest.main()
