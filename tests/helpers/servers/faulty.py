"""A proxy before an S3 server that fails as networks and servers do: seeded, and counted by kind."""

import collections
import http.client
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SLOW = 0.3  # seconds
ERROR = b'<?xml version="1.0"?><Error><Code>%s</Code><Message>as ordered</Message></Error>'
ANSWERS = {
    "500": b"InternalError",
    "503": b"SlowDown",
    "403": b"InvalidAccessKeyId",
}  # not passed on
KINDS = ("500", "503", "slow", "lost request", "half request", "lost answer", "half answer")


class Faulty(ThreadingHTTPServer):
    """Passes requests on to `endpoint`; a share `chance` of them meets one of `kinds`, at random.

    "away": the connection is closed at once. "hung": it is never answered. `counts`: how often each happened;
    the first `allowed` are spared.
    """

    daemon_threads, request_queue_size = True, 128

    def __init__(self, endpoint, seed=0):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream, self.dice = urlsplit(endpoint).netloc, random.Random(seed)
        self.kinds, self.chance, self.allowed = KINDS, 0.0, 0
        self.counts, self.lock, self.over = (
            collections.Counter(),
            threading.Lock(),
            threading.Event(),
        )
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()

    def draw(self):
        """The kind of fault that the next request meets; None: it is passed on."""
        with self.lock:
            spared = sum(self.counts.values()) < self.allowed
            kind = (
                self.dice.choice(self.kinds)
                if not spared and self.dice.random() < self.chance
                else None
            )
            self.counts[kind or "passed on"] += 1
            return kind

    def handle_error(self, *_):
        """Nothing: a client that hangs up is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self):
        kind, self.close_connection = self.server.draw(), True
        if kind == "away":
            return None
        if kind == "hung":
            self.server.over.wait()
            return None
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if kind in ANSWERS:
            content = b"" if self.command == "HEAD" else ERROR % ANSWERS[kind]
            return self._answer(int(kind), [], content, len(content))
        if kind == "slow":
            time.sleep(SLOW)
        if kind == "lost request":
            return None
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            if kind == "half request":
                upstream.endheaders(body[: len(body) // 2])
                return None
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        if kind == "lost answer":
            return None
        size = (
            answer.getheader("Content-Length", len(content))
            if self.command == "HEAD"
            else len(content)
        )
        sent = content[: len(content) // 2] if kind == "half answer" else content
        self._answer(answer.status, answer.getheaders(), sent, size)
        self.close_connection = kind == "half answer"
        return None

    def _answer(self, status, headers, content, size):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve

    def log_message(self, *_):
        """Nothing."""
