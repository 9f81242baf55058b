# pid 1 of a sandbox container. It never sees a job: ahead of each one it forks a process that reads the job from stdin.
# That process runs a job of values (value_jobs.py) itself under a fresh uid, and pid 1 passes on its answers. For an
# interactive job (testSource/session.py) that process is the supervisor, which forks the program. Afterwards everything
# left is killed and /tmp is emptied. A child can read all memory that it was forked with, so no process may be forked
# from one that knew an earlier job: its program and answers could be found in freed memory. Needs CAP_SETUID,
# CAP_SETGID and CAP_KILL. Isolation 'strict': one job, one uid and no capability. The answers of children are opaque
# here.
import ctypes
import fcntl
import gc
import importlib
import os
import resource
import select
import signal
import struct

OPTIONS = json.loads(sys.argv[1])  # {isolation, first, span, preload, valuesOnly, silence}
STRICT = OPTIONS['isolation'] == 'strict'
UID = [OPTIONS['first']]  # the uid of the latest child; every fork takes the next one
VALUES_ONLY = OPTIONS['valuesOnly']  # no interactive jobs: a process drops its rights before it reads one
LAST_UID = OPTIONS['first'] + OPTIONS['span'] - 200  # the container retires near the end of its range
SILENCE = OPTIONS['silence']  # seconds; a living host sends a message more often, also without a job
libc = ctypes.CDLL(None)
PR_SET_CHILD_SUBREAPER = 36  # the supervisor becomes the parent of orphans, so that it can wait for them
PR_SET_DUMPABLE = 4  # 0: /proc/PID/{mem,fd,environ} of this process are closed to others
KEPT = ('PATH', 'LANG', 'HOME')  # of the environment
STACK = 100 << 20  # bytes; a recursion of CONTEST_DEPTH calls through C ends with a RecursionError within it


def read_exactly(fd, size):
    data = bytearray()
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            return None
        data += part
    return bytes(data)


def read_frame():
    """The next message of the host. None if the host went away or has been silent for too long."""
    if not select.select([0], [], [], SILENCE)[0]:
        return None
    head = read_exactly(0, 4)
    body = head and read_exactly(0, struct.unpack('>I', head)[0])
    return json.loads(body) if body else None


def write_all(fd, data):
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest):]


def with_length(body):
    return struct.pack('>I', len(body)) + body


def frame_of(message):
    return with_length(to_json(message).encode())


def write_frame(message):
    write_all(1, frame_of(message))


cgroup = Cgroup()


for name in list(os.environ):
    if name not in KEPT:
        del os.environ[name]
os.chdir('/tmp')
sys.stdin = open(0, closefd=False)
sys.stdout = open(1, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
sys.stderr = open(2, 'w', encoding='utf-8', errors='backslashreplace', closefd=False, buffering=1)
sys.argv = ['solution.py']
NULL = os.open('/dev/null', os.O_RDONLY | os.O_CLOEXEC)


def confine(job, output, answers, requests):
    """In the forked process: drops every right. Descriptor 3 is for answers, 4 for requests of an interactive job."""
    give_up()
    limit(job, output, answers, requests)


def keeps_undumpable():
    """Whether a process that changes its uid becomes undumpable, which is the kernel's default."""
    try:
        with open('/proc/sys/fs/suid_dumpable') as file:
            return file.read().strip() == '0'
    except OSError:
        return False


KEEPS_UNDUMPABLE = keeps_undumpable()


def give_up():
    """Drops rights and priority."""
    os.setsid()
    os.nice(19)  # within the container: the supervisor runs first, however many processes a program forks
    if STRICT:
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else this process may not write the next file
    try:
        oom = os.open('/proc/self/oom_score_adj', os.O_WRONLY)
        os.write(oom, b'1000')
        os.close(oom)
    except OSError:
        pass
    if not STRICT:
        become(UID[0])
    if STRICT or not KEEPS_UNDUMPABLE:
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def most_stack():
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    return STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)


def limit(job, output, answers, fourth):
    """Sets descriptors and limits. The fourth is for requests of an interactive job; otherwise it reports the end."""
    given = [NULL, output, output, answers, fourth]
    if min(given) < len(given):  # move them above their targets
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in given]
    for place, fd in enumerate(given):
        os.dup2(fd, place)
    os.closerange(len(given), 1024)
    cpu = int(job['cpu']) + 2  # the server acts first; this limit holds if the server is starved
    for what, limit in (
        (resource.RLIMIT_AS, job['memory']),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 16 << 20),
        (resource.RLIMIT_STACK, most_stack()),
    ):
        resource.setrlimit(what, (limit, limit))


def describe(status):
    if status is None:
        return 'the program ended without an answer'
    if os.WIFSIGNALED(status):
        return f'the program was ended by signal {os.WTERMSIG(status)}'
    return f'the program exited with status {os.WEXITSTATUS(status)} and no answer'


if not STRICT:
    os.setgroups([])
libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # pid 1 ignores signals of its own namespace that have no handler
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
for module in OPTIONS['preload']:
    importlib.import_module(module)
os.register_at_fork = register_at_fork
gc.collect()
gc.freeze()
write_all(1, b'GAUNTLT1')
write_frame({'ready': True})


def supervise(request, report):
    """Runs an interactive job, answers the host and reports the latest uid to the server."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    run_session(request)
    os.write(report, pack_uid(UID[0]))


while STRICT:  # no later program can inherit anything, so pid 1 itself reads the job and supervises
    job = next_job()
    if job is None:
        os._exit(0)
    if 'role' in job:
        run_session(job)
        os._exit(0)
    serve(Worker(0), unpack_limits(pack_limits(job)))
    if job['code'] or job['inputs']:
        os._exit(0)

ended = None  # an earlier supervisor, reaped after the next fork, since its exit takes time
while True:
    UID[0] += 1
    worker = Worker(0)
    if ended:
        os.waitpid(ended, 0)
        ended = None
    head = os.read(worker.report, REPORT.size)  # no more: the rest may come from a program
    if not head:
        os._exit(0)  # the host went away or the process failed; the host sees that the container ended
    if REPORT.unpack(head)[0]:
        serve(worker, unpack_limits(head))
    else:
        UID[0], ended = REPORT.unpack(head)[1], worker.pid
        worker.close()
        forget_job()
