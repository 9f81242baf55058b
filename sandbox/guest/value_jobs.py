# Runs a job of values: one program, called with many inputs.
#   1. pid 1 forks a process (Worker) before the job comes. The process reads the job from stdin into JOB, memory that it
#      shares with pid 1. It reports the limits to pid 1 as numbers, drops its rights and runs the program (work).
#   2. The program's process writes each answer as a frame. pid 1 collects the frames in ANSWERS (Relay) and sends them to the
#      host. It measures time and output meanwhile (Meter, watch).
#   3. If a call crashes the process, pid 1 forks another one. It reads the job from JOB and runs the remaining calls (serve).
#   4. At the end, everything that the program left is removed and JOB is emptied (tidy, forget_job).
# Forked processes do not inherit ANSWERS (MADV_DONTFORK). So no program finds an earlier program, its inputs or answers.
import mmap
import os
import select
import signal
import struct
import time

MAX_JOB = 64 << 20
FRAME = struct.Struct('>IBI')  # the length of the rest, the kind, the id of the job
PARTS = 1 << 16  # bytes that one read may return
ROOM = 4 << 20
JOB = mmap.mmap(-1, 4 + MAX_JOB)
ANSWERS = mmap.mmap(-1, ROOM, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
SCRATCH = mmap.mmap(-1, PARTS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # takes printed output, which is only counted
for memory in ANSWERS, SCRATCH:
    memory.madvise(mmap.MADV_DONTFORK)
LOADED, ANSWER, FAILED = b'LAX'
STDIN = select.poll()
STDIN.register(0, select.POLLIN)


def receive_job():
    """Reads the next frame of the host into JOB. False if the host went away or was silent for too long."""
    if not STDIN.poll(1000 * SILENCE):
        return False
    with memoryview(JOB) as view:
        for start, end in (0, 4), (4, None):
            if end is None:
                end = 4 + struct.unpack_from('>I', view)[0]
            while start < end:
                with view[start:end] as rest:
                    size = os.readv(0, [rest])
                if size == 0:
                    return False
                start += size
    return True


def next_job():
    """Returns the next job, or None if the host is gone. Skips keep-alives and messages to an interactive job that ended."""
    while receive_job():
        job = read_job()
        if 'cpu' in job:
            return job
    return None


REPORT = struct.Struct('>?qdddq?Q?')  # whether it is a job of values, then its limits or the latest uid of a supervisor


def pack_limits(job):
    """Packs what pid 1 must know about a job. A job without a program and calls only asks whether the guest answers."""
    check, whole = not job['inputs'] and not job['code'], (job.get('calling') or {}).get('style') == 'stdio'
    numbers = job['id'], job['cpu'], job['case'], job['wall'], job['output']
    return REPORT.pack(True, *numbers, check, len(job['inputs']), whole)


def pack_uid(uid):
    return REPORT.pack(False, uid, 0, 0, 0, 0, False, 0, False)


def unpack_limits(data):
    names = ('id', 'cpu', 'case', 'wall', 'output', 'check', 'count', 'whole')
    return dict(zip(names, REPORT.unpack(data)[1:]))


def read_job():
    with memoryview(JOB) as view, view[4:4 + struct.unpack_from('>I', view)[0]] as body:
        return from_json(str(body, 'utf-8'))


def forget_job():
    try:
        JOB.madvise(mmap.MADV_REMOVE)
    except OSError:  # some kernels do not support it
        size = 4 + struct.unpack_from('>I', JOB)[0]
        JOB[:size] = bytes(size)


def work(done, output, answers, report):
    """Runs in the forked process: reads the job and runs the program. After a crash, it begins with input `done`."""
    if VALUES_ONLY:
        give_up()
    if STRICT or done > 0:
        job = read_job()
    else:
        job = next_job()
        if job is None:
            return
        if 'role' in job and not VALUES_ONLY:
            JOB.close()
            return supervise(job, report)
        os.write(report, pack_limits(job))
    JOB.close()
    if not VALUES_ONLY:
        give_up()
    limit(job, output, answers, report)
    pack, write, number = FRAME.pack, write_all, job['id']
    getpid, leave, own = os.getpid, os._exit, os.getpid()

    def send(kind, text):
        if getpid() != own:
            leave(0)  # this is a process that the program forked: only the program itself may answer
        data = text.encode()
        write(3, pack(len(data) + 5, kind, number) + data)

    IN_PROGRAM[0] = True
    try:
        function = load(job['code'], job['entry'], job.get('calling'))
    except BaseException as error:
        return send(FAILED, failure(error))
    send(LOADED, '')
    truth = job.get('truth') or ()
    for number_of_call, args in enumerate(job['inputs'][done:], done):
        send(ANSWER, call(function, args, number_of_call in truth))
    write(4, b'.')  # wakes pid 1, which does not read it


class Worker:
    """A forked process and the pipes from it."""

    def __init__(self, done):
        self.answers, answers = os.pipe()
        self.output, output = os.pipe()
        self.report, report = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                work(done, output, answers, report)
            except BaseException as error:
                os.write(2, ('the process failed: ' + repr(error) + '\n').encode())  # the host shows the last line
            finally:
                os._exit(0)
        os.close(answers)
        os.close(output)
        os.close(report)

    def close(self):
        for fd in self.answers, self.output, self.report:
            os.close(fd)


class Relay:
    """Passes on the frames of a program. Sets `broken` if the program breaks the protocol. Makes no object from their bytes."""

    def __init__(self, number, count):
        self.number, self.left = number, count  # the id of the job, and how many calls have no answer yet
        self.new_program()

    def new_program(self):
        # positions in ANSWERS: the first byte that is not passed on, not parsed, not read
        self.start = self.next = self.end = 0
        self.loaded, self.broken = False, False

    def read(self, fd):
        """Returns how many bytes were read; 0 at the end."""
        if self.end + PARTS > ROOM:
            self.flush()
        with memoryview(ANSWERS) as view, view[self.end:self.end + PARTS] as free:
            size = os.readv(fd, [free])
        self.end += size
        while not self.broken and self.end - self.next >= FRAME.size:
            length, kind, number = FRAME.unpack_from(ANSWERS, self.next)
            if length < 5 or length > MAX_BYTES + 1024 or number != self.number:
                self.broken = True
            elif self.end - self.next < 4 + length:
                break
            else:
                self.take(kind, 4 + length)
        return size

    def take(self, kind, size):
        frame = self.next
        if kind == LOADED and not self.loaded and size == FRAME.size:
            self.loaded = True
            self.start = self.next = frame + size
        elif kind == ANSWER and self.loaded and self.left > 0:
            self.left -= 1
            self.next += size
        elif kind == FAILED and not self.loaded and self.left > 0:
            with memoryview(ANSWERS) as view, view[frame:frame + size] as text:
                while self.left > 0:  # the program did not load, so this is the answer to all calls
                    self.left -= 1
                    write_all(1, text)
            self.start = self.next = frame + size
        else:
            self.broken = True

    def flush(self, tail=b''):
        """Passes on the parsed frames, followed by `tail`."""
        with memoryview(ANSWERS) as view, view[self.start:self.next] as answers:
            written = os.writev(1, [answers, tail])
            if written < len(answers) + len(tail):
                write_all(1, answers[written:])
                write_all(1, tail[max(0, written - len(answers)):])
        ANSWERS.move(0, self.next, self.end - self.next)
        self.start, self.next, self.end = 0, 0, self.end - self.next


class Meter:
    """The limits of CPU time and wall time. The CPU time of a program is that of its whole container. The CPU time of a call
    is that of the program's first process, so that other processes of the program do not decide its result. If each call
    runs a whole program in its own process (`whole`), the CPU time of a call is that of the container, too."""

    def __init__(self, job, cpu_start, wall_end):
        self.cpu_end, self.wall_end, self.case = cpu_start + job['cpu'], wall_end, job['case']
        self.whole = job['whole']
        self.new_program(None)

    def new_program(self, pid):
        self.pid, self.case_end = pid, None

    def next_call(self):
        self.case_end = self.of_call() + self.case

    def of_call(self):
        return cgroup.cpu_seconds() if self.whole else cpu_of(self.pid)

    def over(self):
        """Returns which limit is exceeded ('timeout': CPU time of the program, 'case': of the call, 'wall', or None), and the
        seconds until the next check."""
        cpu_left, left = self.cpu_end - cgroup.cpu_seconds(), self.wall_end - time.monotonic()
        if cpu_left <= 0:
            return 'timeout', 0
        if left <= 0:
            return 'wall', 0
        if self.case_end is not None:
            case_left = self.case_end - self.of_call()
            if case_left <= 0:
                return 'case', 0
            cpu_left = min(cpu_left, case_left)
        return None, min(left, max(0.005, cpu_left), 0.05)


SHORT = 0.004  # seconds; waiting so long before the first read saves about 5 % of a short program's CPU time


def watch(worker, relay, meter, most_output):
    """Waits until all calls are answered, or the program ends or exceeds a limit. Returns the reason (None if all calls are
    answered) and the wait status."""
    os.set_blocking(worker.answers, False)
    os.set_blocking(worker.output, False)
    poller = select.poll()
    poller.register(worker.report, select.POLLIN)
    poller.register(0, 0)  # without events, it reports only that the host went away
    written, status = 0, None
    meter.new_program(worker.pid)
    why, pause = meter.over()
    poller.poll(1000 * min(pause, SHORT))
    poller.unregister(worker.report)
    poller.register(worker.answers, select.POLLIN)
    poller.register(worker.output, select.POLLIN)
    while why is None and relay.left > 0:
        if status is not None:
            why = 'exit'
            break
        for fd, _ in poller.poll(1000 * pause):
            if fd == 0:
                os._exit(0)
            if fd == worker.output:
                size = os.readv(fd, [SCRATCH])
                written += size
                if size == 0:
                    poller.unregister(fd)
                if written > most_output:
                    why = 'output'
            elif fd == worker.answers:
                left = relay.left
                if relay.read(fd) == 0:
                    poller.unregister(fd)
                if relay.loaded and relay.left > 0 and (meter.case_end is None or relay.left < left):
                    meter.next_call()
                if relay.broken:
                    why = 'protocol'
        if why is None and relay.left > 0:
            ended, code = os.waitpid(worker.pid, os.WNOHANG)
            if ended:
                status = code
                try:
                    while relay.read(worker.answers):
                        pass
                except BlockingIOError:
                    pass
            why, pause = meter.over()
    return why, status


def serve(worker, job):
    """Runs in pid 1: watches the process that runs a job, answers the host and cleans the container. After a crash in one
    call, a fresh process runs the remaining calls with what is left of the limits."""
    started, cpu_start = time.monotonic(), cgroup.cpu_seconds()
    relay, meter, rest, why = Relay(job['id'], job['count']), Meter(job, cpu_start, started + job['wall']), [], None
    while True:
        memory = cgroup.memory()
        why, status = watch(worker, relay, meter, job['output'])
        if relay.left == 0:
            break
        killed_by = cgroup.killed_by(memory) if why == 'exit' else None
        if killed_by == 'host':
            resign()
        verdict = verdict_on(why, status, killed_by, 'call')
        if not (why == 'case' or why == 'exit' and relay.loaded):  # the verdict is for all remaining calls
            rest = [verdict] * relay.left
            break
        relay.flush(frame_of({'id': job['id'], 'call': verdict}))
        relay.left -= 1
        if relay.left == 0:
            break
        tidy(worker)
        UID[0] += 0 if STRICT else 1
        relay.new_program()
        worker = Worker(job['count'] - relay.left)
    # the answer goes out before the sweep, so that only the next program has to wait for the sweep
    retire = (STRICT and not job['check']) or UID[0] > LAST_UID
    ms = round((time.monotonic() - started) * 1000, 3)
    wall = why == 'wall' and relay.left > 0
    result = {'id': job['id'], 'calls': rest, 'ms': ms, 'cpu': cgroup.cpu_seconds(), 'wall': wall, 'retire': retire}
    relay.flush(frame_of(result))
    tidy(worker)
    forget_job()


def tidy(worker):
    """Removes what a program left behind."""
    clean = sweep(None if STRICT else UID[0])
    worker.close()
    if not clean:
        resign()


def resign():
    """Ends the container. The host gives its jobs to another container."""
    write_frame({'retire': True})
    os._exit(0)
