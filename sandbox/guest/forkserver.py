# pid 1 of a sandbox container. There are two kinds of jobs:
#   A job of values (value_jobs.py) calls a program with inputs. The process that pid 1 forks runs the program itself.
#   An interactive job (testSource/session.py) is a conversation with the host. The process that pid 1 forks is a supervisor,
#   which forks the program or the tests.
#
# A forked process can read all memory that its parent had, even memory that was freed. So pid 1 never reads a job:
# otherwise a later program could find an earlier program, its inputs and its answers. Before a job comes, pid 1 forks a
# process, and this process reads the job from stdin. pid 1 passes answers on without parsing them.
#
# Each program has its own uid. After a job, all processes are killed and /tmp is emptied (sweep.py). This needs CAP_SETUID,
# CAP_SETGID and CAP_KILL. With isolation 'strict', a container serves one job and has one uid and no capability. Then pid 1
# may read the job, because no later program can inherit it.
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
VALUES_ONLY = OPTIONS['valuesOnly']  # there are no interactive jobs, so a process drops its rights before it reads the job
LAST_UID = OPTIONS['first'] + OPTIONS['span'] - 200  # the container retires near the end of its range
SILENCE = OPTIONS['silence']  # seconds after which the host counts as dead; it sends messages even without a job
libc = ctypes.CDLL(None)
PR_SET_CHILD_SUBREAPER = 36  # makes a process the parent of orphans, so that it can wait for them
PR_SET_DUMPABLE = 4  # with value 0, others cannot open /proc/PID/{mem,fd,environ} of this process
KEPT = ('PATH', 'LANG', 'HOME')  # the variables of the environment that stay
STACK = 100 << 20  # bytes; enough for CONTEST_DEPTH nested calls through C, so that Python raises RecursionError first


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
    """The forked process calls this to drop its rights. It writes answers to descriptor 3, and in an interactive job it
    reads requests from descriptor 4."""
    give_up()
    limit(job, output, answers, requests)


def keeps_undumpable():
    """Whether a process becomes undumpable when it changes its uid. This is the kernel's default."""
    try:
        with open('/proc/sys/fs/suid_dumpable') as file:
            return file.read().strip() == '0'
    except OSError:
        return False


KEEPS_UNDUMPABLE = keeps_undumpable()


def give_up():
    """Drops rights and priority."""
    os.setsid()
    os.nice(19)  # the supervisor runs first, however many processes a program forks
    if STRICT:
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # an undumpable process may not write the next file
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
    """Sets descriptors and limits. The fourth descriptor has the requests of an interactive job; in other jobs a write to it
    wakes pid 1."""
    given = [NULL, output, output, answers, fourth]
    if min(given) < len(given):  # moves them above their targets
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in given]
    for place, fd in enumerate(given):
        os.dup2(fd, place)
    os.closerange(len(given), 1024)
    cpu = int(job['cpu']) + 2  # pid 1 ends the program before; this limit holds if pid 1 gets no CPU time
    for what, limit in (
        (resource.RLIMIT_AS, job['memory']),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 16 << 20),
        (resource.RLIMIT_STACK, most_stack()),
    ):
        resource.setrlimit(what, (limit, limit))


def describe(status):
    if os.WIFSIGNALED(status):
        return f'the program was ended by signal {os.WTERMSIG(status)}'
    return f'the program exited with status {os.WEXITSTATUS(status)} and no answer'


def verdict_on(why, status, killed_by, one):
    """The verdict [kind, message] on a program without an answer. `why` is the limit that it exceeded, 'protocol' or 'exit';
    `one` is what has the limit 'case': a call or a test."""
    if why in ('timeout', 'wall', 'case'):
        limit = {'timeout': 'CPU time', 'wall': 'time', 'case': 'CPU time of one ' + one}[why]
        return ['timeout', 'no answer within the limit of ' + limit]
    if why == 'output':
        return ['output', 'the program printed more than the limit']
    if why == 'protocol':
        return ['error', 'the program wrote into the answer channel']
    if killed_by == 'container':
        return ['memory', 'the program was ended for its use of memory']
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return ['timeout', 'no answer within the limit of CPU time']
    return ['error', describe(status)]


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
    """Runs an interactive job, answers the host and reports the latest uid to pid 1."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    run_session(request)
    os.write(report, pack_uid(UID[0]))


while STRICT:  # there is no later program, so pid 1 itself reads the job and supervises it
    job = next_job()
    if job is None:
        os._exit(0)
    if 'role' in job:
        run_session(job)
        os._exit(0)
    serve(Worker(0), unpack_limits(pack_limits(job)))
    if job['code'] or job['inputs']:
        os._exit(0)

ended = None  # an earlier supervisor. Its exit takes time, so pid 1 waits for it after the next fork.
while True:
    UID[0] += 1
    worker = Worker(0)
    if ended:
        os.waitpid(ended, 0)
        ended = None
    head = os.read(worker.report, REPORT.size)  # what follows may come from a program
    if not head:
        os._exit(0)  # the host went away, or the process failed; the host sees that the container ended
    if REPORT.unpack(head)[0]:
        serve(worker, unpack_limits(head))
    else:
        UID[0], ended = REPORT.unpack(head)[1], worker.pid
        worker.close()
        forget_job()
