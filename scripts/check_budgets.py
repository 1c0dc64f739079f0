#!/usr/bin/env python3
"""Holds the size of files and the names at the top of the project.

usage: check_budgets.py [--self-test] [ROOT]

`--self-test` feeds one violation of each rule and expects it caught.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Lines of a header, of a source, and of a test of lib, apps and tests.
HEADER, SOURCE, TEST = 150, 400, 600
# File: why it may be longer. An excuse that is no longer needed is a problem too.
EXCUSES = {}

TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "apps", "lib", "third_party", "tests",
             "scripts", "configs", "README.md", "CHANGELOG.md", "LICENSE"}
HEADERS = {".h", ".hpp", ".cuh"}
SOURCES = {".cpp", ".cc", ".cu"}


def project_files(root):
    """What git tracks or would track; without git, everything but builds and dot folders."""
    if (root / ".git").exists() and shutil.which("git"):
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            names = [Path(name) for name in listing.stdout.split("\0") if name]
            return [name for name in names if (root / name).is_file()]
    names = []
    for top in root.iterdir():
        if top.is_file():
            names.append(top.relative_to(root))
        elif top.name != "build" and not top.name.startswith("."):
            names += [path.relative_to(root) for path in top.rglob("*") if path.is_file()]
    return names


def budget(name):
    """(limit, what it is) of a file, or None where there is none."""
    if name.parts[0] not in ("lib", "apps", "tests") or name.parts[:2] == ("tests", "golden"):
        return None
    if name.suffix in HEADERS:
        return HEADER, "header"
    if name.suffix in SOURCES:
        return (TEST, "test") if name.parts[0] == "tests" else (SOURCE, "source")
    return None


def problems(root, excuses):
    names = project_files(root)
    found = []
    for top in sorted({name.parts[0] for name in names}):
        if top not in TOP_LEVEL and not top.startswith("."):
            found.append(f"{top}: not a name for the top of the project")
    unused, checked = dict(excuses), 0
    for name in sorted(names):
        limit = budget(name)
        if limit is None:
            continue
        checked += 1
        lines = len((root / name).read_text().splitlines())
        if lines > limit[0] and unused.pop(str(name), None) is None:
            found.append(f"{name}: {lines} lines, a {limit[1]} has at most {limit[0]}")
    found += [f"{name}: the excuse ({reason}) is no longer needed" for name, reason in unused.items()]
    if checked == 0:
        found.append(f"{root}: no source, nothing was checked")
    return found


def self_test():
    clean = {
        "lib/core/a.h": "\n" * HEADER, "lib/core/a.cpp": "\n" * SOURCE,
        "tests/unit/core/a_test.cpp": "\n" * TEST, "tests/golden/media/a.cpp": "\n" * 5000,
        "README.md": "", "LICENSE": "", ".clang-format": "", "build/release/x.cpp": "\n" * 5000,
    }
    violations = [
        ({"lib/core/b.h": "\n" * (HEADER + 1)}, {}, "151 lines, a header"),
        ({"lib/core/b.cpp": "\n" * (SOURCE + 1)}, {}, "401 lines, a source"),
        ({"lib/engine/b.cu": "\n" * (SOURCE + 1)}, {}, "401 lines, a source"),
        ({"apps/b.cpp": "\n" * (SOURCE + 1)}, {}, "401 lines, a source"),
        ({"tests/cli/b.cpp": "\n" * (TEST + 1)}, {}, "601 lines, a test"),
        ({"tests/support/b.h": "\n" * (HEADER + 1)}, {}, "151 lines, a header"),
        ({"docs/b.md": ""}, {}, "docs: not a name"),
        ({"setup.py": ""}, {}, "setup.py: not a name"),
        ({}, {"lib/core/a.cpp": "tables"}, "no longer needed"),
        ({}, {"lib/core/gone.cpp": "tables"}, "no longer needed"),
    ]

    def run(files, excuses):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return problems(Path(folder), excuses)

    wrong = [f"clean tree: {problem}" for problem in run(clean, {})]
    wrong += run({**clean, "lib/core/b.cpp": "\n" * 500}, {"lib/core/b.cpp": "one table"})
    for files, excuses, expected in violations:
        found = run({**clean, **files}, excuses)
        if len(found) != 1 or expected not in found[0]:
            wrong.append(f"{list(files)}: expected {expected!r}, found {found}")
    if not run({}, {}):
        wrong.append("an empty tree passed")
    return wrong


def main(arguments):
    if "--self-test" in arguments:
        found = self_test()
    else:
        root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
        found = problems(root, EXCUSES)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
