# shellcheck shell=bash disable=SC2034,SC2154
# What the scripts that run GPU tests share: sourced, with `me`, `root` and usage() there.

build="" prefix="" torch=""

die() { echo "$me: $*" >&2; exit 2; }

# gpu_tests_option OPTION [VALUE]...: takes an option that all of the scripts have, or is false.
gpu_tests_option() {
  case $1 in --build | --prefix | --torch-prefix) ;; *) return 1 ;; esac
  [ $# -ge 2 ] || die "$1: expected a folder"
  case $1 in
    --build) build=$2 ;;
    --prefix) prefix=$2 ;;
    --torch-prefix) torch=$2 ;;
  esac
}

# From `build`, `prefix` and `torch`, as given on the command line: builds the tests unless they
# are, sets `programs` to their names and exports what they need to run.
gpu_tests_ready() {
  local start=$SECONDS libraries folder
  [ -n "$build$prefix" ] || { usage >&2; die "expected --prefix or --build"; }
  [ -z "$prefix" ] || [ -d "$prefix/lib" ] || die "--prefix $prefix: expected a folder lib in it"

  if [ -z "$torch" ]; then
    torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null) ||
      torch=$root/.deps/torch
  fi
  [ -f "$torch/lib/libtorch_cuda.so" ] ||
    die "LibTorch: expected $torch/lib/libtorch_cuda.so; give --torch-prefix"
  torch=$(cd "$torch" && pwd -P)

  if [ -z "$build" ]; then
    build=$root/build/gpu-tests
    prefix=$(cd "$prefix" && pwd -P)
    mkdir -p "$build"
    if ! { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DVTOWER_GPU_TESTS_ONLY=ON -DVTOWER_CUDA=ON -DVTOWER_TORCH_PREFIX="$torch" \
      -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$build"; } >"$build/build.log" 2>&1; then
      tail -n 60 "$build/build.log"
      die "the build failed; all of its output is in $build/build.log"
    fi
    printf '%4d s  build\n' $((SECONDS - start))
  fi
  [ -f "$build/gpu_tests.txt" ] ||
    die "$build: expected gpu_tests.txt, written by CMake where a test has the label gpu"
  mapfile -t programs < <(sort -u "$build/gpu_tests.txt")

  libraries=$torch/lib
  for folder in "$torch"/../nvidia/*/lib "$torch"/../cusparselt/lib ${prefix:+"$prefix/lib"}; do
    if [ -d "$folder" ]; then libraries+=:$folder; fi
  done
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export VTOWER_GOLDEN_DIR=$root/tests/golden
}

# doctest_counts LOG: sets `counts` to the test cases that passed, failed and were left out.
doctest_counts() {
  counts=(0 0 0)
  read -ra counts <<<"$(sed -n 's/^\[doctest\] test cases: *[0-9]* *| *\([0-9]*\) passed *| *\([0-9]*\) failed *| *\([0-9]*\) skipped.*/\1 \2 \3/p' "$1" | tail -n 1)" || true
  if [ ${#counts[@]} -ne 3 ]; then counts=(0 0 0); fi
}
