# The guest inside CPython in WebAssembly. JavaScript (wasm/child.mts) makes every call, so the clock, the count of the output
# and the order of the answers are outside the interpreter. After a job, JavaScript restores the whole memory.
import os

program = {}
for name in list(os.environ):
    if name not in ('PATH', 'LANG'):
        del os.environ[name]
os.environ['HOME'] = '/tmp'
sys.stdout.reconfigure(errors='backslashreplace')


def load_job(text):
    """Loads a program. Returns '' if it is ready, otherwise why it failed."""
    try:
        job = json.loads(text)
        program['inputs'], program['truth'] = job['inputs'], job.get('truth') or ()
        program['function'] = load(job['code'], job['entry'], job.get('calling'))
        return ''
    except BaseException as error:
        return failure(error)


def call_job(index):
    """Returns the answer to the input with this index."""
    return call(program['function'], program['inputs'][index], index in program['truth'])


class DeviceChannel:
    """The tests' end of the channel to the host. It is a device that child.mts serves."""

    fd = None

    def send(self, text):
        data = text.encode()
        data = len(data).to_bytes(4, 'big') + data
        while data:
            data = data[os.write(self.fd, data):]

    def receive(self):
        return self.exactly(int.from_bytes(self.exactly(4), 'big')).decode()

    def exactly(self, size):
        data = b''
        while len(data) < size:
            part = os.read(self.fd, size - len(data))
            if not part:
                raise ProgramEnded('the host ended the session')
            data += part
        return data


channel = DeviceChannel()


def start_program(text):
    """Loads a program for a session and returns its first message."""
    job = json.loads(text)
    program['answer'], first = open_program(job['code'], job['entry'], job['first'])
    return first


def answer_request(text):
    return program['answer'](text) if program['answer'] else ''


def start_tests(text):
    job = json.loads(text)
    channel.fd = os.open('/dev/host', os.O_RDWR)
    run_tests(job['style'], job['files'], job['entry'], job['skip'], job['only'], job['imports'])
