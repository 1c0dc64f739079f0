"""vtower inspect."""

import json
import struct
import unittest

from program import BAD, CHECKPOINTS, GOLDEN, IMAGES, VIDEOS, Safetensors, TestCase, run


class Inspect(TestCase):
    def found(self, *arguments):
        process = self.check(run("inspect", *arguments, "--json"), 0)
        (found,) = json.loads(process.stdout)["found"]
        return found

    def test_a_checkpoint(self):
        found = self.found(CHECKPOINTS / "qwen2_5_vl-compact-bf16")
        self.assertEqual(found["attention"], "0 windows, 1 frame, 2 windows")  # R69
        self.assertEqual(found["checkpoint"]["dtype"], "bf16")
        self.assertIn("image_mean", found["norm"]["origins"]["mean"]["origin"])
        text = self.check(run("inspect", CHECKPOINTS / "qwen3_vl-tiny-fp32"), 0).stdout
        for part in ("model.visual.", "deepstack", "mean [0.5, 0.5, 0.5]", "config.json"):
            self.assertIn(part, text)

    def test_media(self):
        checkpoint = CHECKPOINTS / "qwen2_vl-tiny-fp32"
        found = self.found(IMAGES / "exif_6.jpg", "--checkpoint", checkpoint)
        self.assertEqual(found["item"]["orientation"], 6)
        found = self.found(VIDEOS / "h264_edit_list.mp4", "--checkpoint", checkpoint)
        self.assertEqual(found["item"]["video"]["frame_count"], 74)
        self.assertEqual(found["item"]["video"]["header_frame_count"], 90)
        process = self.check(run("inspect", IMAGES / "exif_6.jpg"), 2)
        self.assertIn("--checkpoint", process.stderr)

    def test_our_dump(self):
        self.check(run("encode", CHECKPOINTS / "qwen2_vl-tiny-fp32", IMAGES / "exif_6.jpg", "-o",
                       self.out), 0)
        found = self.found(self.out)
        self.assertEqual(found["vtower"]["attestation"]["mode"], "eager")
        self.assertIn("embeddings", found["tensors"])

    def test_bad_files(self):
        for path in (BAD / "empty.jpg", self.folder / "absent"):
            self.check(run("inspect", path, "--checkpoint", CHECKPOINTS / "qwen2_vl-tiny-fp32"), 5)
        (self.folder / "cut.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{}")
        self.check(run("inspect", self.folder / "cut.safetensors"), 5)


class ForeignPixels(TestCase):
    """Float pixel dumps of other stacks, by lattice fit."""

    def state(self, values):
        """Of rows in which every channel walks through all bytes, as `values(byte, channel)`."""
        plane = 2 * 14 * 14
        row = [values(i % 256, c) for c in range(3) for i in range(plane)]
        data = struct.pack(f"<{len(row)}f", *row)
        header = json.dumps({"pixel_values": {"dtype": "F32", "shape": [1, 3 * plane],
                                              "data_offsets": [0, len(data)]}}).encode()
        path = self.folder / "pixels.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + data)
        process = self.check(run("inspect", path, "--json"), 0)
        (found,) = json.loads(process.stdout)["found"]
        return found["pixels"]["pixel_values"]["state"]

    def table(self, name):
        text = json.loads((GOLDEN / "media/normalise.json").read_text())["tables"][name]["values"]
        return [[float.fromhex(value) for value in channel] for channel in text]

    def test_states(self):
        clip, half = self.table("qwen2-torchvision"), self.table("qwen3-torchvision")
        self.assertIn("CLIP", self.state(lambda byte, c: clip[c][byte]))
        self.assertIn("0.5", self.state(lambda byte, c: half[c][byte]))
        self.assertIn("raw", self.state(lambda byte, c: float(byte)))
        self.assertIn("rescaled", self.state(lambda byte, c: byte / 255))
        self.assertIn("no known lattice", self.state(lambda byte, c: clip[c][byte] + 1e-3 * byte * byte))


class Synth(TestCase):
    def test_the_same_seed_gives_the_same_checkpoint(self):
        hashes = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.check(run("synth", "qwen2.5-vl-tiny", self.folder / name, "--seed", seed,
                           "--dtype", "fp32"), 0)
            process = self.check(run("inspect", self.folder / name, "--json"), 0)
            (found,) = json.loads(process.stdout)["found"]
            hashes.append(found["checkpoint"]["hash"])
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        self.check(run("encode", self.folder / "a", IMAGES / "exif_1.jpg", "-o", self.out), 0)
        self.assertGreater(Safetensors(self.out).shape("embeddings")[0], 0)

    def test_a_checkpoint_is_never_overwritten(self):
        self.check(run("synth", "qwen2-vl-tiny", self.folder / "a"), 0)
        self.check(run("synth", "qwen2-vl-tiny", self.folder / "a"), 2)
        self.check(run("synth", "qwen9-vl", self.folder / "b"), 2)


if __name__ == "__main__":
    unittest.main()
