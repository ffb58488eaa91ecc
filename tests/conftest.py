"""For every directory of tests."""


def pytest_sessionfinish(session, exitstatus):
    """A file of which nothing could run is a skipped test (77)."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter else {}
    if exitstatus in (0, 5) and stats.get("skipped") and \
            not stats.get("passed"):
        session.exitstatus = 77
