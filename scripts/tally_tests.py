#!/usr/bin/env python3
"""Counts the tests of a ctest run.

usage: tally_tests.py JUNIT.xml     prints: PASSED FAILED SKIPPED
       tally_tests.py --self-test

A doctest program counts by its test cases, any other program as one test. A program that ran no
test case has failed.
"""

import re
import sys
import tempfile
import xml.etree.ElementTree as xml

SUMMARY = re.compile(
    r"\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped")


def tally_case(case):
    """(passed, failed, skipped) of one ctest entry."""
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return 0, 0, 1
    summaries = SUMMARY.findall(case.findtext("system-out") or "")
    total, passed, failed, skipped = (sum(map(int, column)) for column in zip(*summaries)) \
        if summaries else (1, 1, 0, 0)
    failed_entry = case.find("failure") is not None or case.get("status") == "fail"
    if failed_entry and failed == 0:  # a crash, or a failure outside of any test case
        return max(passed - 1, 0), 1, skipped
    if total == 0 and skipped == 0:
        return 0, 1, 0
    return passed, failed, skipped


def tally(path):
    cases = xml.parse(path).getroot().iter("testcase")
    return tuple(map(sum, zip((0, 0, 0), *map(tally_case, cases))))


def self_test():
    def entry(status, child, output):
        return (f'<testcase name="x" status="{status}">{child}<system-out>{output}</system-out>'
                "</testcase>")

    def doctest(total, passed, failed, skipped):
        return (f"[doctest] test cases: {total:2} | {passed:2} passed | {failed} failed | "
                f"{skipped} skipped\n[doctest] assertions: 9 | 9 passed | 0 failed |")

    expected = [
        (entry("run", "", doctest(7, 7, 0, 2)), (7, 0, 2)),
        (entry("fail", '<failure message=""/>', doctest(7, 5, 2, 0)), (5, 2, 0)),
        (entry("fail", '<failure message=""/>', "Segmentation fault"), (0, 1, 0)),
        (entry("run", "", doctest(0, 0, 0, 0)), (0, 1, 0)),
        (entry("run", "", doctest(0, 0, 0, 4)), (0, 0, 4)),
        (entry("run", "", "done"), (1, 0, 0)),
        (entry("notrun", '<skipped message="SKIP_RETURN_CODE=77"/>', ""), (0, 0, 1)),
        ("", (0, 0, 0)),
        (entry("run", "", doctest(2, 2, 0, 0)) + entry("run", "", "done"), (3, 0, 0)),
    ]
    wrong = []
    for body, numbers in expected:
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(f"<testsuite>{body}</testsuite>")
            file.flush()
            if tally(file.name) != numbers:
                wrong.append(f"{body}: expected {numbers}, found {tally(file.name)}")
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        wrong = self_test()
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    print(*tally(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
