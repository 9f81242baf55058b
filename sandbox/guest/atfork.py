# Modules of the standard library ask to be called after a fork: random takes a new seed, threading forgets the parent's
# threads. The fork server has no threads and seeds what it forks, so there these calls are nothing but time, a third of
# a millisecond a fork. They are made in forks of a program's own only. Comes before whatever imports such a module.
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
