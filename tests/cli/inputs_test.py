"""INPUT: files, folders, globs and lists."""

import json
import os
import shutil
import subprocess
import unittest

from program import BAD, CHECKPOINTS, IMAGES, PROGRAM, Safetensors, TestCase, run

TINY = CHECKPOINTS / "qwen2_vl-tiny-fp32"


class Inputs(TestCase):
    def setUp(self):
        super().setUp()
        self.media = self.folder / "media"
        (self.media / "deeper").mkdir(parents=True)
        for name, place in (("exif_1.jpg", "b.jpg"), ("png_rgb8.png", "a.png"),
                            ("gif_still.gif", "deeper/c.gif")):
            shutil.copy(IMAGES / name, self.media / place)
        (self.media / "notes.txt").write_text("not a picture")

    def paths(self, *inputs, stdin=None, options=()):
        self.check(run("encode", TINY, *inputs, *options, "-o", self.out, stdin=stdin), 0)
        return [os.path.relpath(item["path"], self.media)
                for item in Safetensors(self.out).record["items"]]

    def test_a_folder_is_walked_in_order_of_name(self):
        self.assertEqual(self.paths(self.media), ["a.png", "b.jpg", "deeper/c.gif"])

    def test_a_glob(self):
        self.assertEqual(self.paths(f"{self.media}/*.[jp]*g"), ["a.png", "b.jpg"])
        process = self.check(run("encode", TINY, f"{self.media}/*.webp", "-o", self.out), 5)
        self.assertIn("no file matches", process.stderr)

    def test_lists(self):
        names = [str(self.media / "b.jpg"), str(self.media / "a.png")]
        (self.folder / "list.txt").write_text("\r\n".join(names) + "\n\n")
        self.assertEqual(self.paths(f"@{self.folder / 'list.txt'}"), ["b.jpg", "a.png"])
        self.assertEqual(self.paths("-", stdin="\n".join(names)), ["b.jpg", "a.png"])
        self.assertEqual(self.paths("-", stdin="\0".join(names), options=["-0"]),
                         ["b.jpg", "a.png"])

    def test_lists_that_are_none(self):
        for stdin in ("", "\n\n"):
            self.check(run("encode", TINY, "-", "-o", self.out, stdin=stdin), 5)
        self.check(run("encode", TINY, "-", "-", "-o", self.out, stdin="x"), 2)
        self.check(run("encode", TINY, "@/absent", "-o", self.out), 5)
        self.check(run("encode", TINY, f"@{self.media}", "-o", self.out), 5)
        self.check(run("encode", TINY, f"@{BAD / 'picture.jp2'}", "-o", self.out), 5)

    def test_names_with_glob_letters_are_names_first(self):
        odd = self.media / "odd [1]*.jpg"
        shutil.copy(IMAGES / "exif_1.jpg", odd)
        self.assertEqual(self.paths(odd), ["odd [1]*.jpg"])

    def test_a_folder_without_media(self):
        (self.folder / "empty").mkdir()
        process = self.check(run("encode", TINY, self.folder / "empty", "-o", self.out), 5)
        self.assertIn("empty", process.stderr)

    def test_a_file_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        os.chmod(self.media / "b.jpg", 0)
        self.check(run("encode", TINY, self.media / "b.jpg", "-o", self.out), 5)

    def test_odd_files_do_not_hang(self):
        os.mkfifo(self.media / "pipe.jpg")
        process = self.check(run("encode", TINY, self.media / "pipe.jpg", "/dev/zero", "--json",
                                 "-o", self.out, timeout=60), 5)
        self.assertEqual([failure["class"] for failure in json.loads(process.stdout)["failed"]],
                         ["unreadable", "unreadable"])

    def test_the_type_is_found_from_the_bytes(self):
        shutil.copy(IMAGES / "webp_lossy.webp", self.media / "really_webp.png")
        self.paths(self.media / "really_webp.png")
        self.assertEqual(Safetensors(self.out).record["items"][0]["format"], "webp")

    def test_a_closed_pipe_is_no_crash(self):
        with subprocess.Popen([PROGRAM, "encode", "--help"], stdout=subprocess.PIPE) as process:
            process.stdout.close()
        self.assertGreaterEqual(process.returncode, -13)


if __name__ == "__main__":
    unittest.main()
