# Reads the kernel's counters of this container: CPU time of all its processes, and kills for memory. Uses cgroup v2 or v1.
# If neither is readable (some runtimes and rootless daemons), CPU time comes from /proc and kills are unknown: a program
# that was killed for memory is then an error.
import os
import resource
import time


class Counter:
    """One number of a cgroup file, which stays open. None if there is no such file."""

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
    """The cgroup v2 folder of this process; the root of the mount if the container has a cgroup namespace."""
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
        # of v2: the first counts how often the container reached its limit, the second also kills by the host
        self.limits = Counter([(v2 + 'memory.events', b'oom')])
        self.kills = Counter([(v2 + 'memory.events', b'oom_kill'), (v1 + 'memory/memory.oom_control', b'oom_kill')])

    def memory(self):
        return self.limits.read(), self.kills.read()

    def killed_by(self, before):
        """What had no memory left when the kernel killed a process since `before`: 'container', 'host', or None if it
        killed none. cgroup v1 does not tell them apart."""
        limits, kills = self.memory()
        if kills is None or kills == before[1]:
            return None
        return 'host' if limits is not None and limits == before[0] else 'container'

    def cpu_seconds(self):
        """CPU time of the container since it started, including all descendants."""
        if self.cpu_v2.fd is not None:
            return self.cpu_v2.read() / 1e6
        if self.cpu_v1.fd is not None:
            return self.cpu_v1.read() / 1e9
        return cpu_of_processes()


def cpu_of(pid):
    """CPU time of one process with its threads but without its children; 0 after its end."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # its CPU clock, see clock_getcpuclockid(3)
    except OSError:
        return 0.0


def cpu_of_processes():
    """CPU time from /proc, of reaped children and of living processes with their reaped children, except this
    process."""
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
