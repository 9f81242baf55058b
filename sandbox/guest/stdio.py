# Calling style `stdio`: every call runs the whole program anew as __main__. The argument is its standard input. The answer is
# its standard output, if it ends with exit status 0. Both are real files on descriptors 0 and 1, because contest programs
# also use open(0) and os.write. Each call has its own process, so the program may replace it (os.execv) or leave it
# (os._exit), and nothing stays for the next call. WebAssembly has no processes, so run_here undoes what it can.
import atexit
import builtins
import os
import threading

FORKS = sys.platform != 'emscripten'
SCRIPT = '/tmp/solution.py'
MAX_REPORT = 1 << 16
MAX_STACK = 64 << 20  # the most bytes for the stack of a thread
set_stack_size = threading.stack_size


class Reported(Exception):
    """The program's process has failed and written its own report."""


class Left(BaseException):
    """The program called os._exit in WebAssembly, where it has no process to end."""


def text_file():
    """Returns the descriptor of an empty file without a name."""
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('stdio')
    path = '/tmp/stdio'
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(path)
    return fd


def write_whole(fd, data):
    while data:
        data = data[os.write(fd, data):]


def read_printed(fd):
    size = os.fstat(fd).st_size
    if size > MAX_BYTES:
        raise Unsendable('the program printed too much')
    return os.pread(fd, size, 0).decode('utf-8', 'replace')


def whole_program(code):
    compiled = compile(code, 'solution.py', 'exec')

    def run(text):
        given, printed, report = text_file(), text_file(), text_file()
        try:
            write_whole(given, text.encode('utf-8', 'surrogatepass'))
            os.lseek(given, 0, os.SEEK_SET)
            (run_in_process if FORKS else run_here)(code, compiled, given, printed, report)
            return read_printed(printed)
        finally:
            for fd in given, printed, report:
                os.close(fd)

    return run


def run_in_process(code, compiled, given, printed, report):
    leave, own = os._exit, os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.closerange(3, 5)  # the answer channel
            run_main(code, compiled, given, printed)
            status = 0
        except BaseException as error:
            write_whole(report, failure(error).encode())
        finally:
            leave(status)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        os.kill(own, os.WTERMSIG(status))  # this process ends in the same way, and pid 1 judges that
    if status != 0:
        said = os.pread(report, MAX_REPORT, 0).decode('utf-8', 'replace')
        if said:
            raise Reported(said)
        raise RuntimeError('the program ended with exit status ' + str(os.waitstatus_to_exitcode(status)))


def run_here(code, compiled, given, printed, report):
    before, kept = (os.dup(0), os.dup(1)), (sys.stdin, sys.stdout, sys.__stdin__, sys.__stdout__, os._exit)
    left = []

    def leave(status):
        left.append((status, os.fstat(printed).st_size))
        raise Left

    os._exit = leave
    try:
        try:
            run_main(code, compiled, given, printed)
        except BaseException:
            if not left:
                raise
    finally:
        sys.stdin, sys.stdout, sys.__stdin__, sys.__stdout__, os._exit = kept
        for target, fd in enumerate(before):
            os.dup2(fd, target)
            os.close(fd)
    if left:  # holds even if the program caught Left and went on
        status, size = left[0]
        if status & 0xFF:
            raise RuntimeError('the program ended with exit status ' + str(status))
        os.ftruncate(printed, size)


def run_main(code, compiled, given, printed):
    """Runs the program from start to end, as `python solution.py` does. Raises what ends it, unless it succeeds."""
    os.dup2(given, 0)
    os.dup2(printed, 1)
    out = open(1, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
    sys.stdin = sys.__stdin__ = open(0, encoding='utf-8', errors='surrogateescape', closefd=False)
    sys.stdout = sys.__stdout__ = out
    sys.argv = ['solution.py']
    try:
        with open(SCRIPT, 'w', encoding='utf-8', errors='surrogatepass') as file:
            file.write(code)  # some programs read or run themselves
    except OSError:
        pass
    seed_random(0)
    sys.setrecursionlimit(CONTEST_DEPTH)
    threading.stack_size = stack_size
    module = types.ModuleType('__main__')
    names = module.__dict__
    names.update(__file__=SCRIPT, __builtins__=builtins)
    sys.modules['__main__'] = sys.modules['solution'] = module
    status = None
    try:
        exec(compiled, names)
    except SystemExit as exit:
        status = exit.code
    if FORKS:
        threading._shutdown()  # waits for threads
    atexit._run_exitfuncs()
    flush(sys.stdout)
    names.clear()  # closes files that only the program refers to
    try:
        flush(out)
    except (OSError, ValueError):
        pass  # the program has detached the buffer of its output
    if status is not None and not (isinstance(status, int) and status & 0xFF == 0):
        raise RuntimeError('the program ended with exit status ' + repr(status)[:100])


def stack_size(size=0):
    """Replaces threading.stack_size. Programs ask for more than their memory limit, which calls of Python functions never need."""
    return set_stack_size(min(size, MAX_STACK))


def flush(stream):
    if stream is not None and not getattr(stream, 'closed', False):
        stream.flush()
