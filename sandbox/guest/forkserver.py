# pid 1 of a sandbox container. Isolation 'uid': it never sees a job; for each one it forks a supervisor, which takes the
# job from stdin, forks a child for it under a fresh uid, relays what the child answers, then kills whatever is left and
# wipes /tmp. A child can read all memory that it was forked with, so no process may be forked from one that knew an
# earlier job: its program, or its answers, would be found in freed memory. Needs CAP_SETUID, CAP_SETGID and CAP_KILL.
# Isolation 'strict': one job, one uid and no capability; pid 1 does it itself (nothing in its container can signal it)
# and ends. Answers of children are opaque here: they are counted and passed on as text, never parsed.
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import struct
import time

OPTIONS = json.loads(sys.argv[1])  # {isolation, first, span, preload}
STRICT = OPTIONS['isolation'] == 'strict'
UID = [OPTIONS['first']]  # the uid of the latest child; every fork takes the next one
LAST_UID = OPTIONS['first'] + OPTIONS['span'] - 200  # near the end of this container's range it retires
IDLE_SECONDS = OPTIONS.get('idle', 900)
libc = ctypes.CDLL(None)
PR_SET_CHILD_SUBREAPER = 36  # orphans below the supervisor become its children, so that it can wait for them
PR_SET_DUMPABLE = 4  # 0: /proc/PID/{mem,fd,environ} of this process are closed to others
KEPT = ('PATH', 'LANG')  # of the environment


def read_exactly(fd, size):
    data = b''
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            return None
        data += part
    return data


def read_frame():
    """The next job; None when the host went away, or has sent none for so long that it may have."""
    if not select.select([0], [], [], IDLE_SECONDS)[0]:
        return None
    head = read_exactly(0, 4)
    body = head and read_exactly(0, struct.unpack('>I', head)[0])
    return json.loads(body) if body else None


def write_all(fd, data):
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest):]


def write_frame(message):
    body = to_json(message).encode()
    write_all(1, struct.pack('>I', len(body)) + body)


cgroup = Cgroup()


def child(job, inputs, answers, output):
    """In the forked process: gives up every right, then runs the program. Never returns to the server's loop."""
    os.setsid()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else the next file is not this process's to write
    try:
        with open('/proc/self/oom_score_adj', 'w') as file:
            file.write('1000')
    except OSError:
        pass
    if not STRICT:
        become(UID[0])
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(answers, 3)
    os.closerange(4, 1024)
    cpu = int(job['cpu']) + 2  # the server's own count comes first; this one holds if the server is starved
    for what, limit in (
        (resource.RLIMIT_AS, job['memory']),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 16 << 20),
    ):
        resource.setrlimit(what, (limit, limit))
    for name in list(os.environ):
        if name not in KEPT:
            del os.environ[name]
    os.chdir('/tmp')
    sys.stdin = open(0)
    sys.stdout = open(1, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
    sys.stderr = open(2, 'w', encoding='utf-8', errors='backslashreplace', closefd=False, buffering=1)
    sys.argv = ['solution.py']
    pack, write, code, entry, calling = struct.pack, write_all, job['code'], job['entry'], job.get('calling')

    def send(kind, text):
        data = kind + text.encode()
        write(3, pack('>I', len(data)) + data)

    try:
        function = load(code, entry, calling)
    except BaseException as error:
        return send(b'X', failure(error))
    send(b'L', '')
    for args in inputs:
        send(b'A', call(function, args))


class Frames:
    """Splits the child's stream; a frame that breaks the rules ends it."""

    def __init__(self):
        self.data, self.loaded, self.load_failure, self.answers, self.broken = b'', False, None, [], False

    def feed(self, data):
        self.data += data
        while not self.broken and len(self.data) >= 4:
            size = struct.unpack('>I', self.data[:4])[0]
            if size < 1 or size > MAX_BYTES + 1024:
                self.broken = True
            elif len(self.data) < 4 + size:
                break
            else:
                self.take(self.data[4:5], self.data[5:4 + size])
                self.data = self.data[4 + size:]

    def take(self, kind, text):
        if self.load_failure is not None:
            self.broken = True  # the failure stands
        elif kind == b'L' and not self.loaded:
            self.loaded = True
        elif kind == b'X' and not self.loaded:
            self.load_failure = text.decode('utf-8', 'replace')
        elif kind == b'A' and self.loaded:
            self.answers.append(text.decode('utf-8', 'replace'))
        else:
            self.broken = True


class Meter:
    """The limits of CPU and wall clock. The program's counts its whole container; a call's counts the program's first
    process alone, so that children which compete with it for the processor do not make its time a matter of luck."""

    def __init__(self, job, pid, cpu_start, wall_end):
        self.cpu_end, self.wall_end, self.case, self.pid = cpu_start + job['cpu'], wall_end, job['case'], pid
        self.case_end = None

    def next_call(self):
        self.case_end = cpu_of(self.pid) + self.case

    def over(self):
        """'timeout' (the program's CPU), 'case' (the call's), 'wall', or None; and seconds until it should be asked again."""
        cpu_left, left = self.cpu_end - cgroup.cpu_seconds(), self.wall_end - time.monotonic()
        if cpu_left <= 0:
            return 'timeout', 0
        if left <= 0:
            return 'wall', 0
        if self.case_end is not None:
            case_left = self.case_end - cpu_of(self.pid)
            if case_left <= 0:
                return 'case', 0
            cpu_left = min(cpu_left, case_left)
        return None, min(left, max(0.005, cpu_left), 0.05)


def run_child(job, inputs, cpu_start, wall_end):
    """Forks one child for `inputs`. Gives its frames, why it ended (None: all answered), its wait status, cleanliness."""
    UID[0] += 0 if STRICT else 1
    answers_r, answers_w = os.pipe()
    output_r, output_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(job, inputs, answers_w, output_w)
        except BaseException:
            pass
        finally:
            os._exit(0)
    os.close(answers_w)
    os.close(output_w)
    os.set_blocking(answers_r, False)
    poller = select.poll()
    poller.register(answers_r, select.POLLIN)
    poller.register(output_r, select.POLLIN)
    poller.register(0, 0)  # hang-up only: the host went away
    frames, meter, written, status = Frames(), Meter(job, pid, cpu_start, wall_end), 0, None
    why, pause = meter.over()
    while why is None and frames.load_failure is None and len(frames.answers) < len(inputs):
        if status is not None:
            why = 'exit'
            break
        for fd, event in poller.poll(1000 * pause):
            if fd == 0:
                os._exit(0)
            if fd == output_r:
                part = os.read(fd, 65536)
                written += len(part)
                if not part:
                    poller.unregister(fd)
                if written > job['output']:
                    why = 'output'
            elif fd == answers_r:
                part, before = os.read(fd, 65536), len(frames.answers)
                frames.feed(part)
                if not part:
                    poller.unregister(fd)
                if frames.loaded and (meter.case_end is None or len(frames.answers) > before):
                    meter.next_call()
                if frames.broken or len(frames.answers) > len(inputs):
                    why = 'protocol'
        if status is None:
            ended, code = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = code
                try:
                    while part := os.read(answers_r, 1 << 20):
                        frames.feed(part)
                except BlockingIOError:
                    pass
        if why is None and len(frames.answers) < len(inputs):
            why, pause = meter.over()
    clean = sweep(None if STRICT else UID[0])
    os.close(answers_r)
    os.close(output_r)
    return frames, why, status, clean


def describe(status):
    if status is None:
        return 'the program ended without an answer'
    if os.WIFSIGNALED(status):
        return f'the program was ended by signal {os.WTERMSIG(status)}'
    return f'the program exited with status {os.WEXITSTATUS(status)} and no answer'


def is_check(job):
    """A job without a program or a call only asks whether this guest still answers."""
    return not job['inputs'] and not job['code']


def run_job(job):
    """Runs a whole job; after a crash in one call the remaining ones go to a fresh child, with what is left of the limits.
    Fewer calls than inputs come back when the container is not clean: the host runs the job again elsewhere."""
    started, cpu_start = time.monotonic(), cgroup.cpu_seconds()
    wall_end, inputs, calls, clean, wall = started + job['wall'], job['inputs'], [], True, False
    while clean and len(calls) < len(inputs):
        kills = cgroup.oom_kills()
        frames, why, status, clean = run_child(job, inputs[len(calls):], cpu_start, wall_end)
        calls += [['answer', text] for text in frames.answers][:len(inputs) - len(calls)]
        missing = len(inputs) - len(calls)
        if frames.load_failure is not None:
            calls += [['load', frames.load_failure]] * missing
        elif missing and why in ('timeout', 'wall'):
            wall = why == 'wall'
            calls += [['timeout', 'no answer within the limit of ' + ('time' if wall else 'CPU time')]] * missing
        elif missing and why == 'case':
            calls.append(['timeout', 'no answer within the limit of CPU time of one call'])
        elif missing and why == 'output':
            calls += [['output', 'the program printed more than the limit']] * missing
        elif missing and why == 'protocol':
            calls += [['error', 'the program wrote into the channel of answers']] * missing
        elif missing:
            if kills is not None and cgroup.oom_kills() > kills:
                verdict = ['memory', 'the program was ended for its use of memory']
            elif status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
                verdict = ['timeout', 'no answer within the limit of CPU time']
            else:
                verdict = ['error', describe(status)]
            calls += [verdict] * (1 if frames.loaded else missing)
    return {
        'id': job['id'],
        'calls': calls,
        'ms': round((time.monotonic() - started) * 1000, 3),
        'cpu': cgroup.cpu_seconds(),
        'wall': wall,
        'retire': (STRICT and not is_check(job)) or not clean or UID[0] > LAST_UID,
    }


libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # without handlers, pid 1 ignores the signals of its own namespace
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
for module in OPTIONS['preload']:
    importlib.import_module(module)
gc.collect()
gc.freeze()
write_all(1, b'GAUNTLT1')
write_frame({'ready': True, 'python': sys.version.split()[0]})


def supervise(report):
    """In a process forked before any job was seen: runs one, answers the host, tells the server the latest uid."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    request = read_frame()
    if request is not None:
        write_frame(run_job(request))
        os.write(report, str(UID[0]).encode())


while STRICT:
    request = read_frame()
    if request is not None:
        write_frame(run_job(request))
    if request is None or not is_check(request):
        os._exit(0)

ended = None  # the supervisor before: reaped after the next one was forked, since its exit takes time
while True:
    report_r, report_w = os.pipe()
    supervisor = os.fork()
    if supervisor == 0:
        try:
            supervise(report_w)
        except BaseException as error:
            os.write(2, ('the supervisor failed: ' + repr(error) + '\n').encode())  # the host quotes the last line
        finally:
            os._exit(0)
    os.close(report_w)
    if ended:
        os.waitpid(ended, 0)
    latest = os.read(report_r, 20)
    os.close(report_r)
    if not latest:
        os._exit(0)  # the host went away, or the supervisor failed: the host sees this container end
    UID[0], ended = int(latest), supervisor
