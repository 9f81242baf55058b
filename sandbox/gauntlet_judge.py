"""A client of `gauntlet sandbox serve`: one file, Python 3.8 or later, no packages.

    judge = Judge('http://127.0.0.1:8080')
    result = judge.values('def add(a, b): return a + b', 'add', [((1, 2), 3)])
    result['outcome']  # 'pass', 'fail', 'error', 'timeout', 'memory' or 'output'

A fault of the sandbox is tried again for `patience` seconds, and then raises SandboxFault. It is never a verdict.
"""
import base64
import http.client
import json
import time
import urllib.error
import urllib.request


class SandboxFault(Exception):
    """The sandbox had no verdict in time. Try again later; do not reward or punish."""


class Judge:
    def __init__(self, url, token=None, patience=600.0):
        self.url, self.token, self.patience = url.rstrip('/'), token, patience

    def values(self, code, entry, tests, **fields):
        """Calls `entry` with the arguments of each test, and compares its answers on the server.

        tests: pairs of arguments (a sequence) and expected value. fields: comparison, calling, limits."""
        pairs = [[[encode(value) for value in args], encode(expected)] for args, expected in tests]
        return self.post('judge', {'code': code, 'entry': entry, 'tests': pairs, **fields})

    def source(self, code, test_source, mode='assert', **fields):
        """Runs asserts, or a file of pytest, against the program in another process. fields: entry, limits."""
        return self.post('judge', {'code': code, 'test_source': test_source, 'mode': mode, **fields})

    def run_code(self, code, stdin='', files=None, run_timeout=10, **fields):
        """Runs a script. Tests that are part of it can be forged by the program. files: contents in bytes by name."""
        given = {name: base64.b64encode(data).decode() for name, data in (files or {}).items()}
        body = {'code': code, 'language': 'python', 'stdin': stdin, 'files': given, 'run_timeout': run_timeout}
        return self.post('run_code', {**body, **fields})

    def post(self, path, body):
        headers = {'content-type': 'application/json'}
        if self.token is not None:
            headers['authorization'] = 'Bearer ' + self.token
        data = json.dumps(body).encode()
        until, pause = time.monotonic() + self.patience, 1.0
        while True:
            request = urllib.request.Request(self.url + '/' + path, data, headers)
            try:
                with urllib.request.urlopen(request, timeout=self.patience) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                text = error.read().decode('utf-8', 'replace')
                if error.code not in (503, 504):
                    raise ValueError('%d: %s' % (error.code, text)) from None
                reason, pause = text, float(error.headers.get('retry-after') or pause)
            except (OSError, http.client.HTTPException) as error:  # no connection, or one that broke in an answer
                reason = str(error)
            if time.monotonic() + pause > until:
                raise SandboxFault(reason)
            time.sleep(pause)
            pause = min(2 * pause, 30.0)


def encode(value):
    """Writes a Python value as the server reads it: what JSON does not have gets a tag."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {'i': hex(value)}
    if isinstance(value, float):
        return {'f': repr(value)}
    if isinstance(value, complex):
        return {'c': [repr(value.real), repr(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {'b': base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [encode(x) for x in value]
    if isinstance(value, tuple):
        return {'t': [encode(x) for x in value]}
    if isinstance(value, (set, frozenset)):
        return {'s': [encode(x) for x in value]}
    if isinstance(value, dict):
        return {'d': [[encode(k), encode(x)] for k, x in value.items()]}
    raise TypeError('no value of plain data: %r' % (value,))
