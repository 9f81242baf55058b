# Runs an interactive job: a child process exchanges messages with the host until one of them ends the job. The supervisor
# passes the messages on as text and never parses them. The limits are those of other jobs; the CPU time of the supervisor
# itself does not count.


class Channel:
    """The child's end of the pipes. A frame is a length (u32) and a text."""

    def open(self):
        self.getpid, self.leave, self.own, closerange = os.getpid, os._exit, os.getpid(), os.closerange
        os.register_at_fork(after_in_child=lambda: closerange(3, 5))  # a process that the program forks cannot reach the host

    def send(self, text):
        if self.getpid() != self.own:
            self.leave(0)  # this is a process that the program forked: only the program itself may answer
        data = text.encode()
        write_all(3, struct.pack('>I', len(data)) + data)

    def receive(self):
        head = read_exactly(4, 4)
        body = head and read_exactly(4, struct.unpack('>I', head)[0])
        if not body:
            os._exit(0)  # the host ended the session
        return body.decode()


channel = Channel()
REPORTS = (b'{"tests"', b'{"begin"', b'{"end":[')  # these messages need no answer, so they are sent with the next one
MOST_HELD = 65536


class Talk:
    """One child and the pipes to it."""

    def __init__(self, job):
        self.job, self.started, self.cpu_start = job, time.monotonic(), cgroup.cpu_seconds()
        self.own_start, self.memory = time.process_time(), cgroup.memory()
        self.case_start, self.written, self.status, self.why = None, 0, None, None
        self.inbox, self.outbox, self.looked, self.is_open = bytearray(), bytearray(), 0.0, True
        self.held = bytearray()  # messages for the host that are not sent yet
        self.is_tests = job.get('role') == 'tests'

    def start(self):
        UID[0] += 0 if STRICT else 1
        answers, output, requests = os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            IN_PROGRAM[0] = True
            try:
                channel.open()
                confine(self.job, output[1], answers[1], requests[0])
                converse(self.job)
            except BaseException:
                pass
            finally:
                os._exit(0)
        for fd in (answers[1], output[1], requests[0]):
            os.close(fd)
        self.answers, self.output, self.requests = answers[0], output[0], requests[1]
        os.set_blocking(self.answers, False)
        os.set_blocking(self.requests, False)
        self.poller = select.poll()
        for fd in (0, self.answers, self.output):
            self.poller.register(fd, select.POLLIN)

    def used(self):
        return cgroup.cpu_seconds() - self.cpu_start - (time.process_time() - self.own_start)

    def look(self):
        """Sets `why` to the limit that is exceeded, if any. Returns the seconds until the next check."""
        used, left = self.used(), self.job['wall'] - (time.monotonic() - self.started)
        cpu_left = self.job['cpu'] - used
        if cpu_left <= 0:
            self.why = 'timeout'
        elif left <= 0:
            self.why = 'wall'
        elif self.case_start is not None:
            case_left = self.job['case'] - (used - self.case_start)
            cpu_left = min(cpu_left, case_left)
            if case_left <= 0:
                self.why = 'case'
        return min(left, max(0.005, cpu_left), 0.05)

    def from_host(self):
        message = read_frame()
        if message is None:
            os._exit(0)
        if message.get('id') != self.job['id']:
            return
        if 'in' not in message:
            self.why = 'end'
            return
        data = message['in'].encode('utf-8', 'surrogatepass')
        self.outbox += struct.pack('>I', len(data)) + data
        if not self.is_tests:
            self.case_start = self.used()
        self.write()

    def write(self):
        try:
            del self.outbox[:os.write(self.requests, self.outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self.outbox.clear()  # the child has exited
        if self.outbox:
            self.poller.register(self.requests, select.POLLOUT)
        else:
            try:
                self.poller.unregister(self.requests)
            except KeyError:
                pass

    def from_child(self):
        part = os.read(self.answers, 65536)
        if not part and self.is_open:
            self.is_open = False
            self.poller.unregister(self.answers)
        self.inbox += part
        while self.why is None and len(self.inbox) >= 4:
            size = struct.unpack('>I', self.inbox[:4])[0]
            if size < 1 or size > MESSAGE_BYTES + 1024:
                self.why = 'protocol'
            elif len(self.inbox) < 4 + size:
                break
            else:
                head = bytes(self.inbox[4:12])
                self.mark(head)
                self.held += frame_of({'id': self.job['id'], 'out': self.inbox[4:4 + size].decode('utf-8', 'replace')})
                del self.inbox[:4 + size]
                if not (self.is_tests and head in REPORTS) or len(self.held) > MOST_HELD:
                    self.flush()
        return len(part)

    def flush(self):
        write_all(1, self.held)
        self.held.clear()

    def relay(self):
        pause = self.look()
        while self.why is None:
            events = self.poller.poll(1000 * pause)
            if not events:
                self.flush()
            for fd, _ in events:
                if fd == 0:
                    self.from_host()
                elif fd == self.answers:
                    self.from_child()
                elif fd == self.requests:
                    self.write()
                else:
                    part = os.read(fd, 65536)
                    self.written += len(part)
                    if not part:
                        self.poller.unregister(fd)
                    if self.written > self.job['output']:
                        self.why = 'output'
            if self.status is None:
                ended, code = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self.status = code
            elif self.why is None:
                self.why = 'exit'
                self.drain()
            if self.why is None and time.monotonic() - self.looked > 0.004:
                self.looked = time.monotonic()
                pause = self.look()
            if self.status is not None or not self.is_open:
                pause = min(pause, 0 if self.status is not None else 0.001)

    def mark(self, head):
        """Starts or stops the clock for one call or one test."""
        if not self.is_tests:
            self.case_start = None
        elif head.startswith(b'{"begin"'):
            self.case_start = self.used()
        elif head.startswith(b'{"end"'):
            self.case_start = None

    def drain(self):
        """Reads the last messages of a child that has ended."""
        self.why = None
        try:
            while self.why is None and self.from_child():
                pass
        except BlockingIOError:
            pass
        self.why = self.why or 'exit'


def run_session(job):
    """Runs one interactive job, reports to the host how it ended, and removes what is left."""
    talk = Talk(job)
    talk.start()
    talk.relay()
    why, status = talk.why, talk.status
    used = talk.used()
    killed_by = cgroup.killed_by(talk.memory)
    if killed_by == 'host':
        resign()
    if why == 'end':
        ended = ['end', '']
    elif why == 'exit' and status == 0 and killed_by is None:
        ended = ['end', describe(status)]
    else:
        ended = verdict_on(why, status, killed_by, 'test' if talk.is_tests else 'call')
    end = {
        'id': job['id'],
        'ended': ended,
        'ms': round((time.monotonic() - talk.started) * 1000, 3),
        'used': max(0, used),
        'cpu': cgroup.cpu_seconds(),
        'wall': why == 'wall',
        'retire': STRICT or UID[0] > LAST_UID,
    }
    write_all(1, talk.held + frame_of(end))
    clean = sweep(None if STRICT else UID[0])
    for fd in (talk.answers, talk.output, talk.requests):
        os.close(fd)
    if not clean:
        resign()
