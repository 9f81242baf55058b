# What the kernel counts for this container: CPU time of all its processes, and how often it killed one for memory.
# cgroup v2 and v1; where neither is readable (some runtimes and rootless daemons), CPU time from /proc, and no count of
# kills: a program that was killed for memory is then an error.
import os
import resource
import time


class Counter:
    """One number of a cgroup file that stays open, read again at every call; None where it is not there."""

    def __init__(self, places):
        self.fd, self.key = None, None
        for path, key in places:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.fd, self.key = fd, key
            if self.read() is not None:
                break
            os.close(fd)
            self.fd = None

    def read(self):
        if self.fd is None:
            return None
        words = os.pread(self.fd, 4096, 0).split()
        try:
            return int(words[words.index(self.key) + 1] if self.key else words[0])
        except (ValueError, IndexError):
            return None


def own_folder(own, root):
    """The cgroup v2 folder of this process; the root of the mount, where containers have a cgroup namespace."""
    try:
        with open(own) as file:
            for line in file:
                if line.startswith('0::/') and os.path.isdir(root + line[3:].strip()):
                    return root + line[3:].strip().rstrip('/') + '/'
    except OSError:
        pass
    return root + '/'


class Cgroup:
    def __init__(self, root='/sys/fs/cgroup', own='/proc/self/cgroup'):
        v2, v1 = own_folder(own, root), root + '/'
        self.cpu_v2 = Counter([(v2 + 'cpu.stat', b'usage_usec')])
        self.cpu_v1 = Counter([(v1 + 'cpuacct/cpuacct.usage', None), (v1 + 'cpu,cpuacct/cpuacct.usage', None)])
        self.kills = Counter([(v2 + 'memory.events', b'oom_kill'), (v1 + 'memory/memory.oom_control', b'oom_kill')])

    def oom_kills(self):
        return self.kills.read()

    def cpu_seconds(self):
        """CPU time of the container since it started, children of children included."""
        if self.cpu_v2.fd is not None:
            return self.cpu_v2.read() / 1e6
        if self.cpu_v1.fd is not None:
            return self.cpu_v1.read() / 1e9
        return cpu_of_processes()


def cpu_of(pid):
    """CPU time of one process with its threads, without its children; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # its CPU clock, see clock_getcpuclockid(3)
    except OSError:
        return 0.0


def cpu_of_processes():
    """From /proc: those that were reaped, and those that live with what they reaped. This process does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open('/proc/' + name + '/stat') as file:
                fields = file.read().rpartition(')')[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK')
    return total
