"""Serves S3 on a free port of loopback, prints the port, and ends with its parent.

It answers one request at a time, so that it decides conditional writes as S3 does: exactly one of several writers wins.
"""

import os
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=False)
threading.Thread(target=end_with_parent, daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
