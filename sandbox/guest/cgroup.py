# Reads the kernel's counters for this container from cgroup v2 or v1: the CPU time of all processes, and how often the kernel
# killed one because memory ran out. With some runtimes and rootless daemons neither is readable. Then the CPU time comes
# from /proc, and a program that the kernel killed for its memory gets the verdict error.
import os
import resource
import time


class Counter:
    """One number in a cgroup file, which stays open. `read` returns None if there is no such file."""

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
    """Returns the cgroup v2 folder of this process. With a cgroup namespace, it is the root of the mount."""
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
        # in v2, `oom` counts how often the container reached its limit; `oom_kill` also counts kills because the host did
        self.limits = Counter([(v2 + 'memory.events', b'oom')])
        self.kills = Counter([(v2 + 'memory.events', b'oom_kill'), (v1 + 'memory/memory.oom_control', b'oom_kill')])

    def memory(self):
        return self.limits.read(), self.kills.read()

    def killed_by(self, before):
        """Says what had no memory left when the kernel killed a process: 'container' or 'host', or None if it has killed none
        since `before`. With cgroup v1, it is always 'container'."""
        limits, kills = self.memory()
        if kills is None or kills == before[1]:
            return None
        return 'host' if limits is not None and limits == before[0] else 'container'

    def cpu_seconds(self):
        """Returns the CPU time of the container since it started, with all its processes."""
        if self.cpu_v2.fd is not None:
            return self.cpu_v2.read() / 1e6
        if self.cpu_v1.fd is not None:
            return self.cpu_v1.read() / 1e9
        return cpu_of_processes()


def cpu_of(pid):
    """Returns the CPU time of one process with its threads but without its children; 0 after it has ended."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # the number of its CPU clock, see clock_getcpuclockid(3)
    except OSError:
        return 0.0


def cpu_of_processes():
    """Returns the CPU time of all processes except this one, from /proc. Children that have ended are included."""
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
