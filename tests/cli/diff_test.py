"""vtower diff and vtower-diff: real dumps, wrong pairs, broken files, and every exit code."""

import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import unittest
import xml.etree.ElementTree

from program import CHECKPOINTS, GOLDEN, IMAGES, PROGRAM, Safetensors, TestCase, run
from schema import errors

DUMPS = GOLDEN / "vllm_dumps"
GPU_DUMPS = GOLDEN / "vllm_gpu"
CASES = GOLDEN / "towers/cases"
SCHEMA = json.loads((pathlib.Path(os.environ["VTOWER_CONFIGS"]) / "report.schema.json").read_text())
INDEX = json.loads((DUMPS / "index.json").read_text())
FAULTY = ("qwen2_vl", "qwen2_5_vl")  # families that 0.28.0 and 0.29.0 fed with raw bytes


def vtower_diff(*arguments, **options):
    return subprocess.run([pathlib.Path(PROGRAM).with_name("vtower-diff"), *map(str, arguments)],
                          capture_output=True, text=True, check=False, timeout=300, **options)


def write_safetensors(path, tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes)."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def floats(*rows):
    values = [value for row in rows for value in row]
    return ("F32", [len(rows), len(rows[0])], struct.pack(f"<{len(values)}f", *values))


class Diff(TestCase):
    def diff(self, a, b, *arguments, code):
        """The report of `vtower diff A B --json`, which the schema must hold."""
        process = self.check(run("diff", a, b, "--json", *arguments), code)
        report = json.loads(process.stdout)
        self.assertEqual(list(errors(report, SCHEMA)), [])
        self.assertEqual(report["exit_code"], code)
        return report

    def judged(self, folder, family, case, dtype, a, b, *, code):
        return self.diff(folder / family / a, folder / family / b, "--checkpoint",
                         CHECKPOINTS / f"{family}-tiny-{dtype}", "--pixels",
                         CASES / family / f"{case}.input.safetensors", code=code)

    def test_releases_with_the_fault_are_caught_and_named(self):
        for family in FAULTY:
            for dtype in ("fp32", "bf16"):
                for entry in ("graph", "eager"):
                    stem = f"batch.vllm-0.29.0.{dtype}"
                    report = self.judged(DUMPS, family, "batch", dtype,
                                         f"{stem}.embed.safetensors",
                                         f"{stem}.{entry}.safetensors", code=3)
                    self.assertEqual(report["verdict"], "differ")
                    self.assertEqual(report["cause"]["id"], "norm_skipped")
                    self.assertIn(f"{entry}.safetensors", report["cause"]["side"])
                    self.assertLessEqual(report["cause"]["residual"], report["cause"]["limit"])
                    self.assertGreater(report["worst"]["value"], 1)
                    self.assertEqual(len(report["worst"]["box_px"]), 4)

    def test_real_graphs_of_a_gpu(self):
        for family in FAULTY:
            for entry in ("graph", "graphpad"):
                report = self.judged(GPU_DUMPS, family, "single", "bf16",
                                     "single.vllm-0.29.0.bf16.embed.h200.safetensors",
                                     f"single.vllm-0.29.0.bf16.{entry}.h200.safetensors", code=3)
                self.assertEqual(report["cause"]["id"], "norm_skipped")
        for family in (*FAULTY, "qwen3_vl"):
            for entry in ("eager", "graph", "graphpad"):
                self.judged(GPU_DUMPS, family, "batch", "bf16",
                            "batch.vllm-0.33.0.bf16.embed.h200.safetensors",
                            f"batch.vllm-0.33.0.bf16.{entry}.h200.safetensors", code=0)

    def test_the_mended_release_agrees_in_every_entry(self):
        for family in (*FAULTY, "qwen3_vl"):
            for dtype in ("fp32", "bf16"):
                for entry in ("eager", "graph", "dp2", "tp2"):
                    stem = f"batch.vllm-0.33.0.{dtype}"
                    report = self.judged(DUMPS, family, "batch", dtype,
                                         f"{stem}.embed.safetensors",
                                         f"{stem}.{entry}.safetensors", code=0)
                    self.assertEqual(report["verdict"], "agree")

    def test_the_mended_release_agrees_with_our_own_run(self):
        for family in (*FAULTY, "qwen3_vl"):
            checkpoint = CHECKPOINTS / f"{family}-tiny-bf16"
            pixels = CASES / family / "single.input.safetensors"
            self.check(run("encode", checkpoint, pixels, "-o", self.out), 0)
            report = self.diff(self.out,
                               DUMPS / family / "single.vllm-0.33.0.bf16.graph.safetensors",
                               "--checkpoint", checkpoint, "--pixels", pixels, code=0)
            self.assertEqual(len(report["pairs"]), 2)

    def test_connector_folders(self):
        embed = DUMPS / "ec/vllm-0.29.0.fp32.embed"
        graph = DUMPS / "ec/vllm-0.29.0.fp32.graph"
        pixels = {}
        for key, place in INDEX["ec"][embed.name].items():
            family, case, item = re.fullmatch(r"(\w+)/(\w+)\[(\d+)\]", place).groups()
            if family == "qwen2_vl":
                pixels[key] = f"{CASES / family / case}.input.safetensors#{item}"
        (self.folder / "pixels.json").write_text(json.dumps(pixels))
        report = self.diff(embed, graph, "--checkpoint", CHECKPOINTS / "qwen2_vl-tiny-fp32",
                           "--pixels", self.folder / "pixels.json", code=3)
        self.assertEqual(report["cause"]["id"], "norm_skipped")
        # what one folder does not have is told as well
        skipped = [item["item"] for pair in report["pairs"] for item in pair["skipped"]]
        self.assertEqual(len(skipped), 6)
        # without tower and pixels: no cause, but the worst token and its numbers
        report = self.diff(embed, graph, code=1)
        self.assertIsNone(report["cause"])
        self.assertGreater(report["worst"]["value"], 1)
        process = self.check(vtower_diff("diff", embed, graph), 1)
        self.assertIn("cause unknown", process.stdout)

    def test_a_run_of_ones_own_as_cause(self):
        family, stem = "qwen2_5_vl", "batch.vllm-0.29.0.fp32"
        noise = self.folder / "mine.safetensors"
        graph = DUMPS / family / f"{stem}.graph.safetensors"
        # the faulty tokens times three: no fault of the catalogue
        file = Safetensors(graph)
        rows = [[3 * x for x in row] for row in file.rows("embeddings")]
        grid = (file.header["grid_thw"]["dtype"], file.shape("grid_thw"), file.bytes("grid_thw"))
        faulty = self.folder / "faulty.safetensors"
        for path in (faulty, noise):
            write_safetensors(path, {"embeddings": floats(*rows), "grid_thw": grid})
        sound = DUMPS / family / f"{stem}.embed.safetensors"
        arguments = [sound, faulty, "--checkpoint", CHECKPOINTS / f"{family}-tiny-fp32",
                     "--pixels", CASES / family / "batch.input.safetensors"]
        self.diff(*arguments, code=1)
        report = self.diff(*arguments, "--hypothesis", f"tripled={noise}", code=3)
        self.assertEqual(report["cause"]["id"], "tripled")
        self.check(run("diff", *arguments, "--hypothesis", "tripled"), 2)

    def test_the_first_wrong_stage_where_no_fault_fits(self):
        family = "qwen3_vl"
        checkpoint = CHECKPOINTS / f"{family}-tiny-fp32"
        pixels = CASES / family / "single.input.safetensors"
        self.check(run("encode", checkpoint, pixels, "--stages", "all", "-o", self.out), 0)
        file = Safetensors(self.out)
        data = bytearray(self.out.read_bytes())
        base = len(data) - len(file.data)

        def spoil(name):  # the bytes of two halves exchanged: no fault of the catalogue
            begin, end = (base + offset for offset in file.header[name]["data_offsets"])
            half = (end - begin) // 2
            data[begin:begin + half], data[begin + half:begin + 2 * half] = \
                data[begin + half:begin + 2 * half], data[begin:begin + half]

        for name in file.header:
            if name.startswith(("block.2", "block.3", "deepstack.2", "merger", "embeddings")):
                spoil(name)
        spoiled = self.folder / "spoiled.safetensors"
        spoiled.write_bytes(bytes(data))
        report = self.diff(self.out, spoiled, "--checkpoint", checkpoint, "--pixels", pixels, code=1)
        self.assertEqual(report["first_wrong_stage"], "block.2")

    def test_order_of_arguments_does_not_matter(self):
        a = DUMPS / "qwen2_vl/batch.vllm-0.29.0.fp32.embed.safetensors"
        b = DUMPS / "qwen2_vl/batch.vllm-0.29.0.fp32.graph.safetensors"
        one, other = self.diff(a, b, code=1), self.diff(b, a, code=1)
        self.assertEqual(one["worst"]["value"], other["worst"]["value"])
        self.assertEqual(one["worst"]["token"], other["worst"]["token"])

    def test_reports_in_files(self):
        a = DUMPS / "qwen2_vl/batch.vllm-0.29.0.fp32.embed.safetensors"
        b = DUMPS / "qwen2_vl/batch.vllm-0.29.0.fp32.graph.safetensors"
        junit = self.folder / "report.xml"
        self.check(run("diff", a, b, "--junit", junit), 1)
        suites = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual(len(suites.findall(".//failure")), 3)

    def test_vacuous_and_not_comparable(self):
        a = DUMPS / "qwen2_vl/batch.vllm-0.33.0.fp32.embed.safetensors"
        copy = self.folder / "copy.safetensors"
        link = self.folder / "link.safetensors"
        shutil.copy(a, copy)
        link.hardlink_to(copy)
        self.diff(a, a, code=9)
        self.diff(copy, link, code=9)  # the same inode
        self.diff(a, copy, code=0)     # the same bytes in two files: the best pass
        self.diff(a, DUMPS / "qwen3_vl/batch.vllm-0.33.0.fp32.embed.safetensors", code=4)
        self.diff(a, DUMPS / "qwen2_vl/single.vllm-0.33.0.fp32.embed.safetensors", code=4)

    def test_nan_never_passes(self):
        a, b = self.folder / "a.safetensors", self.folder / "b.safetensors"
        nan = float("nan")
        for rows in ([[nan, nan]] * 3, [[1.0, 2.0], [nan, 1.0], [3.0, 4.0]]):
            write_safetensors(a, {"embeddings": floats(*rows)})
            write_safetensors(b, {"embeddings": floats(*rows)}, {"other": "header"})
            self.diff(a, b, code=1)

    def test_algebra_without_a_checkpoint(self):
        rows = [[float((i * 7 + j * 3) % 11 + 1) for j in range(8)] for i in range(20)]
        a, b = self.folder / "a.safetensors", self.folder / "b.safetensors"
        write_safetensors(a, {"embeddings": floats(*rows)})
        write_safetensors(b, {"embeddings": floats(*[[1.86 * x for x in row] for row in rows])})
        report = self.diff(a, b, code=1)
        self.assertTrue(any("1.86" in found for found in report["algebra"]), report["algebra"])

    def test_usage_and_broken_files(self):
        a = DUMPS / "qwen2_vl/batch.vllm-0.33.0.fp32.embed.safetensors"
        checkpoint = CHECKPOINTS / "qwen2_vl-tiny-fp32"
        pixels = CASES / "qwen2_vl/batch.input.safetensors"
        other = DUMPS / "qwen2_vl/batch.vllm-0.33.0.fp32.graph.safetensors"
        for arguments, code in (((a,), 2), ((a, other, "--pixels", pixels), 2),
                                ((a, other, "--checkpoint", checkpoint), 2),
                                ((a, self.folder / "nothing.npy"), 5),
                                ((a, IMAGES / "photo_china.jpg"), 5),
                                ((a, self.folder), 5),
                                ((a, other, "--checkpoint", self.folder, "--pixels", pixels), 6),
                                ((a, other, "--k", "5"), 2),
                                ((a, other, "--policy", self.folder / "none.json"), 5),
                                ((a, other, "--checkpoint", checkpoint, "--pixels", pixels,
                                  "--device", "cuda:9"), 7)):
            process = self.check(run("diff", *arguments), code)
            self.assertTrue(process.stderr.strip(), arguments)
        cut = self.folder / "cut.safetensors"
        cut.write_bytes(a.read_bytes()[:-100])
        self.check(run("diff", a, cut), 5)
        self.check(run("diff", a, other, "--checkpoint", checkpoint, "--pixels",
                       CASES / "qwen2_vl/single.input.safetensors"), 4)

    def test_out_of_memory_is_exit_8(self):
        big = self.folder / "big.npy"
        with open(big, "wb") as file:
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 256), }"
            header = header.ljust(117) + b"\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
            file.truncate(10 + len(header) + 4 * 1048576 * 256)
        limit = 512 << 20
        process = vtower_diff(
            "diff", big, big.with_name("other.npy") if shutil.copy(big, big.with_name("other.npy"))
            else big, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.check(process, 8)

    def test_vtower_diff_is_the_same_comparison(self):
        for a, b, code in (("embed", "graph", 1), ("embed", "embed", 9)):
            paths = [DUMPS / f"qwen2_vl/batch.vllm-0.29.0.fp32.{entry}.safetensors"
                     for entry in (a, b)]
            small = self.check(vtower_diff("diff", *paths, "--json"), code)
            large = self.check(run("diff", *paths, "--json"), code)
            self.assertEqual(json.loads(small.stdout), json.loads(large.stdout))
        shown = self.check(vtower_diff("inspect", DUMPS / "ec/vllm-0.29.0.fp32.graph"), 0)
        self.assertIn("[140, 48]", shown.stdout)
        self.check(vtower_diff("inspect", self.folder / "none.npy"), 5)
        self.check(vtower_diff("unknown"), 2)


if __name__ == "__main__":
    unittest.main()
