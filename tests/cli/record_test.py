"""Every record follows configs/record.schema.json."""

import copy
import json
import os
import pathlib
import unittest

from program import BAD, CHECKPOINTS, GOLDEN, IMAGES, VIDEOS, Safetensors, TestCase, run
from schema import errors

SCHEMA = json.loads(
    (pathlib.Path(os.environ["VTOWER_CONFIGS"]) / "record.schema.json").read_text())


class Records(TestCase):
    def record(self, *arguments):
        run(*arguments, "-o", self.out)
        return Safetensors(self.out).record

    def test_encode(self):
        for checkpoint in ("qwen2_vl-tiny-bf16", "qwen2_5_vl-tiny-fp32", "qwen3_vl-tiny-fp32"):
            record = self.record("encode", CHECKPOINTS / checkpoint, IMAGES / "exif_3.jpg",
                                 BAD / "empty.jpg", VIDEOS / "vp9_no_count.webm")
            self.assertEqual(list(errors(record, SCHEMA)), [])
            self.assertEqual(len(record["failed"]), 1)

    def test_oracle_and_raw_rows(self):
        record = self.record("encode", CHECKPOINTS / "qwen2_vl-tiny-fp32", "--mode", "oracle",
                             GOLDEN / "towers/cases/qwen2_vl/batch.input.safetensors")
        self.assertEqual(list(errors(record, SCHEMA)), [])
        self.assertEqual({item["kind"] for item in record["items"]}, {"raw"})

    def test_preprocess(self):
        record = self.record("preprocess", IMAGES / "gif_still.gif", "--fps", "1", "--checkpoint",
                             CHECKPOINTS / "qwen2_vl-tiny-fp32", "--as", "video")
        self.assertEqual(list(errors(record, SCHEMA)), [])

    def test_the_schema_refuses_what_it_should(self):
        good = self.record("encode", CHECKPOINTS / "qwen2_vl-tiny-fp32", IMAGES / "exif_3.jpg")
        for spoil in (lambda r: r.pop("items"), lambda r: r["norm"].pop("mean"),
                      lambda r: r["checkpoint"].update(family="qwen9"),
                      lambda r: r["items"][0].update(sha256="x"), lambda r: r.update(extra=1)):
            bad = copy.deepcopy(good)
            spoil(bad)
            self.assertNotEqual(list(errors(bad, SCHEMA)), [])


if __name__ == "__main__":
    unittest.main()
