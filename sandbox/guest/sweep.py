# What a program leaves behind: processes are killed and reaped, then /tmp is emptied by one that has the program's
# rights and no more. No program runs any more when /tmp is emptied, so nothing in it changes meanwhile.
import os
import signal
import time

WIPE_SECONDS = 5


def become(uid):
    """For good. There are no further groups: pid 1 gives up its own before it forks."""
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def files_in_tmp():
    """Counted by the file system, not listed: no name that a program chose comes into this process's memory."""
    tmp = os.statvfs('/tmp')
    return tmp.f_files - tmp.f_ffree if tmp.f_files else None


EMPTY = files_in_tmp()  # before any program: its root


def tmp_is_empty():
    if EMPTY is not None:
        return files_in_tmp() == EMPTY
    pid = os.fork()  # not every runtime counts: then a process that ends looks
    if pid == 0:
        try:
            os._exit(1 if os.listdir('/tmp') else 0)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def empty_folder(top):
    """Moves folders up to `top` before it deletes them: however deep a tree is, no path gets long and no call nests."""
    moved = 0
    progress = True
    while progress:
        progress = False
        for name in os.listdir(top):
            path = top + b'/' + name
            try:
                if os.path.islink(path) or not os.path.isdir(path):
                    os.unlink(path)
                    progress = True
                    continue
                os.chmod(path, 0o700)
                for inner in os.listdir(path):
                    source = path + b'/' + inner
                    if os.path.islink(source) or not os.path.isdir(source):
                        os.unlink(source)
                        continue
                    os.chmod(source, 0o700)
                    moved += 1
                    os.rename(source, top + b'/.%d-%d' % (os.getpid(), moved))
                os.rmdir(path)
                progress = True
            except OSError:
                continue


def wipe_tmp(uid):
    """Deletes, as its owner, what a program left in /tmp. `uid` None: this process is the owner."""
    pid = os.fork()
    if pid == 0:
        try:
            if uid is not None:
                become(uid)
            empty_folder(b'/tmp')
        finally:
            os._exit(0)
    give_up = time.monotonic() + WIPE_SECONDS
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > give_up:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
        time.sleep(0.001)


def sweep(uid):
    """Kills every other process of this container at once, reaps them, empties /tmp. False: not clean, retire."""
    try:
        os.kill(-1, signal.SIGKILL)  # under the lock that forks take: a storm of forks has no gap to slip through
    except OSError:
        pass
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    if tmp_is_empty():
        return True
    wipe_tmp(uid)
    return tmp_is_empty()
