"""The protocol of peers. A peer is a process that reads and writes JSON lines, with one answer per request.

Request {"id": 1, "op": "run", ...} -> {"id": 1, "result": ..., "cpu": s} or {"id": 1, "error": "one line"}.
"""

import json
import os
import resource
import sys
import time


def peak_bytes():
    """The peak of this process's resident memory."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def serve(handlers):
    """Answers requests until standard input ends. `handlers` maps an op to a function from a request to a JSON value."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not look like an answer
    handlers = {"memory": lambda _: {"bytes": peak_bytes()}, **handlers}
    for line in sys.stdin:
        answer = {}
        try:
            request = json.loads(line)
            answer["id"] = request["id"]
            if request["op"] not in handlers:
                raise ValueError(f"unknown op {request['op']}")
            answer["result"] = handlers[request["op"]](request)
            answer["cpu"] = time.process_time()  # the CPU seconds of all threads since the start
        except Exception as error:
            text = str(error).strip() or "no message"
            answer["error"] = f"{type(error).__name__}: {text.splitlines()[0]}"
        print(json.dumps(answer), file=answers, flush=True)
