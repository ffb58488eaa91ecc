"""Streams: what comes unasked, in both eras and on every carrier, and HTTP
streams that break and are taken up again."""

import json
import os
import re
import signal
import socket
import tempfile

import pytest

import harness
from test_http import BERT, ANNA, META, MODERN, Http, modern, note, request, run

OPTIONS = dict(harness.LIGHT, **{"listen.http": "127.0.0.1:0",
    "http.legacy_sse": "on", "result.keep": "64k", "result.max_text": "1k"})
EVENTS = {"Accept": "text/event-stream"}
# Output that does not go out whole, so a resource is kept of it.
LONG = "print('x' * 5000)"
STEPS = ("import time\nfor i in range(%d):\n    print('step', i, flush=True)\n"
    "    time.sleep(0.3)\n")


class Stream:
    """Events as they come, over a connection of its own."""

    def __init__(self, daemon, method="GET", body=None, headers=None,
            path="/mcp", session=None, version=None, token=None, receive=None):
        self.web = Http(daemon, token)
        self.web.session, self.web.version = session, version
        if receive:
            self.web.connection.connect()
            self.web.connection.sock.setsockopt(socket.SOL_SOCKET,
                socket.SO_RCVBUF, receive)
        self.web.send(method, path, body, headers or (EVENTS
            if method == "GET" else {}))
        self.reply = self.web.connection.getresponse()
        self.status = self.reply.status
        self.last_id = None
        self.retry = None
        self.ids = []
        self.seen = []

    @classmethod
    def of(cls, web, *args, **kwargs):
        return cls(*args, session=web.session, version=web.version,
            token=web.token, **kwargs)

    def event(self):
        """The next event with a block of its own, as a dictionary; None at
        the end."""
        event = {}
        while True:
            line = self.reply.readline().decode("ascii")
            if line == "":
                return None
            line = line.rstrip("\n")
            if line == "" and event:
                break
            name, sep, value = line.partition(": ")
            if sep and name:
                event[name] = value
            elif line and not line.startswith(":"):
                event[line.rstrip(":")] = ""
        if "id" in event:
            self.last_id = event["id"]
            self.ids.append(event["id"])
        if "retry" in event:
            self.retry = int(event["retry"])
        return event

    def message(self):
        """The next event that has data; None at the end."""
        while True:
            event = self.event()
            if event is None:
                return None
            if event.get("data"):
                self.seen.append(json.loads(event["data"]))
                return self.seen[-1]

    def wait(self, method):
        while True:
            message = self.message()
            assert message is not None, (method, self.seen)
            if message.get("method") == method:
                return message

    def rest(self):
        messages = []
        while (message := self.message()) is not None:
            messages.append(message)
        return messages

    def drop(self):
        """The connection breaks."""
        self.reply.close()
        self.web.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.drop()


@pytest.fixture
def web(daemon):
    with Http(daemon) as web:
        web.initialize()
        yield web


def resume(daemon, web, stream, last=None):
    return Stream.of(web, daemon, headers=dict(EVENTS, **{
        "Last-Event-ID": last or stream.last_id}))


def call(daemon, web, code, ident=1, **arguments):
    return Stream.of(web, daemon, method="POST", body=run(code, ident,
        {"progressToken": "p"}, **arguments))


# --- the stream of a session ------------------------------------------------

def test_get_stream(daemon, web):
    with Stream.of(web, daemon) as stream:
        assert stream.status == 200
        assert stream.reply.headers["Content-Type"] == "text/event-stream"
        assert "no-cache" in stream.reply.headers["Cache-Control"]
        # The first event has an id and no data, and says when to come back.
        first = stream.event()
        assert first["data"] == "" and first["id"] and stream.retry
        # There is one for a session, until it ends.
        assert Stream.of(web, daemon).status == 409
        # Another session has its own.
        with Http(daemon) as other:
            other.initialize()
            with Stream.of(other, daemon) as second:
                assert second.status == 200
        web.post(run(LONG))
        assert stream.wait("notifications/resources/list_changed")
    harness.eventually(lambda: again(daemon, web), "a stream once more")


def again(daemon, web):
    with Stream.of(web, daemon) as stream:
        return stream.status == 200


def test_old_versions_get_no_empty_event(daemon):
    for version in ("2025-03-26", "2025-06-18"):
        with Http(daemon) as web:
            web.initialize(version)
            with Stream.of(web, daemon) as stream:
                web.post(run(LONG))
                event = stream.event()
                assert "id" not in event and json.loads(event["data"])[
                    "method"] == "notifications/resources/list_changed"
            with call(daemon, web, "print(1)") as stream:
                stream.rest()
                assert stream.ids == []


def test_delete_ends_the_stream(daemon):
    with Http(daemon) as web:
        web.initialize()
        with Stream.of(web, daemon) as stream:
            assert web.ask("DELETE").status == 200
            assert stream.rest() == []
            assert Stream.of(web, daemon).status == 404


def test_stream_keeps_a_session(daemon):
    """A session that only listens is not idle."""
    with harness.Daemon(dict(OPTIONS, **{"http.session_idle": "1s",
            "http.sessions": "1"})) as short:
        with Http(short) as web, Http(short) as other:
            web.initialize()
            with Stream.of(web, short) as stream:
                stream.event()
                assert other.post(request("initialize",
                    {"protocolVersion": "2025-11-25"})).status == 400
                web.post(run(LONG))
                stream.wait("notifications/resources/list_changed")
            harness.eventually(lambda: other.post(request("initialize",
                {"protocolVersion": "2025-11-25"})).status == 200,
                "the session expires once nobody listens")


def test_nobody_else_takes_a_stream_up(daemon):
    with Http(daemon) as web, Http(daemon) as other:
        web.initialize()
        other.initialize()
        with call(daemon, web, "print(1)") as stream:
            stream.rest()
        # The id is another stream's in the other session, or none.
        assert resume(daemon, other, stream).status == 405


# --- streams that break -----------------------------------------------------

def test_a_lost_answer_is_fetched(daemon, web):
    stream = call(daemon, web, STEPS % 4)
    first = stream.wait("notifications/progress")
    stream.drop()
    # It goes on without its client.
    with resume(daemon, web, stream) as later:
        assert later.status == 200
        rest = later.rest()
    answer = harness.Answer(rest[-1])
    assert answer.stdout == "".join("step %d\n" % i for i in range(4))
    values = [m["params"]["progress"] for m in [first] + rest[:-1]]
    assert values == sorted(set(values))
    assert len(set(later.ids) - set(stream.ids)) == len(rest)


def test_an_answer_waits_for_its_client(daemon, web):
    stream = call(daemon, web, STEPS % 1)
    stream.event()
    primed = stream.last_id
    stream.drop()
    # Whatever else runs afterwards runs after it, in a pool of one.
    harness.eventually(lambda: web.post(run("1", 1)).json.get("error") is
        None, "the call is through")
    for _ in range(2):		# and once more, if that broke as well
        with resume(daemon, web, stream, primed) as later:
            assert harness.Answer(later.rest()[-1]).stdout == "step 0\n"
    # Who has it all is told that there is nothing.
    assert resume(daemon, web, stream, later.last_id).status == 405


def test_streams_do_not_mix(daemon, web):
    one = call(daemon, web, "import time\ntime.sleep(0.3)\nprint('one')", 1)
    two = call(daemon, web, "import time\ntime.sleep(0.3)\nprint('two')", 2)
    assert one.event()["id"] != two.event()["id"]
    one.drop()
    two.drop()
    for stream, ident, text in ((two, 2, "two\n"), (one, 1, "one\n")):
        with resume(daemon, web, stream) as later:
            answer = later.rest()[-1]
            assert answer["id"] == ident
            assert harness.Answer(answer).stdout == text


def test_a_stream_has_one_client(daemon, web):
    """Who takes it up gets what comes; the one before is let go."""
    stream = call(daemon, web, STEPS % 3)
    stream.wait("notifications/progress")
    with resume(daemon, web, stream) as later:
        assert all("method" in m for m in stream.rest())
        assert harness.Answer(later.rest()[-1]).stdout.startswith("step 0")
    stream.drop()


def test_cancel_ends_a_broken_stream(daemon, web):
    stream = call(daemon, web, STEPS % 100, 5, timeout=60)
    stream.wait("notifications/progress")
    stream.drop()
    with resume(daemon, web, stream) as later:
        assert web.post(note("notifications/cancelled",
            {"requestId": 5})).status == 202
        assert all("method" in m for m in later.rest())
    # There is nothing to come back for.
    assert resume(daemon, web, stream).status == 405


def test_get_stream_taken_up(daemon, web):
    stream = Stream.of(web, daemon)
    stream.event()
    stream.drop()
    web.post(run(LONG))
    with resume(daemon, web, stream) as later:
        later.wait("notifications/resources/list_changed")
        with Stream.of(web, daemon) as more:
            assert more.status == 409


def test_what_is_kept_is_bounded():
    """The oldest goes first, and memory does not grow."""
    with harness.Daemon(dict(OPTIONS, **{"http.replay": "64k",
            "result.max_text": "8m"})) as daemon, Http(daemon) as web:
        web.initialize()
        streams = []
        for n in range(40):
            with call(daemon, web, "print('x' * 4000)", n) as stream:
                first = stream.event()["id"]
                stream.rest()
            streams.append((stream, first))
        assert resume(daemon, web, *streams[0]).status == 405
        with resume(daemon, web, *streams[-1]) as later:
            assert harness.Answer(later.rest()[-1]).stdout == (
                "x" * 4000 + "\n")


def test_lost_streams_cost_a_bounded_memory():
    """Of clients that break off, and of what handshakes say."""
    with harness.Daemon(dict(OPTIONS, **{"http.replay": "2m",
            "result.max_text": "8m", "http.sessions": "2000"})) as daemon:
        def some(count):
            for n in range(count):
                with Http(daemon) as web:
                    web.post(request("initialize", {"protocolVersion":
                        "2025-11-25", "capabilities": {"x": "y" * 100000}}))
                with Http(daemon) as web:
                    web.initialize()
                    stream = call(daemon, web, "print('x' * 200000)", n)
                    stream.event()
                    stream.drop()
                    listener = Stream.of(web, daemon)
                    listener.event()
                    listener.drop()
        some(20)
        before = harness.proc_status_kib(daemon.pid, "VmRSS")
        some(150)
        after = harness.proc_status_kib(daemon.pid, "VmRSS")
        assert after - before < 12 * 1024 or harness.sanitized(), (before,
            after)


def test_nothing_is_kept_if_so_configured():
    with harness.Daemon(dict(OPTIONS, **{"http.replay": "0"})) as daemon, \
            Http(daemon) as web:
        web.initialize()
        with call(daemon, web, "print(1)") as stream:
            assert harness.Answer(stream.rest()[-1]).stdout == "1\n"
            assert stream.ids == []
        with Stream.of(web, daemon) as stream:
            web.post(run(LONG))
            stream.wait("notifications/resources/list_changed")
            assert stream.ids == []


def test_stop_ends_streams():
    with harness.Daemon(OPTIONS) as daemon:
        with Http(daemon) as web:
            web.initialize()
            with Stream.of(web, daemon) as stream, \
                    listen(daemon, resourcesListChanged=True) as listener:
                stream.event()
                listener.wait("notifications/subscriptions/acknowledged")
                daemon.send_signal(signal.SIGTERM)
                assert stream.rest() == []
                result = listener.rest()[-1]["result"]
                assert result["resultType"] == "complete"
                assert result["_meta"][META + "subscriptionId"] == "sub"
            assert daemon.wait_exit() == 0


# --- what comes unasked: handshake ------------------------------------------

def uri_of(answer):
    """The resource that holds what an answer had no room for."""
    links = [b for b in answer["result"]["content"]
        if b["type"] == "resource_link"]
    return links[0]["uri"] if links else re.search(r"adder://\S+?stdout",
        json.dumps(answer))[0]


CARRIERS = ["stdio", "unix", "tcp"]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_list_changed(daemon, carrier):
    client = daemon.connect(carrier)
    client.finish(client.start(LONG))
    client.notification("notifications/resources/list_changed")
    # Nothing left behind, nothing said.
    client.run("print(1)")
    client.ping()
    assert not [m for m in client.inbox if "list_changed" in
        m.get("method", "")]


def test_list_changed_where_files_are_kept():
    """What a run made is in files.dir, and in the list."""
    code = "open('out.txt', 'w').write('kept')"
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        with harness.Daemon(dict(OPTIONS, **{"files.dir": top + "/kept"})) \
                as daemon, Http(daemon) as web:
            client = daemon.connect()
            client.run(code)
            client.notification("notifications/resources/list_changed")
            with listen(daemon, resourcesListChanged=True) as stream:
                stream.wait("notifications/subscriptions/acknowledged")
                message, headers = envelop(run(code))
                assert web.ask("POST", body=message,
                    headers=headers).status == 200
                stream.wait("notifications/resources/list_changed")
                message, headers = envelop(request("resources/list"))
                assert "out.txt" in json.dumps(web.ask("POST", body=message,
                    headers=headers).json["result"]["resources"])


def test_list_changed_of_others(daemon, client, other):
    client.run(LONG)
    client.notification("notifications/resources/list_changed")
    other.ping()
    assert not [m for m in other.inbox if "method" in m]


def test_list_changed_over_the_old_pair(daemon):
    stream = Stream(daemon, path="/sse")
    with stream:
        path = stream.event()["data"]
        with Http(daemon) as web:
            for message in (request("initialize", {"protocolVersion":
                    "2024-11-05", "capabilities": {}}, 0), run(LONG, 1)):
                assert web.ask("POST", path, message).status == 202
        stream.wait("notifications/resources/list_changed")
        assert stream.ids == []


@pytest.mark.parametrize("carrier", CARRIERS)
def test_subscribe(daemon, carrier):
    client = daemon.connect(carrier)
    ident = client.start(LONG)
    uri = uri_of(client.answer(ident))
    assert client.rpc("resources/subscribe", {"uri": uri})["result"] == {}
    assert client.rpc("resources/subscribe", {"uri": uri})["result"] == {}
    assert client.rpc("resources/subscribe", {"uri": uri + "x"})["error"][
        "code"] == -32002
    crowd_out(client)
    seen = client.notification("notifications/resources/updated")
    assert seen["params"] == {"uri": uri}
    assert client.rpc("resources/read", {"uri": uri})["error"]["code"] == \
        -32002


def crowd_out(client):
    """So much is kept that the oldest goes."""
    for _ in range(20):
        client.run(LONG)


def test_unsubscribe(client):
    uri = uri_of(client.answer(client.start(LONG)))
    other = uri_of(client.answer(client.start(LONG)))
    for each in (uri, other):
        client.rpc("resources/subscribe", {"uri": each})
    assert client.rpc("resources/unsubscribe", {"uri": uri})["result"] == {}
    assert client.rpc("resources/unsubscribe", {"uri": uri})["result"] == {}
    crowd_out(client)
    seen = client.notification("notifications/resources/updated")
    assert seen["params"] == {"uri": other}


def test_subscriptions_are_bounded():
    with harness.Daemon(dict(OPTIONS, **{"result.keep": "8m"})) as daemon:
        client = daemon.connect()
        uris = [uri_of(client.answer(client.start(LONG)))
            for _ in range(101)]
        for uri in uris[:100]:
            assert "result" in client.rpc("resources/subscribe",
                {"uri": uri})
        error = client.rpc("resources/subscribe", {"uri": uris[100]})["error"]
        assert error["code"] == -32602 and "100" in error["message"]


def test_tools_change_with_the_configuration():
    with harness.Daemon(OPTIONS, conf="") as daemon, Http(daemon) as web:
        web.initialize()
        client = daemon.connect()
        with Stream.of(web, daemon) as stream, listen(daemon,
                toolsListChanged=True) as listener:
            listener.wait("notifications/subscriptions/acknowledged")
            daemon.conf_file.write_text("compat.tools = on\n")
            daemon.send_signal(signal.SIGHUP)
            client.notification("notifications/tools/list_changed")
            stream.wait("notifications/tools/list_changed")
            listener.wait("notifications/tools/list_changed")
        assert "execute_python_code" in [t["name"] for t in client.rpc(
            "tools/list")["result"]["tools"]]


# --- what comes unasked: subscriptions/listen -------------------------------

def envelop(message):
    """modern(), its headers by their names."""
    message, headers = modern(message)
    return message, {k.replace("_", "-"): v for k, v in headers.items()}


def listen(daemon, ident="sub", token=None, **wishes):
    message, headers = envelop(request("subscriptions/listen",
        {"notifications": wishes}, ident))
    return Stream(daemon, method="POST", body=message, headers=headers,
        token=token)


def test_listen_over_http(daemon):
    with listen(daemon, resourcesListChanged=True, toolsListChanged=False,
            promptsListChanged=True, bogus=True) as stream, \
            Http(daemon) as web:
        first = stream.message()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        # Prompts never change here.
        assert first["params"]["notifications"] == {
            "resourcesListChanged": True}
        assert first["params"]["_meta"] == {META + "subscriptionId": "sub"}
        message, headers = envelop(run(LONG, 4))
        assert web.ask("POST", body=message, headers=headers).status == 200
        seen = stream.wait("notifications/resources/list_changed")
        assert seen["params"]["_meta"] == {META + "subscriptionId": "sub"}
        assert stream.ids == []


@pytest.mark.parametrize("carrier", CARRIERS)
def test_listen(daemon, carrier):
    client = daemon.connect(carrier, None)
    envelope = {META + "protocolVersion": MODERN,
        META + "clientCapabilities": {}}

    def ask(method, **params):
        return client.request(method, dict(params, _meta=envelope))

    uri = uri_of(client.answer(ask("tools/call", name="run_python",
        arguments={"code": LONG})))
    narrow = ask("subscriptions/listen", notifications={
        "toolsListChanged": True})
    wide = ask("subscriptions/listen", notifications={
        "resourcesListChanged": True, "resourceSubscriptions": [uri]})
    for ident, honoured in ((narrow, {"toolsListChanged": True}),
            (wide, {"resourcesListChanged": True,
                "resourceSubscriptions": [uri]})):
        ack = client.notification("notifications/subscriptions/acknowledged")
        assert ack["params"] == {"notifications": honoured,
            "_meta": {META + "subscriptionId": ident}}
    for _ in range(20):
        client.answer(ask("tools/call", name="run_python",
            arguments={"code": LONG}))
    seen = client.notification("notifications/resources/updated")
    assert seen["params"] == {"uri": uri, "_meta": {META + "subscriptionId":
        wide}}
    client.notification("notifications/resources/list_changed")
    # A cancelled one is silent from then on; its id is free.
    client.cancel(wide)
    client.inbox.clear()
    client.answer(ask("tools/call", name="run_python",
        arguments={"code": LONG}))
    client.answer(ask("server/discover"))
    assert not [m for m in client.inbox if m.get("params", {}).get("_meta",
        {}).get(META + "subscriptionId") == wide]
    if carrier == "tcp":
        # What only waits does not keep a connection whose client is done.
        client.shut_down_writing()
        result = client.answer(narrow)["result"]
        assert result["_meta"][META + "subscriptionId"] == narrow
        client.wait_closed()


def test_listen_does_not_keep_a_server():
    """A client that only listens ends a server on its pipes by leaving."""
    with harness.Daemon(harness.LIGHT, stdio=True) as daemon:
        client = daemon.connect("stdio", None)
        ident = client.request("subscriptions/listen", {"notifications": {},
            "_meta": {META + "protocolVersion": MODERN,
            META + "clientCapabilities": {}}})
        client.notification("notifications/subscriptions/acknowledged")
        client.shut_down_writing()
        assert client.answer(ident)["result"]["resultType"] == "complete"
        assert daemon.wait_exit() == 0


@pytest.mark.parametrize("code, status, params, headers", [
    (-32602, 200, {}, {}),
    (-32602, 200, {"notifications": []}, {}),
    (-32602, 200, {"notifications": {"resourceSubscriptions": "x"}}, {}),
    (-32602, 200, {"notifications": {"resourceSubscriptions": [7]}}, {}),
    (-32602, 200, {"notifications": {"resourceSubscriptions":
        ["x" * 20000]}}, {}),
    (-32602, 200, {"notifications": {"resourceSubscriptions":
        ["u%d" % n for n in range(101)]}}, {}),
    (-32600, 406, {"notifications": {}}, {"Accept": "application/json"}),
])
def test_listen_refused(daemon, code, status, params, headers):
    with Http(daemon) as web:
        message, own = envelop(request("subscriptions/listen", params))
        reply = web.ask("POST", body=message, headers=dict(own, **headers))
        assert reply.status == status
        assert reply.json["error"]["code"] == code
        # A handshake has other means.
        web.initialize()
        assert web.post(request("subscriptions/listen",
            {"notifications": {}})).json["error"]["code"] == -32601


def test_listeners_are_bounded():
    with harness.Daemon(dict(OPTIONS, **{"clients.calls_max": "3"})) as daemon:
        client = daemon.connect(version=None)
        idents = [client.request("subscriptions/listen",
            {"notifications": {}, "_meta": {META + "protocolVersion": MODERN,
                META + "clientCapabilities": {}}}) for _ in range(4)]
        assert client.answer(idents[3])["error"]["code"] == -32600
        for _ in range(3):
            client.notification("notifications/subscriptions/acknowledged")


def test_listener_that_does_not_read(daemon):
    """News for it costs no memory: each is told once."""
    with listen(daemon, resourcesListChanged=True) as stream, \
            Http(daemon) as web:
        stream.wait("notifications/subscriptions/acknowledged")
        for _ in range(30):
            message, headers = envelop(run(LONG, 4))
            web.ask("POST", body=message, headers=headers)
        stream.wait("notifications/resources/list_changed")


def test_tokens_hear_of_their_own(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("anna %s\nbert %s\n" % (ANNA, BERT))
    tokens.chmod(0o600)
    with harness.Daemon(dict(OPTIONS, **{"http.token_file": str(tokens)})) \
            as daemon:
        with listen(daemon, token=BERT, resourcesListChanged=True) as bert, \
                listen(daemon, token=ANNA, resourcesListChanged=True) as anna, \
                Http(daemon, ANNA) as web:
            for stream in (anna, bert):
                stream.wait("notifications/subscriptions/acknowledged")
            message, headers = envelop(run(LONG, 4))
            assert web.ask("POST", body=message, headers=headers).status == 200
            anna.wait("notifications/resources/list_changed")
            # Bert's next news is of his own.
            daemon.send_signal(signal.SIGTERM)
            assert [m.get("method") for m in bert.rest()] == [None]
        daemon.wait_exit()
