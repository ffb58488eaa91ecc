"""What every file of the suite has: one warm daemon, and a last look."""

import pytest

import harness


def pytest_configure(config):
    harness.become_subreaper()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, harness.Daemon):
                report.sections.append(("adderd's log", value.log_tail()))


@pytest.fixture(scope="module", autouse=True)
def no_strays():
    """A file of tests leaves no process behind."""
    yield
    harness.eventually(lambda: not harness.strays(),
        "processes are left: %r" % (harness.strays(),), 5)


@pytest.fixture(scope="module")
def daemon(request):
    """One daemon a file, with the options that the file names in OPTIONS."""
    options = getattr(request.module, "OPTIONS", harness.LIGHT)
    with harness.Daemon(options, tcp=True, stdio=True) as daemon:
        yield daemon


@pytest.fixture
def client(daemon):
    with daemon.connect("unix") as client:
        yield client


@pytest.fixture
def other(daemon):
    """A second client, to show that it is not disturbed."""
    with daemon.connect("unix") as client:
        yield client
