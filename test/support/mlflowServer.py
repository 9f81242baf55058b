"""MLflow's tracking server on loopback, with a new database in a folder. Prints its port, and serves until its input ends.

It is the REST server of `mlflow server`, without the packages that only its pages and its endpoint for traces need. The test
sets the variables that `mlflow server` passes to its processes.
"""
import sys
import threading

from mlflow.server import app
from werkzeug.serving import make_server

server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.port, flush=True)
sys.stdin.read()
server.shutdown()
