# The guest inside CPython-in-WebAssembly: the surrounding JavaScript drives it call by call, so that the clock, the
# output count and the order of the answers are kept outside the interpreter. State is undone with the heap.
import os

program = {}
for name in list(os.environ):
    if name not in ('PATH', 'LANG', 'HOME'):
        del os.environ[name]


def load_job(text):
    """Loads a program. '' when it is ready, else the text of its failure."""
    try:
        job = json.loads(text)
        program['inputs'] = job['inputs']
        program['function'] = load(job['code'], job['entry'], job.get('calling'))
        return ''
    except BaseException as error:
        return failure(error)


def call_job(index):
    """The answer to input `index`."""
    return call(program['function'], program['inputs'][index])
