# The standard library registers functions that run after each fork: random seeds itself, threading forgets its threads.
# Here they run only in processes that a program forks. The fork server has no threads and seeds random itself; without these
# functions, a short program takes about 12 % less CPU time. This file must run before such modules are imported.
import os

IN_PROGRAM = [False]
register_at_fork = os.register_at_fork


def in_programs(handler):
    def run():
        if IN_PROGRAM[0]:
            handler()

    return run


def register_for_programs(**handlers):
    register_at_fork(**{when: in_programs(handler) for when, handler in handlers.items()})


os.register_at_fork = register_for_programs
