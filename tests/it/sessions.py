"""Sessions over one connection, for tests."""

import harness


class Session:
    """One of sandbox_initialize, or a branch."""

    def __init__(self, client, handle=None, **arguments):
        self.client = client
        if handle is None:
            handle = self.handle_of(call(client, "sandbox_initialize",
                **arguments))
        self.handle = handle

    @staticmethod
    def handle_of(answer):
        assert not answer.is_error, answer
        return answer.result["structuredContent"]["session_id"]

    def start(self, code, **arguments):
        return self.client.start(code, session_id=self.handle, **arguments)

    def finish(self, ident, **kwargs):
        return self.client.finish(ident, **kwargs)

    def run(self, code, **arguments):
        return self.client.run(code, session_id=self.handle, **arguments)

    def fork(self):
        return Session(self.client, self.handle_of(call(self.client,
            "sandbox_fork", session_id=self.handle)))

    def stop(self):
        return call(self.client, "sandbox_stop", session_id=self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def call(client, tool, **arguments):
    return harness.Answer(client.rpc("tools/call", {"name": tool,
        "arguments": arguments}))


def fate(answer):
    return answer.receipt.get("session")
