# Cleans up after a program: kills and reaps processes, then a process with the program's rights empties /tmp. No
# program runs at that time, so /tmp does not change meanwhile.
import os
import signal
import time

WIPE_SECONDS = 5


def become(uid):
    """Changes uid and gid permanently. pid 1 has dropped its supplementary groups before it forks."""
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def files_in_tmp():
    """The file system's count. Listing would bring names chosen by a program into this process's memory."""
    tmp = os.statvfs('/tmp')
    return tmp.f_files - tmp.f_ffree if tmp.f_files else None


EMPTY = files_in_tmp()  # counts its root


def tmp_is_empty():
    if EMPTY is not None:
        return files_in_tmp() == EMPTY
    pid = os.fork()  # some runtimes do not count: a short-lived process lists the folder
    if pid == 0:
        try:
            os._exit(1 if os.listdir('/tmp') else 0)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def empty_folder(top):
    """Moves folders up to `top` before deleting them, so that deep trees need no long path and no recursion."""
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
    """Deletes what a program left in /tmp, as its owner. `uid` None: this process is the owner."""
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
    """Kills and reaps every other process of this container and empties /tmp. False if it is not clean and must
    retire."""
    try:
        os.kill(-1, signal.SIGKILL)  # atomic with respect to forks, so a fork bomb cannot escape
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
