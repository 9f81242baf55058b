"""Serves S3 on a free port of an address, prints the port, and ends with its parent.

It answers one request at a time, so that it decides conditional writes as S3 does: exactly one of several writers wins.
"""

import os
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Handler(WSGIRequestHandler):
    timeout = 10  # seconds without a byte: a client that is cut off must not block the others



def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


application = DomainDispatcherApplication(create_backend_app)
server = make_server(sys.argv[1], 0, application, threaded=False, request_handler=Handler)
threading.Thread(target=end_with_parent, daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
