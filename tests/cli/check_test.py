"""vtower check and selftest: modes against the oracle, goldens, failures, exit codes."""

import json
import os
import pathlib
import shutil
import unittest

from program import BAD, CHECKPOINTS, IMAGES, VIDEOS, Safetensors, TestCase, run
from schema import errors

SCHEMA = json.loads((pathlib.Path(os.environ["VTOWER_CONFIGS"]) / "report.schema.json").read_text())
TINY = {family: CHECKPOINTS / f"{family}-tiny-fp32"
        for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")}
EIGHT = [IMAGES / name for name in
         ("photo_astronaut.jpg", "photo_chelsea.png", "exif_6.jpg", "photo_hubble.webp",
          "photo_china.jpg", "png_rgba8.png", "gif_still.gif", "photo_rocket.jpg")]
SMALL = ["--max-pixels", "50176", "--min-pixels", "3136"]
HAS_GPU = os.path.exists("/dev/nvidiactl")


class Check(TestCase):
    def report(self, *arguments, code):
        process = self.check(run("check", *arguments, "--json"), code)
        report = json.loads(process.stdout)
        self.assertEqual(list(errors(report, SCHEMA)), [])
        self.assertEqual(report["exit_code"], code)
        return report

    def test_modes_agree(self):
        for family, checkpoint in TINY.items():
            inputs = [*EIGHT[:3], VIDEOS / "h264_rotate_90.mp4"]
            report = self.report(checkpoint, *inputs, "--max-pixels", "200704", "--num-frames", "4",
                                 "--modes", "eager,graph-plan,dp", code=0)
            names = [pair["a"] for pair in report["pairs"]]
            self.assertEqual(names, ["eager", "eager, each item alone", "graph-plan, first pass",
                                     "graph-plan, later pass", "dp, 2 ranks"], family)
            for pair in report["pairs"]:
                self.assertEqual(pair["verdict"], "agree")
                self.assertLessEqual(pair["smallest_k"], 3)
            self.assertEqual(set(report["ledger"]), set(names))
            self.assertEqual(report["attestation"]["dp, 2 ranks"]["world_size"], 2)

    def test_devices_and_types_of_one_mode(self):
        report = self.report(TINY["qwen2_vl"], EIGHT[0], *SMALL, "--modes",
                             "eager,eager:bf16,graph-plan@cpu:fp16", code=0)
        self.assertEqual(len(report["pairs"]), 6)
        limits = {pair["a"]: pair["items"][0]["limit"] for pair in report["pairs"]}
        self.assertLess(limits["eager"], 1e-4)
        self.assertGreater(limits["eager:bf16"], 1e-3)

    def test_exact(self):
        self.report(TINY["qwen3_vl"], EIGHT[0], *SMALL, "--modes", "eager", "--exact", code=0)
        # other products: the packed bytes need not be those of the item alone
        report = self.report(TINY["qwen2_5_vl"], *EIGHT[:3], "--max-pixels", "50000", "--exact",
                             code=1)
        self.assertIsNone(report["cause"])

    def test_against_a_golden(self):
        checkpoint = TINY["qwen2_5_vl"]
        self.check(run("encode", checkpoint, *EIGHT[:2], *SMALL, "-o", self.out), 0)
        self.report(checkpoint, *EIGHT[:2], *SMALL, "--against", self.out, code=0)
        other = self.folder / "other.safetensors"
        self.check(run("encode", TINY["qwen2_vl"], *EIGHT[:2], *SMALL, "-o", other), 0)
        self.check(run("check", checkpoint, *EIGHT[:2], *SMALL, "--against", other), 4)
        foreign = self.folder / "foreign.safetensors"
        shutil.copy(CHECKPOINTS.parent.parent / "twins/qwen2_vl/video.eps_other.safetensors",
                    foreign)
        self.check(run("check", checkpoint, *EIGHT[:2], *SMALL, "--against", foreign), 4)

    def test_a_spoiled_golden_differs(self):
        checkpoint = TINY["qwen2_5_vl"]
        self.check(run("encode", checkpoint, *EIGHT[:2], *SMALL, "-o", self.out), 0)
        data = bytearray(self.out.read_bytes())
        file = Safetensors(self.out)
        begin, end = file.header["embeddings"]["data_offsets"]
        base = len(data) - len(file.data)
        half = (end - begin) // 2
        data[base + begin:base + begin + half], data[base + begin + half:base + begin + 2 * half] = \
            data[base + begin + half:base + begin + 2 * half], data[base + begin:base + begin + half]
        self.out.write_bytes(bytes(data))
        report = self.report(checkpoint, *EIGHT[:2], *SMALL, "--against", self.out, code=1)
        self.assertEqual([pair["verdict"] for pair in report["pairs"]][-1], "differ")
        self.assertIn("golden", report["worst"]["pair"])

    def test_a_golden_of_other_pixels_is_named(self):
        checkpoint = TINY["qwen2_vl"]
        turned = IMAGES / "exif_3.jpg"
        self.check(run("encode", checkpoint, turned, *SMALL, "-o", self.out), 0)
        # the same dump, claimed to be what the default profile gives
        other = self.folder / "hf.safetensors"
        self.check(run("encode", checkpoint, turned, *SMALL, "--profile", "hf", "-o", other), 0)
        text = other.read_bytes()
        claimed = text.replace(b'\\"profile\\":{\\"name\\":\\"hf\\"',
                               b'\\"profile\\":{\\"name\\":\\"vllm\\"')
        self.assertNotEqual(text, claimed)
        grown = len(claimed) - len(text)
        length = int.from_bytes(claimed[:8], "little") + grown
        other.write_bytes(length.to_bytes(8, "little") + claimed[8:])
        report = self.report(checkpoint, turned, *SMALL, "--against", other, code=3)
        self.assertEqual(report["cause"]["id"], "exif_ignored")

    def test_failures(self):
        bad = next(BAD.glob("*.jpg"))
        self.assertTrue(self.report(TINY["qwen2_vl"], EIGHT[0], bad, *SMALL, code=5)["failed"])
        self.report(TINY["qwen2_vl"], bad, *SMALL, code=5)
        self.check(run("check", TINY["qwen2_vl"], self.folder / "none.png"), 5)
        self.check(run("check", self.folder, EIGHT[0]), 6)
        for modes in ("eager,eager", "oracle", "fast", "eager@tpu", ""):
            self.check(run("check", TINY["qwen2_vl"], EIGHT[0], "--modes", modes), 2)
        self.check(run("check", TINY["qwen2_vl"], EIGHT[0], "--k", "4"), 2)
        self.check(run("check", TINY["qwen2_vl"], EIGHT[0], "--ranks", "0"), 2)

    @unittest.skipIf(HAS_GPU, "this machine has a GPU")
    def test_a_mode_that_did_not_run_is_exit_7(self):
        report = self.report(TINY["qwen2_vl"], EIGHT[0], *SMALL, "--modes", "eager,graph", code=7)
        self.assertEqual(len(report["not_run"]), 1)
        self.assertEqual(report["verdict"], "agree")  # of what did run
        self.report(TINY["qwen2_vl"], EIGHT[0], *SMALL, "--modes", "graph", code=7)

    def test_kept_runs_are_dumps(self):
        keep = self.folder / "runs"
        self.check(run("check", TINY["qwen2_vl"], EIGHT[0], *SMALL, "--keep", keep), 0)
        dumps = sorted(keep.iterdir())
        self.assertEqual(len(dumps), 4)
        self.check(run("diff", dumps[0], dumps[1]), 0)

    def test_lists_from_standard_input(self):
        names = "\n".join(str(path) for path in EIGHT[:2])
        self.check(run("check", TINY["qwen2_vl"], "-", *SMALL, "--modes", "eager,dp", stdin=names), 0)


class Selftest(TestCase):
    def test_every_fault_is_caught_and_named(self):
        process = self.check(run("selftest", TINY["qwen2_5_vl"], IMAGES / "exif_6.jpg",
                                 IMAGES / "png_rgba8.png", EIGHT[0], "--max-pixels", "40000",
                                 "--json"), 0)
        report = json.loads(process.stdout)
        self.assertTrue(report["sound_passes"])
        self.assertEqual(report["missed"], 0)
        self.assertEqual(report["named_wrongly"], 0)
        self.assertGreaterEqual(report["named"], 0.95 * report["caught"])
        caught = {row["id"] for row in report["faults"] if row["caught"]}
        for needed in ("norm_skipped", "norm_doubled", "exif_ignored", "alpha_dropped",
                       "resize_kernel_other", "window_all_full", "bias_dropped"):
            self.assertIn(needed, caught)
        for row in report["faults"]:
            if row["caught"]:
                self.assertLessEqual(row["smallest_caught"], 1)

    def test_a_loose_policy_misses_faults(self):
        policy = self.folder / "loose.json"
        policy.write_text(json.dumps({"k": 20000, "reason": "to see it fail",
                                      "date": "2026-11-30"}))
        process = self.check(run("selftest", TINY["qwen2_vl"], EIGHT[0], "--max-pixels", "20000",
                                 "--policy", policy, "--json"), 1)
        self.assertGreater(json.loads(process.stdout)["missed"], 0)

    def test_wrong_use(self):
        self.check(run("selftest", TINY["qwen2_vl"], next(BAD.glob("*.jpg"))), 5)
        self.check(run("selftest", TINY["qwen2_vl"]), 2)
        self.check(run("selftest", self.folder, EIGHT[0]), 6)


if __name__ == "__main__":
    unittest.main()
