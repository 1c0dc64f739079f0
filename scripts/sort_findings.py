#!/usr/bin/env python3
"""Sorts what compute-sanitizer found by the kernel it is in.

usage: sort_findings.py LOG     of `compute-sanitizer --tool memcheck|racecheck|initcheck`
       sort_findings.py --self-test

Prints a line per kernel, `ours`, `library` or `host` (no kernel: failed calls of the API), and
last: total OURS LIBRARY HOST. Copies of memory that nothing wrote are ours: we start them. Exits with 1, and says why, on a log that is no account of all that
was found: cut, of a tool that did not run, with findings that were not printed or read.
"""

import collections
import re
import sys

HEAD = re.compile(r"^={8,9} (?=\S)(.*)")
DETAIL = re.compile(r"^={8,9}\s{2,}(.*)")
SUMMARY = re.compile(r"^(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards? displayed.*)$")
RACE = re.compile(r"^(?:Error|Warning|Info): (?:Race reported|Potential .* hazard)")
TROUBLE = re.compile(r"^(?:Error|Warning|Internal Sanitizer Error|Device not supported|.*"
                     r"were not printed)\b")
NOTICE = re.compile(r"^(?:COMPUTE-SANITIZER|Target application returned an error|This tool is )")
PLACE = re.compile(r"(?:\bat|Device Frame:)\s*(?:0x[0-9a-f]+ in )?(.+?)"
                   r"(?:\+0x[0-9a-f]+|$)")
NOT_A_PLACE = re.compile(r"\s*(?:Host Frame|Saved host backtrace|by thread|Access |Address )")


def short(kernel):
    """`at::native::reduce_kernel` of `void at::native::reduce_kernel<512, 1>(...)`."""
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", kernel)
    bare, depth = "", 0
    for letter in name:
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            bare += letter
    words = bare.split("(")[0].split()
    return words[-1] if words else kernel


def blocks(lines):
    """(head, details) of every finding and notice."""
    head, details = None, []
    for line in lines:
        if match := HEAD.match(line):
            if head is not None:
                yield head, details
            head, details = match[1].rstrip(), []
        elif (match := DETAIL.match(line)) and head is not None:
            details.append(match[1].rstrip())
    if head is not None:
        yield head, details


def places(head, details):
    """The kernels and device functions that a finding names, innermost first."""
    named = PLACE.findall(head) if RACE.match(head) else []
    for line in details:
        if not NOT_A_PLACE.match(line) and (match := PLACE.search(line)):
            named.append(match[1])
    return named


def sort(lines):
    """({(class, kernel): count}, what is wrong with the log)"""
    found, wrong, said = collections.Counter(), [], []
    for head, details in blocks(lines):
        if match := SUMMARY.match(head):
            said.append(int(match[1]))
        elif TROUBLE.match(head) and not RACE.match(head):
            wrong.append(head)
        elif not NOTICE.match(head):
            kernels = [] if head.startswith(("Program hit", "Host API")) else places(head, details)
            ours = [kernel for kernel in kernels if "vtower" in kernel]
            if head.startswith("Host API"):
                found["ours", "a copy: " + " ".join(head.split()[2:5])] += 1
            elif ours:
                found["ours", short(ours[0])] += 1
            elif kernels:
                found["library", short(kernels[0])] += 1
            else:
                found["host", head] += 1
    if not said:
        wrong.append("no summary: the tool did not run to its end")
    elif sum(said) != found.total():
        wrong.append(f"the summary counts {sum(said)}, {found.total()} could be sorted")
    return found, wrong


def self_test():
    reduce = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)"
    ours = "void vtower::kernels::<unnamed>::rotate<c10::BFloat16>(T1 *, const float *)"
    host = ("=========     Saved host backtrace up to driver entry point at kernel launch time\n"
            "=========         Host Frame: vtower::device::rotate(at::Tensor&) [0x9a] in test_x\n")

    def read(kernel, place="{}+0x70 in rotary.cu:64"):
        return ("========= Uninitialized __global__ memory read of size 2 bytes\n"
                f"=========     at {place.format(kernel)}\n"
                "=========     by thread (1,0,0) in block (0,0,0)\n"
                f"=========     Access to 0x7f00 \n{host}=========\n")

    def race(writer, reader):
        return (f"========= Error: Race reported between Write access at {writer}+0x580\n"
                f"=========     and Read access at {reader}+0x890 in a.cu:31 [4080 hazards]\n"
                "=========\n")

    def log(body, summary):
        return f"========= COMPUTE-SANITIZER\n{body}========= {summary}\n"

    api = ('========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on '
           f"CUDA API call to cuGetProcAddress_v2.\n{host}=========\n")
    copy = ("========= Host API memory access error at host access to 0x7f00 of size 4 bytes\n"
            "=========     Uninitialized access at 0x7f01 on access by cudaMemcpy source\n"
            f"{host}=========\n")
    device_frame = ("========= Invalid __global__ write of size 4 bytes\n"
                    "=========     at cub::store(int *)+0x10\n"
                    f"=========         Device Frame: {ours}+0x1c0 in rotary.cu:70\n=========\n")
    mine, theirs = ("ours", "vtower::kernels::rotate"), ("library", "at::native::reduce_kernel")
    cases = [
        (log("", "ERROR SUMMARY: 0 errors"), {}, False),
        (log("", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"), {}, False),
        (log(read(ours) * 2 + read(reduce), "ERROR SUMMARY: 3 errors"), {mine: 2, theirs: 1},
         False),
        (log(read(ours, "0x150 in {}"), "ERROR SUMMARY: 1 error"), {mine: 1}, False),
        (log(read("nvjet_hsh_64x8_64x16_4x1_v_bz_TNT", "{}+0x70"), "ERROR SUMMARY: 1 error"),
         {("library", "nvjet_hsh_64x8_64x16_4x1_v_bz_TNT"): 1}, False),
        (log(device_frame, "ERROR SUMMARY: 1 error"), {mine: 1}, False),
        (log(race(reduce, reduce), "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"),
         {theirs: 1}, False),
        (log(race(reduce, ours), "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"),
         {mine: 1}, False),
        (log(api + copy + "========= Target application returned an error\n",
             "ERROR SUMMARY: 2 errors"),
         {("host", api[10:].split("\n", maxsplit=1)[0]): 1,
          ("ours", "a copy: memory access error"): 1}, False),
        # logs that tell not all
        ("", {}, True),
        ("========= COMPUTE-SANITIZER\n" + read(ours), {mine: 1}, True),
        (log(read(ours), "ERROR SUMMARY: 2 errors\n========= ERROR SUMMARY: 1 errors were not "
                         "printed. Use --print-limit option to adjust"), {mine: 1}, True),
        (log("========= Error: Device not supported. Please refer to the documentation\n",
             "ERROR SUMMARY: 0 errors"), {}, True),
        (log("========= Error: Target application terminated before first instrumented API call\n",
             "ERROR SUMMARY: 0 errors"), {}, True),
    ]
    failures = []
    for text, expected, expect_wrong in cases:
        found, wrong = sort(text.splitlines())
        if found != expected or bool(wrong) != expect_wrong:
            failures.append(f"{text}expected {expected}, {expect_wrong}; found {found}, {wrong}")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        failures = self_test()
        print("\n".join(failures), end="\n" if failures else "")
        return 1 if failures else 0
    with open(arguments[0], errors="replace", encoding="utf-8") as log:
        found, wrong = sort(log)
    totals = collections.Counter()
    order = ("ours", "library", "host")
    for (kind, kernel), count in sorted(found.items(), key=lambda entry: (order.index(entry[0][0]),
                                                                         -entry[1])):
        totals[kind] += count
        print(f"{kind:7} {count:8}  {kernel}")
    for reason in wrong:
        print(f"wrong             {reason}")
    print("total", *(totals[kind] for kind in order))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
