"""--mode dp: several processes give what one gives, or say why not."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from program import (BAD, CHECKPOINTS, GOLDEN, IMAGES, PROGRAM, VIDEOS, Safetensors, TestCase,
                     relative_error, run)
from schema import errors

SCHEMA = json.loads(
    (pathlib.Path(os.environ["VTOWER_CONFIGS"]) / "record.schema.json").read_text())
TINY = {family: CHECKPOINTS / f"{family}-tiny-fp32"
        for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")}
SET = [IMAGES / "photo_chelsea.png", VIDEOS / "h264_rotate_90.mp4", IMAGES / "jpeg_cmyk.jpg",
       IMAGES / "size_1x1.png", IMAGES / "photo_china.jpg"]
# What a launcher around these tests may have set is none of theirs.
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("SLURM_", "TORCHELASTIC_", "MASTER_"))
         and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torchrun_variables(rank, size, port, address="127.0.0.1"):
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
            "MASTER_ADDR": address, "MASTER_PORT": str(port)}


def start(*arguments, variables=None, prefix=()):
    return subprocess.Popen([*prefix, PROGRAM, *map(str, arguments)],
                            env={**CLEAN, **(variables or {})}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace")


def children_of(pid):
    children = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text(errors="replace")
            if int(text[text.rindex(")") + 2:].split()[1]) == pid:
                children.append(int(stat.parent.name))
    return sorted(children)


def is_running(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return text[text.rindex(")") + 2:].split()[0] not in "ZX"
    return False


class DpCase(TestCase):
    def dp(self, checkpoint, *arguments, ranks, code=0):
        # -o last, so that a test may give another
        return self.check(run("encode", checkpoint, *arguments, "--mode", "dp", "--ranks", ranks,
                              "--timeout", 60, "-o", self.out), code)

    def finish(self, processes, timeout=120):
        """Exit code, output and messages of each."""
        ends = []
        for process in processes:
            out, err = process.communicate(timeout=timeout)
            ends.append((process.returncode, out, err))
        return ends

    def eager(self, checkpoint, *arguments):
        path = self.folder / "eager.safetensors"
        self.check(run("encode", checkpoint, *arguments, "-o", path), 0)
        return Safetensors(path)

    def check_same(self, dp, eager, limit=1e-5):
        for name in ("grid_thw", "cu_tokens"):
            self.assertEqual(dp.bytes(name), eager.bytes(name))
        self.assertEqual(dp.header.keys(), eager.header.keys())
        for name in set(dp.header) - {"grid_thw", "cu_tokens"}:
            for ours, theirs in zip(dp.rows(name), eager.rows(name), strict=True):
                self.assertLessEqual(relative_error(ours, theirs), limit, name)


class Agreement(DpCase):
    def test_any_number_of_ranks_agrees_with_eager(self):
        one = ("--threads", "1")  # their number may change the order of sums
        for family, checkpoint in TINY.items():
            eager = self.eager(checkpoint, *SET, *one)
            for ranks in (1, 2, 3, 5):
                self.dp(checkpoint, *SET, *one, ranks=ranks)
                dp = Safetensors(self.out)
                self.check_same(dp, eager)
                if ranks in (1, 5):  # 1: the same batches; 5: each item alone
                    alone = ranks == 5
                    parts = [self.eager(checkpoint, path, *one) for path in SET] if alone else [eager]
                    self.assertEqual(dp.bytes("embeddings"),
                                     b"".join(part.bytes("embeddings") for part in parts), family)
                record = dp.record
                self.assertEqual(list(errors(record, SCHEMA)), [])
                # the ledgers of all ranks together
                self.assertEqual(record["ledger"]["passes"], len(record["plan"]["batches"]))
                attestation = record["attestation"]
                self.assertEqual((attestation["mode"], attestation["world_size"]), ("dp", ranks))
                self.assertEqual(attestation["dp"]["backend"], "gloo")
                of_ranks = attestation["dp"]["ranks"]
                self.assertEqual(sorted(sum((r["items"] for r in of_ranks), [])), [0, 1, 2, 3, 4])
                for rank in of_ranks:
                    for item in rank["items"]:
                        self.assertEqual(record["items"][item]["rank"], rank["rank"])
                self.assertEqual([item["path"] for item in record["items"]], [str(p) for p in SET])
                self.assertEqual([item.get("video") for item in record["items"]],
                                 [item.get("video") for item in eager.record["items"]])

    def test_stages_and_options_travel(self):
        options = ("--stages", "normalized,block.1,merger", "--profile", "hf-pil")
        eager = self.eager(TINY["qwen3_vl"], *SET, *options)
        self.dp(TINY["qwen3_vl"], *SET, *options, ranks=2)
        self.check_same(Safetensors(self.out), eager)

    def test_balance_by_patches_is_the_references_rule(self):
        self.dp(TINY["qwen2_vl"], *SET, "--balance", "patches", ranks=2)
        record = Safetensors(self.out).record
        sizes = [t * h * w for t, h, w in (item["grid_thw"] for item in record["items"])]
        items, loads = [[], []], [0, 0]
        for item in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
            least = loads.index(min(loads))
            items[least].append(item)
            loads[least] += sizes[item]
        ranks = record["attestation"]["dp"]["ranks"]
        self.assertEqual([rank["items"] for rank in ranks], items)
        self.assertEqual([rank["load"] for rank in ranks], loads)

    def test_fewer_items_than_ranks(self):
        for count in (1, 3):
            eager = self.eager(TINY["qwen3_vl"], *SET[:count])
            self.dp(TINY["qwen3_vl"], *SET[:count], ranks=4)
            dp = Safetensors(self.out)
            self.check_same(dp, eager)
            empty = [r for r in dp.record["attestation"]["dp"]["ranks"] if not r["items"]]
            self.assertEqual(len(empty), 4 - count)

    def test_a_list_on_standard_input_reaches_every_rank(self):
        process = run("encode", TINY["qwen2_vl"], "-", "-0", "--mode", "dp", "--ranks", 3,
                      "--timeout", 60, "-o", self.out, stdin="\0".join(map(str, SET)))
        self.check(process, 0)
        self.check_same(Safetensors(self.out), self.eager(TINY["qwen2_vl"], *SET))

    def test_bf16(self):
        checkpoint = CHECKPOINTS / "qwen3_vl-tiny-bf16"
        self.dp(checkpoint, *SET[:2], ranks=3)
        dp = Safetensors(self.out)
        self.assertEqual(dp.header["embeddings"]["dtype"], "BF16")
        self.assertEqual(dp.header["deepstack.0"]["dtype"], "BF16")
        self.assertEqual(dp.shape("embeddings"), self.eager(checkpoint, *SET[:2]).shape("embeddings"))


class Items(DpCase):
    def test_a_failing_item_fails_alone(self):
        # the one shows in its header, the other only once its rank decodes it
        bad = [BAD / "empty.jpg", BAD / "jpeg_cut_in_scan.jpg"]
        for ranks in (2, 3):
            process = self.dp(TINY["qwen2_vl"], SET[0], *bad, *SET[1:], "--json", ranks=ranks, code=5)
            report = json.loads(process.stdout)
            self.assertEqual(report["items"], 5)
            self.assertEqual([failure["path"] for failure in report["failed"]],
                             [str(path) for path in bad])
            self.assertEqual([failure["class"] for failure in report["failed"]],
                             ["unreadable", "truncated"])
            self.assertEqual(process.stderr.count("jpeg_cut_in_scan.jpg"), 1)
            dp = Safetensors(self.out)
            self.assertEqual(list(errors(dp.record, SCHEMA)), [])
            self.check_same(dp, self.eager(TINY["qwen2_vl"], *SET))

    def test_no_sound_item(self):
        process = self.dp(TINY["qwen2_vl"], BAD / "empty.jpg", BAD / "text.jpg", ranks=3, code=5)
        self.assertIn("empty.jpg", process.stderr)
        self.check_nothing_left()

    def test_no_item_at_all(self):
        (self.folder / "empty").mkdir()
        self.dp(TINY["qwen2_vl"], self.folder / "empty", ranks=2, code=5)
        self.check_nothing_left("empty")


class Refusals(DpCase):
    def test_usage(self):
        tiny, picture = TINY["qwen2_vl"], SET[0]
        for arguments in (["--ranks", "2"], ["--ranks", "0", "--mode", "dp"],
                          ["--mode", "dp", "--timeout", "0"],
                          ["--mode", "dp", "--balance", "tokens"],
                          ["--mode", "dp", "--ranks", "2", "--stages", "block.99"]):
            process = self.check(run("encode", tiny, picture, *arguments, "-o", self.out), 2)
            self.assertTrue(process.stderr.strip(), arguments)
        self.check_nothing_left()

    def test_half_an_environment_is_no_run_of_one(self):
        whole = torchrun_variables(0, 1, free_port())
        for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
            variables = {key: value for key, value in whole.items() if key != name}
            process = start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp", "-o", self.out,
                            variables=variables)
            (code, _, err), = self.finish([process])
            self.assertEqual(code, 7, err)
            self.assertIn(name, err)
        for variables in ({**whole, "RANK": "1"}, {**whole, "WORLD_SIZE": "two"},
                          {**whole, "MASTER_PORT": "70000"}):
            (code, _, err), = self.finish([start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp",
                                                 "-o", self.out, variables=variables)])
            self.assertEqual(code, 7, err)
        (code, _, err), = self.finish([start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp",
                                             "--ranks", 3, "-o", self.out, variables=whole)])
        self.assertEqual(code, 2, err)
        self.check_nothing_left()

    def test_a_device_that_is_not_there(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        process = self.dp(TINY["qwen2_vl"], SET[0], "--device", "cuda", ranks=2, code=7)
        self.assertIn("cuda", process.stderr)

    def test_a_bad_checkpoint(self):
        process = self.dp(self.folder / "none", SET[0], ranks=2, code=6)
        self.assertEqual(process.stderr.count("none"), 1, process.stderr)

    def test_a_busy_port(self):
        with socket.socket() as other:
            other.bind(("0.0.0.0", 0))
            other.listen()
            port = other.getsockname()[1]
            process = start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp", "-o", self.out,
                            variables=torchrun_variables(0, 2, port))
            (code, _, err), = self.finish([process])
        self.assertEqual(code, 7, err)
        self.assertIn(f"port {port}", err)
        self.check_nothing_left()

    def test_a_server_that_is_no_rank_0(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            begin = time.monotonic()
            process = start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp", "--timeout", 2, "-o",
                            self.out, variables=torchrun_variables(1, 2, other.getsockname()[1]))
            (code, _, err), = self.finish([process])
        self.assertEqual(code, 8, err)
        self.assertIn("rank 0", err)
        self.assertLess(time.monotonic() - begin, 30)

    def test_ranks_with_different_inputs_or_options(self):
        for other in ([SET[0], SET[2]], [SET[1], SET[0]], [SET[0], SET[1], "--profile", "hf"],
                      [SET[0], SET[1], "--balance", "patches"],
                      [SET[0], SET[1], "--dtype", "bf16"]):
            port = free_port()
            processes = [
                start("encode", TINY["qwen2_vl"], *arguments, "--mode", "dp", "--timeout", 60, "-o",
                      self.out, variables=torchrun_variables(rank, 2, port))
                for rank, arguments in enumerate(([SET[0], SET[1]], other))]
            ends = self.finish(processes)
            self.assertEqual([code for code, _, _ in ends], [7, 7], ends)
            self.assertIn("rank 1 and rank 0 have different", ends[0][2])
            self.assertEqual(ends[1][2], "")
        self.check_nothing_left()


class Launchers(DpCase):
    def check_run(self, processes):
        ends = self.finish(processes)
        self.assertEqual([code for code, _, _ in ends], [0] * len(ends), ends)
        for _, out, err in ends[1:]:  # one of them speaks
            self.assertEqual(out + err, "")
        self.check_same(Safetensors(self.out), self.eager(TINY["qwen3_vl"], *SET))
        return Safetensors(self.out).record["attestation"]

    def command(self):
        return ("encode", TINY["qwen3_vl"], *SET, "--mode", "dp", "--timeout", 60, "-o", self.out)

    def test_torchruns_variables(self):
        port = free_port()
        attestation = self.check_run([
            start(*self.command(), variables=torchrun_variables(rank, 3, port)) for rank in range(3)])
        self.assertEqual(attestation["dp"]["launcher"], "torchrun")
        self.assertEqual(attestation["world_size"], 3)

    def test_slurms_variables(self):
        name = socket.gethostname()
        for nodes in ({"SLURM_NODELIST": "localhost"}, {"SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1"},
                      {"SLURM_NODELIST": name, "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port())}):
            job = str(free_port())
            attestation = self.check_run([
                start(*self.command(), variables={
                    "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_LOCALID": str(rank),
                    "SLURM_JOB_ID": job, **nodes}) for rank in range(2)])
            self.assertEqual(attestation["dp"]["launcher"], "slurm")

    def test_one_slurm_task_starts_its_own_ranks(self):
        attestation = self.check_run([start(*self.command(), "--ranks", 2, variables={
            "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_LOCALID": "0",
            "SLURM_NODELIST": "elsewhere"})])
        self.assertEqual(attestation["dp"]["launcher"], "vtower")
        self.assertEqual(attestation["world_size"], 2)

    def test_torchrun_itself(self):
        try:
            import torch.distributed.run  # noqa: F401
            python = sys.executable
        except ImportError:
            python = os.environ.get("VTOWER_TORCHRUN_PYTHON", "")
        if not python:
            self.skipTest("no Python with torch.distributed.run here")
        launch = [python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python",
                  "--master-port", str(free_port())]
        process = start(*self.command(), prefix=launch)
        (code, _, err), = self.finish([process])
        self.assertEqual(code, 0, err)
        self.check_same(Safetensors(self.out), self.eager(TINY["qwen3_vl"], *SET))

    def test_two_hosts(self):
        """Two network namespaces: nothing is shared but the wire between them and the files."""
        def ip(*arguments):
            return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)

        names = [f"vtower-{os.getpid()}-{i}" for i in range(2)]
        try:
            made = [ip("netns", "add", name) for name in names]
        except FileNotFoundError:
            self.skipTest("no `ip` here: two hosts were not tried")
        for name in names:
            self.addCleanup(ip, "netns", "del", name)
        if any(process.returncode for process in made):
            self.skipTest("no right to make network namespaces: two hosts were not tried")
        wire = [f"vt{os.getpid() % 100000}{side}" for side in "ab"]
        steps = [ip("link", "add", wire[0], "netns", names[0], "type", "veth", "peer", "name",
                    wire[1], "netns", names[1])]
        for i in range(2):
            steps += [ip("-n", names[i], "addr", "add", f"10.231.7.{i + 1}/24", "dev", wire[i]),
                      ip("-n", names[i], "link", "set", wire[i], "up"),
                      ip("-n", names[i], "link", "set", "lo", "up")]
        if any(process.returncode for process in steps):
            self.skipTest("no veth here: two hosts were not tried: " +
                          " ".join(process.stderr for process in steps))
        port = free_port()
        attestation = self.check_run([
            start(*self.command(), prefix=["ip", "netns", "exec", names[rank // 2]],
                  variables={**torchrun_variables(rank, 4, port, "10.231.7.1"),
                             "LOCAL_RANK": str(rank % 2)}) for rank in range(4)])
        self.assertEqual(attestation["world_size"], 4)
        self.assertTrue(all(rank["lost"] is None for rank in attestation["dp"]["ranks"]))
        # the wire is cut in the middle: the side that is left ends, and names whom it lost
        many = self.folder / "many.txt"
        many.write_text(f"{SET[4]}\n" * 400)
        port = free_port()
        processes = [
            start("encode", TINY["qwen3_vl"], f"@{many}", "--mode", "dp", "--timeout", 4,
                  "--progress", "bar", "-o", self.out,
                  prefix=["ip", "netns", "exec", names[rank]],
                  variables={**torchrun_variables(rank, 2, port, "10.231.7.1"), "LOCAL_RANK": "0"})
            for rank in range(2)]
        wait_for_items(processes[0], 20)
        ip("-n", names[0], "link", "set", wire[0], "down")
        begin = time.monotonic()
        ends = self.finish(processes)
        self.assertEqual([code for code, _, _ in ends], [8, 8], ends)
        self.assertLess(time.monotonic() - begin, 4 * 4 + 10)
        self.assertIn("rank 1", ends[0][2])
        self.assertIn("rank 0", ends[1][2])
        self.assertGreater(Safetensors(self.out).shape("grid_thw")[0], 0)


def wait_for_items(process, count):
    """Reads the progress bar until so many items are done."""
    text = ""
    while True:
        piece = process.stderr.read(1)
        if not piece:
            raise AssertionError(f"ended before {count} items: {text}")
        text += piece
        found = re.findall(r"(\d+)/\d+ items", text)
        if found and int(found[-1]) >= count:
            return


class Losses(DpCase):
    COUNT = 300

    def start_many(self, ranks, timeout):
        many = self.folder / "many.txt"
        many.write_text(f"{SET[4]}\n" * self.COUNT)
        process = start("encode", TINY["qwen2_vl"], f"@{many}", "--mode", "dp", "--ranks", ranks,
                        "--timeout", timeout, "--progress", "bar", "--json", "-o", self.out)
        self.addCleanup(process.kill)
        wait_for_items(process, 20)
        children = children_of(process.pid)
        self.assertEqual(len(children), ranks - 1)
        return process, children

    def check_kept(self, end, lost):
        code, out, err = end
        self.assertEqual(code, 8, err)
        report, record = json.loads(out), Safetensors(self.out).record
        self.assertEqual(list(errors(record, SCHEMA)), [])
        self.assertEqual(len(record["items"]) + len(record["failed"]), self.COUNT)
        self.assertGreaterEqual(len(record["items"]), 20)
        self.assertGreater(len(record["failed"]), 0)
        self.assertEqual({failure["class"] for failure in report["failed"]}, {"peer"})
        for failure in report["failed"]:
            self.assertIn(f"rank {lost} ", failure["message"])
        # what was kept is right, wherever it was computed
        dump, alone = Safetensors(self.out), self.eager(TINY["qwen2_vl"], SET[4])
        tokens = alone.shape("embeddings")[0]
        for k in range(0, len(record["items"]), 40):
            rows = dump.rows("embeddings")[k * tokens:(k + 1) * tokens]
            for ours, theirs in zip(rows, alone.rows("embeddings"), strict=True):
                self.assertLessEqual(relative_error(ours, theirs), 1e-5)
        return record

    def test_a_killed_rank_is_named_and_finished_items_are_kept(self):
        process, children = self.start_many(ranks=3, timeout=60)
        begin = time.monotonic()
        os.kill(children[1], signal.SIGKILL)
        end = self.finish([process])[0]
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("rank 2 was killed by signal 9", end[2])
        record = self.check_kept(end, lost=2)
        ranks = record["attestation"]["dp"]["ranks"]
        self.assertEqual([rank["lost"] is None for rank in ranks], [True, True, False])
        # the others did all of theirs
        done = [item["rank"] for item in record["items"]]
        for rank in (0, 1):
            self.assertEqual(done.count(rank), len(ranks[rank]["items"]))

    def test_a_silent_rank_is_given_up_within_the_timeout(self):
        process, children = self.start_many(ranks=2, timeout=3)
        begin = time.monotonic()
        os.kill(children[0], signal.SIGSTOP)
        end = self.finish([process])[0]
        self.assertLess(time.monotonic() - begin, 3 + 15)
        self.assertIn("rank 1 ", end[2])
        self.check_kept(end, lost=1)
        self.assertFalse(is_running(children[0]))

    def test_nobody_outlives_rank_0(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            process, children = self.start_many(ranks=3, timeout=60)
            process.send_signal(how)
            self.finish([process])
            until = time.monotonic() + 10
            while any(map(is_running, children)) and time.monotonic() < until:
                time.sleep(0.02)
            self.assertEqual([pid for pid in children if is_running(pid)], [])
            self.assertFalse(self.out.exists())

    def test_a_rank_that_lost_rank_0_names_it(self):
        many = self.folder / "many.txt"
        many.write_text(f"{SET[4]}\n" * self.COUNT)
        for how in (signal.SIGKILL, signal.SIGSTOP):
            port = free_port()
            processes = [
                start("encode", TINY["qwen2_vl"], f"@{many}", "--mode", "dp", "--timeout", 3,
                      "--progress", "bar", "-o", self.out,
                      variables=torchrun_variables(rank, 2, port)) for rank in range(2)]
            self.addCleanup(processes[0].kill)
            wait_for_items(processes[0], 20)
            begin = time.monotonic()
            processes[0].send_signal(how)
            code, _, err = self.finish(processes[1:])[0]
            self.assertEqual(code, 8, err)
            self.assertIn("rank 0", err)
            self.assertLess(time.monotonic() - begin, 3 + 15)
            processes[0].kill()
            self.finish(processes[:1])

    def test_a_rank_that_never_comes_is_named(self):
        begin = time.monotonic()
        process = start("encode", TINY["qwen2_vl"], SET[0], "--mode", "dp", "--timeout", 2, "-o",
                        self.out, variables=torchrun_variables(0, 3, free_port()))
        (code, _, err), = self.finish([process])
        self.assertEqual(code, 8, err)
        self.assertIn("ranks 1 and 2", err)
        self.assertLess(time.monotonic() - begin, 20)
        self.check_nothing_left()


if __name__ == "__main__":
    unittest.main()
