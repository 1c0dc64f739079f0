"""Runs the program and reads its files, with the standard library alone."""

import array
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["VTOWER"]
GOLDEN = pathlib.Path(os.environ["VTOWER_GOLDEN"])
CHECKPOINTS = GOLDEN / "towers/checkpoints"
IMAGES = GOLDEN / "media/images"
VIDEOS = GOLDEN / "media/videos"
BAD = GOLDEN / "media/bad"


def run(*arguments, stdin=None, cwd=None, timeout=300):
    """Completed process of `vtower ARGUMENTS...`; its output as text."""
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, cwd=cwd, timeout=timeout,
                          capture_output=True, text=True, errors="replace", check=False)


class Safetensors:
    """A safetensors file: header, metadata and raw tensors."""

    CODES = {"F32": "f", "F64": "d", "I64": "q", "U8": "B"}

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        self.header = json.loads(data[8:8 + length])
        self.metadata = self.header.pop("__metadata__", {})
        self.data = data[8 + length:]

    @property
    def record(self):
        return json.loads(self.metadata["vtower"])

    def shape(self, name):
        return self.header[name]["shape"]

    def bytes(self, name):
        begin, end = self.header[name]["data_offsets"]
        return self.data[begin:end]

    def values(self, name):
        return array.array(self.CODES[self.header[name]["dtype"]], self.bytes(name))

    def rows(self, name):
        values, width = self.values(name), self.shape(name)[1]
        return [values[i:i + width] for i in range(0, len(values), width)]


def relative_error(a, b):
    """Frobenius norm of a - b over that of b; NaN where a value is none."""
    difference = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return (difference / sum(y * y for y in b)) ** 0.5


class TestCase(unittest.TestCase):
    """A folder of its own for each test, and the checks on a finished process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.safetensors"

    def check(self, process, code):
        self.assertEqual(process.returncode, code, process.stderr + process.stdout)
        return process

    def check_nothing_left(self, *expected):
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), sorted(expected))
