"""tests/summary.sh must not hide a failure."""

import os
import subprocess

import pytest

SUMMARY = os.path.join(os.environ["ADDER_SOURCE"], "tests", "summary.sh")


def summary(tmp_path, tests, broken=0, distcheck=0):
    directory = tmp_path / "build" / "tests"
    directory.mkdir(parents=True)
    for number, (result, log) in enumerate(tests):
        (directory / f"t{number}.trs").write_text(
            f":test-result: {result}\n:global-test-result: {result}\n")
        (directory / f"t{number}.log").write_text(log)
    result = subprocess.run(
        ["sh", SUMMARY, str(broken), str(distcheck), tmp_path / "build"],
        capture_output=True, text=True, timeout=20)
    return result.stdout.splitlines(), result.returncode


@pytest.mark.parametrize("tests, line, status", [
    ([("PASS", "...\n3 passed, 1 skipped in 0.21s\n"), ("PASS", "fine\n")],
     "5 passed, 0 failed, 1 skipped", 0),
    ([("FAIL", "= 2 failed, 7 passed, 1 error in 3.10s =\n")],
     "8 passed, 3 failed, 0 skipped", 1),
    ([("PASS", "[  PASSED  ] 12 test(s).\n"),
      ("FAIL", "[  PASSED  ] 3 test(s).\n[  FAILED  ] 2 test(s), "
       "listed below:\n[  FAILED  ] one\n[  FAILED  ] two\n")],
     "16 passed, 2 failed, 0 skipped", 1),
    ([("PASS", "4 passed in 61.02s (0:01:01)\n")],
     "5 passed, 0 failed, 0 skipped", 0),
    # A crash after the last line of numbers, and one without any.
    ([("FAIL", "3 passed in 0.1s\n")], "4 passed, 1 failed, 0 skipped", 1),
    ([("ERROR", "")], "1 passed, 1 failed, 0 skipped", 1),
    ([("SKIP", "no node\n")], "1 passed, 0 failed, 1 skipped", 1),
    ([], "1 passed, 0 failed, 0 skipped", 1),
])
def test_results_are_added_up(tmp_path, tests, line, status):
    lines, code = summary(tmp_path, tests)
    assert (lines[-1], code) == (line, status)


def test_a_check_that_did_not_get_to_its_tests_is_a_failure(tmp_path):
    tests = [("PASS", "")]
    assert summary(tmp_path, tests, broken=1) == (
        ["2 passed, 1 failed, 0 skipped"], 1)


def test_distcheck_counts(tmp_path):
    tests = [("PASS", "")]
    assert summary(tmp_path, tests, distcheck=1) == (
        ["FAILED: make distcheck", "1 passed, 1 failed, 0 skipped"], 1)


def test_a_failure_shows_the_end_of_its_log(tmp_path):
    log = "".join(f"line {n}\n" for n in range(100)) + "1 failed in 0.1s\n"
    lines, _ = summary(tmp_path, [("FAIL", log), ("PASS", "fine\n")])
    assert lines[0].startswith("FAILED: ")
    assert lines[1:-1] == [f"  line {n}" for n in range(61, 100)] + [
        "  1 failed in 0.1s"]
