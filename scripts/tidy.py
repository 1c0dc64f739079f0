#!/usr/bin/env python3
"""Runs clang-tidy on the sources of lib/, and only on those that changed since they were clean.

usage: tidy.py BUILD_FOLDER [JOBS]

A source that passed leaves a mark under BUILD_FOLDER/tidy, named by the hash of all that the
result depends on: the source, the project's headers that it reaches, its compile command, the
checks and the version of clang-tidy.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-14"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def reached(source):
    """The source and the project headers it includes, directly or not."""
    seen, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        headers = (ROOT / "lib" / name for name in INCLUDE.findall(path.read_text()))
        waiting += [header for header in headers if header.is_file()]
    return sorted(seen)


def fingerprint(source, command, tool):
    digest = hashlib.sha256(tool)
    digest.update(command.encode())
    for path in reached(source):
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def write_commands(entries, folder):
    """The compile commands with the precompiled header, which is GCC's, as a plain one."""
    plain = {}
    for entry in entries:
        for header in re.findall(r"-include (\S+/cmake_pch\.hxx)", entry["command"]):
            if header not in plain:
                plain[header] = folder / f"precompiled_{len(plain)}.h"
                plain[header].write_text(Path(header).read_text().replace("#pragma GCC", "//"))
            entry["command"] = entry["command"].replace(header, str(plain[header]))
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def check(source, build):
    # The compile commands are GCC's; Clang does not know all of its warnings.
    run = subprocess.run([TIDY, "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p",
                          str(build), str(source)], capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout + ("" if run.returncode == 0 else run.stderr)


def main(arguments):
    build = Path(arguments[0]).resolve()
    jobs = int(arguments[1]) if len(arguments) > 1 else os.cpu_count()
    marks = build / "tidy"
    marks.mkdir(exist_ok=True)
    tool = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    tool += (ROOT / ".clang-tidy").read_bytes()

    commands = build / "tidy-commands"
    commands.mkdir(exist_ok=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    write_commands(entries, commands)
    waiting = {}
    for entry in entries:
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(ROOT / "lib") and source.suffix == ".cpp":
            waiting[source] = marks / fingerprint(source, entry["command"], tool)
    if not waiting:
        print(f"no source of lib/ in {build}/compile_commands.json")
        return 1
    for mark in set(marks.iterdir()) - set(waiting.values()):
        mark.unlink()
    waiting = {source: mark for source, mark in waiting.items() if not mark.exists()}

    clean = True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(check, source, commands): mark for source, mark in waiting.items()}
        for run in concurrent.futures.as_completed(runs):
            passed, output = run.result()
            if passed:
                runs[run].touch()
            else:
                clean = False
                print(output)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
