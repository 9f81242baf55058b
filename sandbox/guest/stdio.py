# Calling style `stdio`: every call runs the whole program anew as __main__. The argument is its standard input, the
# answer is its standard output. Both are real files on descriptors 0 and 1, since contest programs also use open(0) and
# os.write.
import atexit
import os
import threading


def text_file():
    """A descriptor of an empty, unnamed file."""
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('stdio')
    path = '/tmp/stdio'
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(path)
    return fd


def whole_program(code):
    compiled = compile(code, 'solution.py', 'exec')

    def run(text):
        given, printed, before = text_file(), text_file(), (os.dup(0), os.dup(1))
        kept = sys.stdin, sys.stdout
        try:
            data = text.encode('utf-8', 'surrogatepass')
            while data:
                data = data[os.write(given, data):]
            os.lseek(given, 0, os.SEEK_SET)
            os.dup2(given, 0)
            os.dup2(printed, 1)
            sys.stdin = open(0, encoding='utf-8', errors='surrogateescape', closefd=False)
            sys.stdout = open(1, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
            seed_random(0)
            module = types.ModuleType('__main__')
            sys.modules['__main__'] = sys.modules['solution'] = module
            try:
                exec(compiled, module.__dict__)
                for thread in threading.enumerate():
                    if thread is not threading.main_thread() and not thread.daemon:
                        thread.join()
            except SystemExit as exit:
                if exit.code is not None and exit.code != 0:
                    raise RuntimeError('the program ended with exit status ' + repr(exit.code)[:100]) from None
            atexit._run_exitfuncs()
            sys.stdout.flush()
            size = os.fstat(printed).st_size
            if size > MAX_BYTES:
                raise Unsendable('the program printed too much')
            os.lseek(printed, 0, os.SEEK_SET)
            return os.read(printed, size + 1).decode('utf-8', 'replace')
        finally:
            sys.stdin, sys.stdout = kept
            for target, fd in enumerate(before):
                os.dup2(fd, target)
            for fd in (given, printed, *before):
                os.close(fd)

    return run
