"""The schemes that a sandbox of one's own begins with, as peers: a program with five tests is one execution.

bare: one fresh interpreter that runs the program and then its asserts.
multiprocessing: a forked process loads the program, then one for each test calls it and sends the answer through a pipe.
pytest: program and test file in a temporary folder, pytest as a subprocess, its summary line read.
Each gives full marks to a program that knows how to ask for them; what is compared is speed.
"""

import multiprocessing
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from protocol import peak_bytes, serve

TIMEOUT = 10
INTERPRETER = getattr(sys, "_base_executable", None) or sys.executable  # a virtual environment starts slower
FORK = multiprocessing.get_context("fork")


def bare(execution):
    source = execution["code"] + "\n\n" + execution["asserts"]
    done = subprocess.run([INTERPRETER, "-c", source], capture_output=True, text=True, timeout=TIMEOUT)
    return done.returncode == 0


def load(code):
    exec(code, {})


def call(code, entry, args, pipe):
    try:
        names = {}
        exec(code, names)
        pipe.send(("value", names[entry](*args)))
    except Exception as error:
        pipe.send(("error", str(error)))
    finally:
        pipe.close()


def forked(execution):
    loading = FORK.Process(target=load, args=(execution["code"],))
    loading.start()
    loading.join(TIMEOUT)
    if loading.is_alive():
        loading.terminate()
        return False
    passed = 0
    for args, expected in execution["tests"]:
        ours, theirs = FORK.Pipe()
        child = FORK.Process(target=call, args=(execution["code"], execution["entry"], args, theirs))
        child.start()
        theirs.close()
        try:
            if ours.poll(TIMEOUT):
                passed += ours.recv() == ("value", expected)
                child.join()
            else:
                child.terminate()
        except EOFError:
            child.join()
        ours.close()
    return passed == len(execution["tests"])


def pytested(execution):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "solution.py").write_text(execution["code"], encoding="utf-8")
        tests = Path(folder) / "test_solution.py"
        tests.write_text(execution["pytest"], encoding="utf-8")
        command = [sys.executable, "-m", "pytest", str(tests), "-v", "--tb=short"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=folder)
        passed = re.search(r"(\d+) passed", done.stdout)
        failed = re.search(r"(\d+) (failed|error)", done.stdout)
        return failed is None and passed is not None and int(passed[1]) == len(execution["tests"])


SCHEMES = {"bare": bare, "multiprocessing": forked, "pytest": pytested}


def timed(execution):
    start = time.perf_counter()
    good = SCHEMES[sys.argv[1]](execution)
    return time.perf_counter() - start, good


def clients(count):
    """As many callers. Of the scheme that forks they are processes: a fork from one of several threads may hang."""
    if sys.argv[1] == "multiprocessing" and count > 1:
        return ProcessPoolExecutor(count, mp_context=FORK)
    return ThreadPoolExecutor(count)


def main():
    pools = {}

    def run(request):
        count = request["inFlight"]
        pool = pools.get(count) or pools.setdefault(count, clients(count))
        start = time.perf_counter()
        results = list(pool.map(timed, request["executions"]))
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "latencies": [s for s, _ in results], "good": [good for _, good in results]}

    def memory(request):
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return {"bytes": peak_bytes() + child * request["inFlight"]}

    version = {"python": sys.version.split()[0]}
    if sys.argv[1] == "pytest":
        import pytest

        version["pytest"] = pytest.__version__
    serve({"hello": lambda _: version, "open": lambda _: {}, "run": run, "memory": memory})


main()
