"""Serves S3 on a free port of an address, prints the port, and ends with its parent. Arguments: address, share of faults.
Each line of standard input is the number of results that a store may have until the next line.

It answers one request at a time, so that it decides conditional writes as S3 does: exactly one of several writers wins.
"""

import os
import random
import sys
import threading
import time

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Handler(WSGIRequestHandler):
    timeout = 10  # seconds without a byte: a client that is cut off must not block the others


class Faulty:
    """Fails a share of the requests, half of them after they took place, and delays as many."""

    def __init__(self, application, share: float) -> None:
        self.application, self.share, self.random = application, share, random.Random(0)
        self.most, self.results = None, set()

    def __call__(self, environ, start_response):
        draw = self.random.random()
        if self.share <= draw < 2 * self.share:
            time.sleep(self.random.uniform(0.2, 2))
        is_held = self.is_held(environ)
        if draw >= self.share and not is_held:
            return self.serve(environ, start_response)
        if draw < self.share / 2 and not is_held:
            list(self.serve(environ, lambda *_: None))
        start_response("503 Slow Down", [("Content-Length", "0")])
        return [b""]

    def serve(self, environ, start_response):
        def started(status, *rest):
            if status.startswith("200") and is_result(environ):
                self.results.add(environ["PATH_INFO"])
            return start_response(status, *rest)

        return self.application(environ, started)

    def is_held(self, environ) -> bool:
        """Whether a request writes a new result beyond the limit."""
        is_new = is_result(environ) and environ["PATH_INFO"] not in self.results
        return is_new and self.most is not None and len(self.results) >= self.most


def is_result(environ) -> bool:
    path = environ["PATH_INFO"]
    return environ["REQUEST_METHOD"] == "PUT" and "/memo/" in path and not path.endswith(".inputs")


def follow_parent() -> None:
    for line in sys.stdin:
        application.most = int(line)
    os._exit(0)


application = Faulty(DomainDispatcherApplication(create_backend_app), float(sys.argv[2]))
server = make_server(sys.argv[1], 0, application, threaded=False, request_handler=Handler)
threading.Thread(target=follow_parent, daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
