#!/usr/bin/env python3
"""Holds the arrows between the folders of lib/, and what the layers below lib/cli must not do.

usage: check_layers.py [--self-test] [ROOT]

The rules are the tables below. `--self-test` feeds one violation of each and expects it caught.
"""

import re
import sys
import tempfile
from pathlib import Path

ALL = {"cli", "explain", "engine", "tower", "oracle", "checkpoint", "media", "check", "core"}
ALLOWED = {  # a layer may include itself and these
    "apps": {"cli"},
    "cli": ALL,
    "explain": {"engine", "media", "check", "tower", "oracle", "core"},
    "engine": {"tower", "core"},
    "tower": {"checkpoint", "core"},
    "oracle": {"checkpoint", "core"},
    "checkpoint": {"core"},
    "media": {"core"},
    "check": {"core"},
    "core": set(),
}
WITHOUT_TORCH = {"media", "check", "core"}
TORCH = re.compile(r"^(ATen|c10|torch|caffe2)/")
# Headers that cost tens of seconds to compile, and the files that need one nevertheless.
HEAVY = {"torch/torch.h": set(), "torch/extension.h": set(), "torch/script.h": set(),
         "ATen/ATen.h": set()}
PRINTS = re.compile(
    r"\bstd::(cout|cerr|clog|wcout|wcerr|print|println)\b"
    r"|(?<![\w.>])(?:std::)?(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror)\s*\("
    r"|#\s*include\s*<(iostream|print)>")
ENVIRONMENT = re.compile(r"\b(secure_getenv|getenv|setenv|putenv|environ)\b")
FAST_MATH = re.compile(r"-ffast-math|-Ofast|-funsafe-math-optimizations|-ffinite-math-only")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".inc"}


def without_comments(text, keep_strings):
    """The code alone; newlines stay, so that line numbers do."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
        re.DOTALL)

    def blank(match):
        found = match.group(0)
        if keep_strings and not found.startswith("/"):
            return found
        return "\n" * found.count("\n") if found.startswith("/") else '""' + "\n" * found.count("\n")

    return token.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def problems_of_source(path, layer, text):
    with_strings = without_comments(text, keep_strings=True)
    for match in INCLUDE.finditer(with_strings):
        header, where = match.group(1), f"{path}:{line_of(with_strings, match.start())}"
        target = header.split("/")[0]
        if "/" in header and target in ALL and target != layer and target not in ALLOWED[layer]:
            yield f"{where}: {layer} must not include {target} ({header})"
        if layer in WITHOUT_TORCH and TORCH.match(header):
            yield f"{where}: {layer} is free of LibTorch, found {header}"
        if header in HEAVY and str(path) not in HEAVY[header]:
            yield f"{where}: {header} is too heavy; include the single ATen/ops headers"
        if ".." in header.split("/"):
            yield f"{where}: write includes from lib/, found {header}"
    if layer in ("cli", "apps"):
        return
    code = without_comments(text, keep_strings=False)
    for match in PRINTS.finditer(code):
        yield f"{path}:{line_of(code, match.start())}: only lib/cli prints, found {match.group(0)!r}"
    for match in ENVIRONMENT.finditer(code):
        yield (f"{path}:{line_of(code, match.start())}: only lib/cli reads the environment, "
               f"found {match.group(0)!r}")


def problems_of_cmake(path, layer, text):
    code = re.sub(r"#[^\n]*", "", text)
    for target in re.findall(r"\bvtower_(\w+)\b", code):
        if target in ALL and target != layer and target not in ALLOWED[layer]:
            yield f"{path}: {layer} must not link {target}"
    if FAST_MATH.search(code):
        yield f"{path}: no fast-math here, found {FAST_MATH.search(code).group(0)}"
    if layer in WITHOUT_TORCH and re.search(r"\btorch_\w+", code):
        yield f"{path}: {layer} is free of LibTorch"


def problems(root):
    found = []
    for path in sorted((*root.glob("lib/**/*"), *root.glob("apps/**/*"))):
        relative = path.relative_to(root)
        if not path.is_file():
            continue
        layer = relative.parts[1] if relative.parts[0] == "lib" else "apps"
        if layer not in ALLOWED:
            found.append(f"{relative}: no layer of that name; the layers are {sorted(ALL)}")
        elif path.suffix in SOURCES:
            found += problems_of_source(relative, layer, path.read_text())
        elif path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            found += problems_of_cmake(relative, layer, path.read_text())
    if not found and not any(root.glob("lib/*/*.h")):
        found.append(f"{root}: no header under lib/, nothing was checked")
    return found


def self_test():
    clean = {
        "lib/core/error.h": "// std::cout, getenv\nconst char* text = \"printf(\";\n",
        "lib/core/CMakeLists.txt": "vtower_library(core SOURCES a.cpp) # vtower_media\n",
        "lib/tower/tower.cpp": '#include "checkpoint/checkpoint.h"\n#include <ATen/ops/add.h>\n'
                               'void f(char* b) { std::snprintf(b, 1, "x"); }\n',
        "lib/cli/main.cpp": '#include "media/media_item.h"\nvoid f() { std::cout << 1\'000; }\n',
        "apps/vtower.cpp": '#include "cli/run.h"\n',
    }
    violations = [
        ("lib/media/a.cpp", '#include "tower/tower.h"\n', "media must not include tower"),
        ("lib/tower/a.cpp", '#include "media/media_item.h"\n', "tower must not include media"),
        ("lib/oracle/a.cpp", '#include "tower/seq_plan.h"\n', "oracle must not include tower"),
        ("lib/engine/a.cpp", '  #  include <media/media_item.h>\n', "engine must not include media"),
        ("lib/explain/a.cpp", '#include "cli/run.h"\n', "explain must not include cli"),
        ("lib/explain/b.cpp", '#include "checkpoint/a.h"\n', "explain must not include checkpoint"),
        ("lib/checkpoint/a.h", '#include "tower/tower.h"\n', "checkpoint must not include tower"),
        ("lib/check/a.h", '/* x */\n#include "explain/a.h"\n', "a.h:2: check must not include explain"),
        ("lib/core/a.h", '#include "check/a.h"\n', "core must not include check"),
        ("apps/a.cpp", '#include "core/error.h"\n', "apps must not include core"),
        ("lib/core/a.cpp", "#include <ATen/core/Tensor.h>\n", "core is free of LibTorch"),
        ("lib/check/a.cpp", "#include <c10/util/Half.h>\n", "check is free of LibTorch"),
        ("lib/media/b.cpp", "#include <torch/types.h>\n", "media is free of LibTorch"),
        ("lib/tower/b.cpp", "#include <torch/torch.h>\n", "too heavy"),
        ("lib/cli/b.cpp", "#include <ATen/ATen.h>\n", "too heavy"),
        ("lib/core/b.cpp", '#include "../media/media_item.h"\n', "write includes from lib/"),
        ("lib/core/c.cpp", "void f() { std::cout << 1; }\n", "only lib/cli prints"),
        ("lib/tower/c.cpp", 'void f() { fprintf(stderr, "x"); }\n', "only lib/cli prints"),
        ("lib/media/c.cpp", 'void f() { std::printf("x"); }\n', "only lib/cli prints"),
        ("lib/media/d.cpp", "#include <iostream>\n", "only lib/cli prints"),
        ("lib/engine/c.cpp", 'auto x = std::getenv("A");\n', "only lib/cli reads the environment"),
        ("lib/check/CMakeLists.txt", "add_compile_options(-ffast-math)\n", "no fast-math"),
        ("lib/media/CMakeLists.txt", "vtower_library(media DEPENDS vtower_tower)\n", "must not link"),
        ("lib/core/CMakeLists.txt", "vtower_library(core DEPENDS torch_cpu)\n", "free of LibTorch"),
        ("lib/policy/a.h", "\n", "no layer of that name"),
    ]

    def run(files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return problems(Path(folder))

    wrong = [f"clean tree: {problem}" for problem in run(clean)]
    for name, text, expected in violations:
        found = run({**clean, name: text})
        if len(found) != 1 or expected not in found[0]:
            wrong.append(f"{name} with {text!r}: expected {expected!r}, found {found}")
    if not run({}):
        wrong.append("an empty tree passed")
    return wrong


def main(arguments):
    if "--self-test" in arguments:
        found = self_test()
    else:
        root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
        found = problems(root)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
