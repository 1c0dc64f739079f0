"""The scripts that make or convert dumps of other programs."""

import array
import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

from program import CHECKPOINTS, IMAGES, Safetensors, TestCase

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# A vLLM that writes what its encoder-cache connector would: one row that counts the pictures seen.
FAKE_VLLM = '''
import hashlib, json, pathlib, struct
__version__ = "stand-in"
class SamplingParams:
    def __init__(self, **settings):
        pass
class LLM:
    def __init__(self, **settings):
        pathlib.Path(__file__).with_name("settings.json").write_text(json.dumps(settings))
        extra = settings["ec_transfer_config"]["ec_connector_extra_config"]
        self.storage = pathlib.Path(extra["shared_storage_path"])
    def generate(self, prompt, sampling, use_tqdm):
        name = hashlib.sha256(prompt["multi_modal_data"]["image"].content).hexdigest()
        folder = self.storage / name
        folder.mkdir(exist_ok=True)
        header = json.dumps({"ec_cache": {"dtype": "F32", "shape": [1, 1],
                                          "data_offsets": [0, 4]}}).encode()
        (folder / "encoder_cache.safetensors").write_bytes(
            struct.pack("<Q", len(header)) + header + struct.pack("<f", 1))
'''
FAKE_PIL = '''
class Image:
    @staticmethod
    def open(path):
        return Image(open(path, "rb").read())
    def __init__(self, content):
        self.content = content
    def load(self):
        pass
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
'''


def python_with(*modules):
    """This Python if it has them; VTOWER_HF_PYTHON names another."""
    named = os.environ.get("VTOWER_HF_PYTHON")
    if named:
        return named
    return sys.executable if all(importlib.util.find_spec(name) for name in modules) else None


class Scripts(TestCase):
    def script(self, name, *arguments, python=sys.executable, path=None):
        environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
        return subprocess.run([python, SCRIPTS / name, *map(str, arguments)], env=environment,
                              capture_output=True, text=True, timeout=600, check=False)

    def refused(self, process, *parts):
        """Ended by a message of its own, no traceback."""
        self.check(process, 1)
        self.assertNotIn("Traceback", process.stderr)
        for part in parts:
            self.assertIn(part, process.stderr)


class Help(Scripts):
    def test_every_script_explains_itself_without_its_libraries(self):
        for name in ("dump_hf.py", "dump_vllm.py", "convert_pt.py", "convert_mtmd.py"):
            process = self.check(self.script(name, "--help"), 0)
            self.assertIn("vtower diff", process.stdout)
            self.check(self.script(name), 2)


class Mtmd(Scripts):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def binary(self, name, tokens, width, values):
        header = struct.pack("<ii", tokens, width)
        return self.write(name, header + array.array("f", values).tobytes())

    def convert(self, *inputs):
        return self.script("convert_mtmd.py", *inputs, "-o", self.out)

    def test_binary_dumps_become_items(self):
        a = self.binary("a.bin", 2, 3, [1, 2, 3, 4, 5, 6])
        b = self.binary("b.bin", 1, 3, [7, 8, float("nan")])
        self.check(self.convert(a, b), 0)
        made = Safetensors(self.out)
        self.assertEqual(made.shape("embeddings"), [3, 3])
        self.assertEqual(list(made.values("embeddings"))[:8], [1, 2, 3, 4, 5, 6, 7, 8])
        self.assertEqual(list(made.values("cu_tokens")), [0, 2, 3])
        self.assertEqual(made.metadata["stage"], "embeddings")
        self.check_nothing_left("a.bin", "b.bin", self.out.name)

    def test_text_has_a_token_a_line(self):
        text = self.write("a.txt", "# picture a\n[ 1.5, -2e-3, nan ]\n\n4 5 6\n")
        self.check(self.convert(text), 0)
        values = list(Safetensors(self.out).rows("embeddings")[0])
        self.assertEqual(values[0], 1.5)
        self.assertAlmostEqual(values[1], -2e-3)
        self.assertNotEqual(values[2], values[2])
        self.assertEqual(Safetensors(self.out).shape("embeddings"), [2, 3])

    def test_what_is_no_dump_is_refused(self):
        log = "\n=== MTMD_DEBUG_EMBEDDINGS ===\nShape: [3, 2]\nToken 0 (first 16 values): 1 2 3 \n"
        whole = struct.pack("<ii", 2, 3) + bytes(24)
        for content, part in (
                (log, "first token"), (whole[:-4], "2 tokens of 3 values, 20 bytes follow"),
                (whole + bytes(4), "28 bytes follow"), (b"\0", "0 tokens"), ("", "no values"),
                ("# nothing\n", "no values"), ("1 2\n3\n", "line 2: 1 values"),
                ("1 2 ... 3\n", "line 1"), ("1 1e39\n", "beyond float32"),
                (b"\xff\xfe1 2", "neither a text")):
            with self.subTest(content=content):
                self.refused(self.convert(self.write("bad", content)), "bad", part)
                self.assertFalse(self.out.exists())
        self.refused(self.convert(self.folder / "absent"), "absent", "No such file")

    def test_pictures_of_different_models(self):
        a = self.binary("a.bin", 1, 3, [1, 2, 3])
        b = self.binary("b.bin", 1, 2, [1, 2])
        self.refused(self.convert(a, b), "tokens of 2 values, those before have 3")
        self.refused(self.script("convert_mtmd.py", a, "-o", self.folder / "no" / "x"), "no/x")


class Vllm(Scripts):
    """The steps of the script around vLLM, with a stand-in for it."""

    def setUp(self):
        super().setUp()
        self.fake = self.folder / "fake"
        for package, text in (("vllm", FAKE_VLLM), ("PIL", FAKE_PIL)):
            (self.fake / package).mkdir(parents=True)
            (self.fake / package / "__init__.py").write_text(text)
        self.storage = self.folder / "ec"

    def dump(self, *pictures, options=()):
        return self.script("dump_vllm.py", "connector", "--checkpoint", "c", "--inputs", *pictures,
                           "-o", self.storage, *options, path=self.fake)

    def settings(self):
        return json.loads((self.fake / "vllm" / "settings.json").read_text())

    def test_the_folder_says_which_entry_is_which_picture(self):
        a, b = IMAGES / "png_rgb8.png", IMAGES / "exif_1.jpg"
        process = self.check(self.dump(a, b, a), 0)
        self.assertIn("no new entry", process.stderr)
        origins = json.loads((self.storage / "pixels.json").read_text())
        self.assertEqual(sorted(origins.values()), sorted([str(a.resolve()), str(b.resolve())]))
        for name in origins:
            made = Safetensors(self.storage / name / "encoder_cache.safetensors")
            self.assertEqual(made.shape("ec_cache"), [1, 1])
        self.assertTrue(self.settings()["enforce_eager"])
        self.assertNotIn("compilation_config", self.settings())

    def test_encoder_graphs_are_asked_for(self):
        self.check(self.dump(IMAGES / "png_rgb8.png", options=[
            "--encoder-graphs", "--engine", '{"max_num_seqs": 2}']), 0)
        self.assertEqual(self.settings()["compilation_config"], {"cudagraph_mm_encoder": True})
        self.assertFalse(self.settings()["enforce_eager"])
        self.assertEqual(self.settings()["max_num_seqs"], 2)

    def test_a_folder_in_use_and_a_missing_picture(self):
        self.refused(self.dump(self.folder / "absent.png"), "no such file")
        self.storage.mkdir()
        (self.storage / "x").write_text("")
        self.refused(self.dump(IMAGES / "png_rgb8.png"), "is not empty")


class WithTorch(Scripts):
    """Where a Python with torch is there; VTOWER_HF_PYTHON names one."""

    def setUp(self):
        super().setUp()
        self.python = python_with("torch", "safetensors", "transformers", "torchvision", "PIL")
        if not self.python:
            self.skipTest("no torch, safetensors and transformers in this Python "
                          "(VTOWER_HF_PYTHON names another): dump_hf.py and convert_pt.py were "
                          "not tried")

    def save(self, name, expression):
        path = self.folder / name
        code = f"import torch; torch.save({expression}, {str(path)!r})"
        self.check(subprocess.run([self.python, "-c", code], capture_output=True, text=True,
                                  check=False), 0)
        return path

    def convert(self, path, *options):
        return self.script("convert_pt.py", path, self.out, *options, python=self.python)

    def test_tensors_lists_and_dictionaries(self):
        self.check(self.convert(self.save("a.pt", "torch.ones(2, 3)")), 0)
        self.assertEqual(Safetensors(self.out).shape("embeddings"), [2, 3])
        self.check(self.convert(self.save("b.pt", "[torch.ones(2, 3), torch.ones(1, 3)]")), 0)
        self.assertEqual(Safetensors(self.out).shape("embeddings.1"), [1, 3])
        output = ("{'pooler_output': (torch.ones(4, 3),), 'n': 7, 'odd': None, "
                  "'deepstack_features': [torch.arange(12.).view(3, 4).t()], "
                  "'image_grid_thw': torch.tensor([[1, 4, 4]])}")
        process = self.check(self.convert(self.save("c.pt", output)), 0)
        self.assertIn("odd (NoneType)", process.stderr)
        made = Safetensors(self.out)
        self.assertEqual(sorted(made.header), ["deepstack.0", "grid_thw", "pooler_output.0"])
        self.assertEqual(list(made.values("deepstack.0")), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11])
        self.assertEqual(made.metadata["n"], "7")

    def test_files_that_are_refused(self):
        self.refused(self.convert(self.save("a.pt", "torch.nn.Linear(2, 2)")), "needs the class")
        self.refused(self.convert(self.save("b.pt", "torch.ones(2, dtype=torch.complex64)")),
                     "complex")
        self.refused(self.convert(self.save("c.pt", "{}")), "holds no tensor")
        whole = self.save("d.pt", "torch.ones(2, 3)").read_bytes()
        for size in (0, 10, len(whole) // 2):
            (self.folder / "cut.pt").write_bytes(whole[:size])
            self.refused(self.convert(self.folder / "cut.pt"), "cut.pt")
        self.refused(self.convert(self.folder / "absent.pt"), "No such file")

    def test_hugging_face_embeddings_are_those_of_vtower(self):
        from program import run
        for family in ("qwen2_5_vl", "qwen3_vl"):
            checkpoint = CHECKPOINTS / f"{family}-tiny-fp32"
            pictures = [IMAGES / "png_rgb8.png", IMAGES / "exif_1.jpg"]
            theirs = self.folder / "theirs.safetensors"
            self.check(self.script("dump_hf.py", "--checkpoint", checkpoint, "--inputs", *pictures,
                                   "-o", theirs, "--pixels", python=self.python), 0)
            self.check(run("encode", checkpoint, *pictures, "--profile", "hf", "-o", self.out), 0)
            a, b = Safetensors(theirs), Safetensors(self.out)
            self.assertEqual(a.bytes("grid_thw"), b.bytes("grid_thw"))
            names = [name for name in b.header if re.match(r"embeddings|deepstack", name)]
            self.assertEqual(len(names), 4 if family == "qwen3_vl" else 1)
            for name in names:
                far = max(abs(x - y) for x, y in zip(a.values(name), b.values(name), strict=True))
                self.assertLess(far, 1e-4, name)
            self.assertEqual([item["path"] for item in json.loads(a.metadata["vtower_items"])],
                             [str(path) for path in pictures])
            self.assertEqual(a.shape("pixel_values")[0], 4 * a.shape("embeddings")[0])

    def test_a_tower_without_all_of_its_weights(self):
        copy = self.folder / "checkpoint"
        copy.mkdir()
        source = CHECKPOINTS / "qwen2_5_vl-tiny-fp32"
        for file in source.iterdir():
            if not file.name.startswith("model"):
                (copy / file.name).write_bytes(file.read_bytes())
        code = ("import json, sys; from safetensors.torch import load_file, save_file; "
                "from pathlib import Path; all = {}; "
                "[all.update(load_file(f)) for f in Path(sys.argv[1]).glob('*.safetensors')]; "
                "[all.pop(k) for k in list(all) if 'blocks.2.attn.proj' in k]; "
                "save_file(all, sys.argv[2], metadata={'format': 'pt'})")
        self.check(subprocess.run([self.python, "-c", code, source, copy / "model.safetensors"],
                                  capture_output=True, text=True, check=False), 0)
        self.refused(self.script("dump_hf.py", "--checkpoint", copy, "--inputs",
                                 IMAGES / "png_rgb8.png", "-o", self.out, python=self.python),
                     "lacks 2 weights of the vision tower")


if __name__ == "__main__":
    unittest.main()
