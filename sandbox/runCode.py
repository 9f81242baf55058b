# Runs a script as `python main.py` does, in a forked process with a standard input, output and error of its own. The script can
# reach this process, so its answer is what the script says, not a verdict.
import atexit
import base64
import os
import sys
import threading
import time
import traceback
import types

FOLDER = '/tmp/run'
leave = os._exit  # a script may replace it


def run_code(code, given, files, wanted):
    """@return exit status, standard output, standard error, seconds, and the files that are wanted and exist"""
    for name, data in [('main.py', code.encode()), *((name, base64.b64decode(text)) for name, text in files)]:
        path = os.path.join(FOLDER, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data)
    os.chdir(FOLDER)
    streams = [os.memfd_create(name) for name in ('stdin', 'stdout', 'stderr')]
    os.write(streams[0], given.encode())
    os.lseek(streams[0], 0, os.SEEK_SET)
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.closerange(3, 5)  # the channel of the answer
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        leave(run_main(code))
    status = os.waitpid(pid, 0)[1]
    seconds = time.monotonic() - start
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (9, 24):  # killed, or out of CPU time: pid 1 knows why
        os.kill(os.getpid(), os.WTERMSIG(status))
    out, err = [os.pread(fd, os.fstat(fd).st_size, 0).decode('utf-8', 'replace') for fd in streams[1:]]
    found = [[name, read(name)] for name in wanted if os.path.isfile(name)]
    return [os.waitstatus_to_exitcode(status), out, err, seconds, found]


def read(name):
    with open(name, 'rb') as file:
        return base64.b64encode(file.read()).decode()


def run_main(code):
    """@return the exit status"""
    sys.stdin = sys.__stdin__ = open(0, encoding='utf-8', closefd=False)
    out = sys.stdout = sys.__stdout__ = open(1, 'w', encoding='utf-8', closefd=False)
    sys.stderr = sys.__stderr__ = open(2, 'w', encoding='utf-8', errors='backslashreplace', closefd=False, buffering=1)
    sys.argv = ['main.py']
    sys.path.insert(0, FOLDER)
    module = sys.modules['__main__'] = types.ModuleType('__main__')
    module.__file__ = os.path.join(FOLDER, 'main.py')
    status = 0
    try:
        exec(compile(code, module.__file__, 'exec'), module.__dict__)
    except SystemExit as exit:
        status = exit.code
        if not isinstance(status, int) and status is not None:
            print(status, file=sys.stderr)
            status = 1
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next  # without this function
        traceback.print_exception(error)
        status = 1
    try:
        threading._shutdown()  # waits for threads
        atexit._run_exitfuncs()
        module.__dict__.clear()  # closes files that only the script refers to
        if not out.closed:
            out.flush()  # also if the script prints to something else by now
    except BaseException:
        traceback.print_exc()
        return 120
    return (status or 0) & 0xFF
