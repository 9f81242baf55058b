"""Serves S3 on a free port of an address, prints the port, and ends with its parent. Arguments: address, share of faults.

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

    def __call__(self, environ, start_response):
        draw = self.random.random()
        if self.share <= draw < 2 * self.share:
            time.sleep(self.random.uniform(0.2, 2))
        if draw >= self.share:
            return self.application(environ, start_response)
        if draw < self.share / 2:
            list(self.application(environ, lambda *_: None))
        start_response("503 Slow Down", [("Content-Length", "0")])
        return [b""]


def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


application = Faulty(DomainDispatcherApplication(create_backend_app), float(sys.argv[2]))
server = make_server(sys.argv[1], 0, application, threaded=False, request_handler=Handler)
threading.Thread(target=end_with_parent, daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
