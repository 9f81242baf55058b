# Cleans up after a program. All other processes are killed first, so that /tmp does not change any more. Then a process with
# the program's rights empties /tmp.
import os
import signal
import time

WIPE_SECONDS = 5


def become(uid):
    """Changes uid and gid for good. pid 1 drops its supplementary groups before it forks."""
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def files_in_tmp():
    """Returns the file system's own count. A list of /tmp would bring names that a program chose into this memory."""
    tmp = os.statvfs('/tmp')
    return tmp.f_files - tmp.f_ffree if tmp.f_files else None


EMPTY = files_in_tmp()  # the count for an empty folder; the folder itself counts, too


def tmp_is_empty():
    if EMPTY is not None:
        return files_in_tmp() == EMPTY
    pid = os.fork()  # some runtimes have no count; then another process, which ends at once, lists the folder
    if pid == 0:
        try:
            os._exit(1 if os.listdir('/tmp') else 0)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def empty_folder(top):
    """Deletes everything in a folder. Inner folders are moved up first, so that deep ones need no long path or recursion."""
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
    """Deletes what a program left in /tmp, with the rights of its `uid`. None means that this process has the same uid."""
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
    """Kills every other process of this container and empties /tmp. False if it is not clean; then it must retire."""
    try:
        os.kill(-1, signal.SIGKILL)  # the kernel allows no fork meanwhile, so a fork bomb cannot escape
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
