"""Reports follow configs/report.schema.json, JUnit is XML, the default policy follows its schema.

usage: report_schema_test.py REPORT_SAMPLES CONFIGS
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))
from schema import errors  # noqa: E402

SAMPLES, CONFIGS = sys.argv[1], pathlib.Path(sys.argv[2])


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def read(path):
    return json.loads(path.read_bytes().decode("utf-8"), parse_constant=refuse)


class Reports(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        subprocess.run([SAMPLES, self.folder.name], check=True)
        paths = sorted(pathlib.Path(self.folder.name).iterdir())
        self.json = {path.stem: read(path) for path in paths if path.suffix == ".json"}
        self.xml = {path.stem: ElementTree.parse(path).getroot()
                    for path in paths if path.suffix == ".xml"}
        self.schema = read(CONFIGS / "report.schema.json")
        self.assertEqual(len(self.json), 6)
        self.assertEqual(len(self.xml), 6)

    def test_every_report_follows_the_schema(self):
        for name, report in self.json.items():
            self.assertEqual(list(errors(report, self.schema)), [], name)

    def test_numbers_that_are_not_finite_are_words(self):
        broken = self.json["differ"]["pairs"][0]["items"]
        self.assertEqual(broken[0]["worst_error"], "NaN")
        self.assertEqual(broken[0]["non_finite"], {"a": 7, "b": 0})
        self.assertEqual(broken[1]["worst_error"], "Infinity")
        self.assertEqual(self.json["differ"]["ledger"]["range"], "NaN")

    def test_the_schema_refuses_what_it_should(self):
        for spoil in (lambda r: r.pop("worst"), lambda r: r.update(verdict="fine"),
                      lambda r: r.update(exit_code=10), lambda r: r["cause"].pop("runner_up"),
                      lambda r: r["worst"].update(box_px=[1, 2, 3]), lambda r: r.update(extra=1),
                      lambda r: r["pairs"][0]["items"][0].update(worst_error="many"),
                      lambda r: r["pairs"][0]["items"][0].update(limit=None),
                      lambda r: r["failed"][0].pop("class"), lambda r: r.update(cause="x")):
            bad = copy.deepcopy(self.json["differ"])
            spoil(bad)
            self.assertNotEqual(list(errors(bad, self.schema)), [])

    def test_junit_counts_what_it_holds(self):
        for name, root in self.xml.items():
            cases = root.findall("testsuite/testcase")
            self.assertEqual(root.get("tests"), str(len(cases)), name)
            for attribute, tag in (("failures", "failure"), ("errors", "error")):
                found = root.findall(f"testsuite/testcase/{tag}")
                self.assertEqual(root.get(attribute), str(len(found)), name)
            self.assertTrue(cases, name)
            green = root.get("failures") == root.get("errors") == "0"
            self.assertEqual(green, name == "agree", name)

    def test_junit_has_a_case_for_each_item_of_each_pair(self):
        suites = self.xml["differ"].findall("testsuite")
        self.assertEqual([suite.get("name") for suite in suites],
                         ["graph, replay 2 against oracle", "eager against oracle", "did not run"])
        self.assertEqual([case.get("name") for case in suites[0]], ["x.png", "y.png"])
        self.assertIn("deepstack.0", suites[0].find("testcase/failure").text)
        missing = self.xml["not_comparable"].findall("testsuite/testcase/failure")
        self.assertEqual([failure.get("type") for failure in missing],
                         ["vacuous", "not_comparable"])

    def test_names_survive(self):
        euro = "\u20ac.png"
        self.assertTrue(self.json["hostile"]["pairs"][0]["a"].endswith(euro))
        self.assertTrue(self.xml["hostile"].find("testsuite").get("name").startswith("a\"<b>&'\n"))

    def test_the_default_policy_follows_its_schema(self):
        schema = read(CONFIGS / "policy.schema.json")
        policy = read(CONFIGS / "default.json")
        self.assertEqual(list(errors(policy, schema)), [])
        for change in ({"k": -1}, {"limits": {"fp8": 1}}, {"unknown": 1}, {"date": "today"}):
            self.assertNotEqual(list(errors({**policy, **change}, schema)), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
