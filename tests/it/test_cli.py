"""The command line, and what the programs are linked with."""

import os
import re
import shutil
import signal
import subprocess

import pytest

import harness

# Runs the command line and never serves.
def adderd(*arguments, **kwargs):
    return subprocess.run([str(harness.build_dir() / "adderd"), *arguments],
        capture_output=True, text=True, timeout=harness.WAIT,
        stdin=subprocess.DEVNULL, **kwargs)


def test_version():
    result = adderd("-V")
    assert result.returncode == 0
    assert re.search(r"\b[0-9]+\.[0-9]+\.[0-9]+\b", result.stdout +
        result.stderr)


def test_unknown_option():
    result = adderd("--no-such-option")
    assert result.returncode != 0 and "usage" in result.stderr.lower()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_option(option):
    result = adderd(option)
    assert (result.returncode, result.stderr) == (0, "")
    for name in "-f", "-o", "-n", "-T", "-d", "-h", "-V", "--stdio", \
            "--sample-conf":
        assert re.search(rf"^  {name}\b", result.stdout, re.M), name


def test_check_of_a_good_configuration(tmp_path):
    dump = adderd("-T", "-f", os.devnull)
    assert dump.returncode == 0 and "python" in dump.stdout, dump.stderr
    conf = tmp_path / "adderd.conf"
    conf.write_text(dump.stdout)
    result = adderd("-n", "-f", str(conf))
    assert result.returncode == 0, result.stderr
    again = adderd("-T", "-f", str(conf))
    assert again.stdout == dump.stdout


MISTAKES = [
    ("pool.max=0", "pool.max", "1"),
    ("pool.max=many", "pool.max", "many"),
    ("pool.maximum=5", "pool.maximum", ""),
    ("limits.timeout=-1s", "limits.timeout", "-1s"),
    ("limits.memory=lots", "limits.memory", "lots"),
    ("log.level=loud", "log.level", "loud"),
    ("listen.tcp=127.0.0.1:99999", "listen.tcp", "99999"),
    ("listen.unix_mode=rw", "listen.unix_mode", "rw"),
    ("no equals sign", "no equals sign", ""),
]


@pytest.mark.parametrize("override,key,value", MISTAKES,
    ids=[row[0].replace(" ", "-") for row in MISTAKES])
def test_mistakes_are_named(override, key, value):
    for flag in ("-n", "-T"):
        result = adderd(flag, "-f", os.devnull, "-o", override)
        assert result.returncode != 0, override
        assert key in result.stderr and value in result.stderr, result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr


@pytest.mark.parametrize("options", [("user=nosuchuser",),
    ("listen.unix_group=nosuchgroup",),
    ("listen.http=0.0.0.0:0", "http.token_file=")], ids=lambda o: o[0])
def test_the_check_finds_what_the_start_does(options, tmp_path):
    arguments = ["-f", os.devnull, "-o", "listen.unix=%s" % (tmp_path / "s")]
    for option in options:
        arguments += ["-o", option]
    if options[0].startswith("user=") and os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    checked, started = adderd("-n", *arguments), adderd(*arguments)
    assert checked.returncode == started.returncode == 2, checked
    assert checked.stderr == started.stderr
    assert options[0].split("=")[1] in checked.stderr
    assert not (tmp_path / "s").exists()


def test_the_check_warns_as_the_start_does(tmp_path):
    options = {"pool.warm": "3", "pool.max": "2"}
    warning = r"warn adderd\[\d+\] (pool\.warm is 3, more than pool\.max.*)"
    checked = adderd("-n", "-f", os.devnull, "-o", "pool.warm=3", "-o",
        "pool.max=2")
    assert checked.returncode == 0
    said = re.fullmatch(warning, checked.stderr.strip())[1]
    with harness.Daemon(dict(harness.LIGHT, **options)) as daemon:
        assert daemon.wait_log(warning)[1] == said
    # A default gives no cause for a warning.
    assert adderd("-n", "-f", os.devnull, "-o", "pool.max=2").stderr == ""


def test_missing_conf_file():
    result = adderd("-n", "-f", "/no/such/adderd.conf")
    assert result.returncode != 0
    assert "/no/such/adderd.conf" in result.stderr


def test_address_in_use():
    with harness.Daemon(harness.LIGHT, tcp=True, unix=False) as daemon:
        result = adderd("-f", os.devnull, "-o",
            "listen.tcp=127.0.0.1:%d" % daemon.tcp_address[1])
        assert result.returncode != 0
        assert str(daemon.tcp_address[1]) in result.stderr


def test_nothing_to_listen_on():
    result = adderd("-f", os.devnull)
    assert result.returncode != 0
    assert "listen" in result.stderr, result.stderr


def linked(program):
    path = shutil.which("ldd")
    if path is None:
        pytest.skip("ldd is not installed")
    return subprocess.run([path, str(harness.build_dir() / program)],
        capture_output=True, text=True, check=True).stdout


def test_server_is_not_linked_with_python():
    libraries = linked("adderd")
    assert "libevent" in libraries and "libpython" not in libraries


def test_zygote_is_not_linked_with_the_event_library():
    assert "libevent" not in linked("adder-zygote")


def test_python_is_not_even_mapped_in_the_server():
    with harness.Daemon(harness.LIGHT) as daemon:
        assert daemon.connect().run("print(1)").stdout == "1\n"
        for pid in (daemon.pid, daemon.keeper().pid):
            maps = open("/proc/%d/maps" % pid).read()
            assert "libpython" not in maps and "numpy" not in maps


def started_by(command):
    """As the prefix of a Daemon: a shell that does this first."""
    return ("/bin/sh", "-c", command + '; exec "$@"', "sh")


@pytest.mark.parametrize("umask", ["077", "0777"])
def test_any_umask_of_whoever_starts_it(umask):
    with harness.Daemon(harness.LIGHT, prefix=started_by("umask " + umask)) \
            as daemon:
        answer = daemon.connect().run("open('f', 'w').write('x' * 5000)")
        assert answer.verdict == "ok", answer


@pytest.mark.skipif(harness.sanitized(), reason="a sanitizer takes more memory "
    "than the limit leaves")
def test_what_does_not_start_is_not_called_busy():
    with harness.Daemon(dict(harness.LIGHT, **{"queue.timeout": "1s"}),
            prefix=started_by("ulimit -d 8192")) as daemon:
        daemon.wait_log("zygote 1 ended")
        answer = daemon.connect().run("print(1)")
        assert answer.verdict == "busy"
        assert "Python did not start on the server within 1 s" in answer.text


def test_limits_that_no_program_can_live_with():
    result = adderd("-n", "-f", os.devnull, "-o", "limits.memory=64k")
    assert result.returncode == 0
    assert "limits.memory is 65536 bytes, less than" in result.stderr


def test_a_pipe_as_configuration_holds_nobody_up(tmp_path):
    """At the start it is read, and not at a reload, whatever writes there."""
    with harness.Daemon(harness.LIGHT, conf="pool.warm = 2\n") as daemon:
        client = daemon.connect()
        daemon.conf_file.unlink()
        os.mkfifo(daemon.conf_file)
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_log("reload refused.* it is a pipe")
        assert client.run("print(1)").stdout == "1\n"
    tokens = tmp_path / "tokens"
    os.mkfifo(tokens)
    result = adderd("-n", "-f", os.devnull, "-o", "listen.http=0", "-o",
        "http.token_file=%s" % tokens)
    assert result.returncode == 2 and "is not a file" in result.stderr
    piped = subprocess.run([str(harness.build_dir() / "adderd"), "-T", "-f",
        "/dev/stdin"], input="pool.warm = 3\n", capture_output=True, text=True)
    assert "pool.warm = 3\n" in piped.stdout, piped
