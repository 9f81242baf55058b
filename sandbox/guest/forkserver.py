# pid 1 of a sandbox container. It never sees a job: for each one it forks, ahead of time, a process that takes the job
# from stdin. A program's job (plain.py) is run by that very process under a fresh uid, and pid 1 passes on what it answers;
# of a job that talks with the host while it runs (session.py) it is the supervisor, which forks the program. Afterwards
# whatever is left is killed and /tmp is wiped. A child can read all memory that it was forked with, so no process may be
# forked from one that knew an earlier job: its program, or its answers, would be found in freed memory. Needs CAP_SETUID,
# CAP_SETGID and CAP_KILL. Isolation 'strict': one job, one uid and no capability. Answers of children are opaque here.
import ctypes
import fcntl
import gc
import importlib
import os
import resource
import select
import signal
import struct

OPTIONS = json.loads(sys.argv[1])  # {isolation, first, span, preload, silence}
STRICT = OPTIONS['isolation'] == 'strict'
UID = [OPTIONS['first']]  # the uid of the latest child; every fork takes the next one
PLAIN_ONLY = OPTIONS.get('plain', False)  # no interactive jobs: a process gives up its rights before it sees one
LAST_UID = OPTIONS['first'] + OPTIONS['span'] - 200  # near the end of this container's range it retires
SILENCE = OPTIONS['silence']  # seconds; the host speaks more often, also to a guest that it has no job for
libc = ctypes.CDLL(None)
PR_SET_CHILD_SUBREAPER = 36  # orphans below the supervisor become its children, so that it can wait for them
PR_SET_DUMPABLE = 4  # 0: /proc/PID/{mem,fd,environ} of this process are closed to others
KEPT = ('PATH', 'LANG')  # of the environment


def read_exactly(fd, size):
    data = bytearray()
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            return None
        data += part
    return bytes(data)


def read_frame():
    """What the host says next; None when it went away, or has been silent for so long that it must have."""
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
    """In the forked process: gives up every right. Descriptor 3 is for answers, 4 for requests of an interactive job."""
    give_up()
    limit(job, output, answers, requests)


def keeps_undumpable():
    """Whether a process that changes its uid is not dumpable after it: the kernel's default."""
    try:
        with open('/proc/sys/fs/suid_dumpable') as file:
            return file.read().strip() == '0'
    except OSError:
        return False


KEEPS_UNDUMPABLE = keeps_undumpable()


def give_up():
    """Rights and precedence."""
    os.setsid()
    os.nice(19)  # within the container only: however many a program forks, the supervisor is heard
    if STRICT:
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else the next file is not this process's to write
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


def limit(job, output, answers, fourth):
    """Descriptors and limits. The fourth is for requests of an interactive job, and else tells that all is done."""
    given = [NULL, output, output, answers, fourth]
    if min(given) < len(given):  # beyond the places they are to take
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in given]
    for place, fd in enumerate(given):
        os.dup2(fd, place)
    os.closerange(len(given), 1024)
    cpu = int(job['cpu']) + 2  # the server's own count comes first; this one holds if the server is starved
    for what, limit in (
        (resource.RLIMIT_AS, job['memory']),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 16 << 20),
    ):
        resource.setrlimit(what, (limit, limit))


def trim_heap():
    """Gives free memory back: what this process does not have needs no entry in the tables of its forks."""
    try:
        libc.malloc_trim(0)
    except AttributeError:  # a C library that cannot
        pass


def describe(status):
    if status is None:
        return 'the program ended without an answer'
    if os.WIFSIGNALED(status):
        return f'the program was ended by signal {os.WTERMSIG(status)}'
    return f'the program exited with status {os.WEXITSTATUS(status)} and no answer'


if not STRICT:
    os.setgroups([])
libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # without handlers, pid 1 ignores the signals of its own namespace
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
for module in OPTIONS['preload']:
    importlib.import_module(module)
os.register_at_fork = register_at_fork
if PLAIN_ONLY and not STRICT:
    for _ in range(REHEARSALS):
        become(0)  # what pid 1 is
        rehearse()
gc.collect()
gc.freeze()
trim_heap()
write_all(1, b'GAUNTLT1')
write_frame({'ready': True, 'python': sys.version.split()[0]})


def supervise(request, report):
    """Runs an interactive job, answers the host, tells the server the latest uid."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    run_session(request)
    os.write(report, pack_uid(UID[0]))


while STRICT:  # there is no later program that could inherit anything, so pid 1, which no process can signal, does it itself
    job = next_job()
    if job is None:
        os._exit(0)
    if 'role' in job:
        run_session(job)
        os._exit(0)
    serve(Worker(0), unpack_limits(pack_limits(job)))
    if job['code'] or job['inputs']:
        os._exit(0)

ended = None  # a supervisor before: reaped after the next process was forked, since its exit takes time
while True:
    UID[0] += 1
    worker = Worker(0)
    if ended:
        os.waitpid(ended, 0)
        ended = None
    head = os.read(worker.report, REPORT.size)  # not a byte more: what may follow is a program's
    if not head:
        os._exit(0)  # the host went away, or the process failed: the host sees this container end
    if REPORT.unpack(head)[0]:
        serve(worker, unpack_limits(head))
    else:
        UID[0], ended = REPORT.unpack(head)[1], worker.pid
        worker.close()
        forget_job()
