"""Searches for inputs on which a program differs from its reference, or which reach what no known input reaches.

Each condition of both sources gives goals: its outcomes, and equality of its sides. A run measures the distance to each goal.
Alternating variables with a secant step (Korel 1990, "Automated software test data generation") reduce one distance at a time.
What the program does here only guides the search. Its verdicts come from later runs.
"""

import ast
import copy
import itertools
import math
import random
import re
import time

MOST_STUCK = 40  # moves without a gain, after which a descent ends
MEAN_EVENTS = 3000  # of a run
SHRINKING = 500  # the most runs to make one input simpler
MOST_ITEMS = 10_000  # of a generator
MOST_GROWN = 2  # known inputs
DOUBLINGS = 4
PRIMES = 999_983, 99_999_989  # programs that try every smaller number as a divisor are slow
MOST_LARGE = 100_000  # events of a run on a large input


def search(reference, program, entry, known, count, seed, budget, shrinks=False, grows=False):
    """Returns up to `count` lists of arguments. Those on which program and reference differ come first.

    known: lists of arguments that the reference accepts; they are not returned. If there are none, the annotations of the reference
    say where to begin; None if it accepts nothing near these. program: "" if it may not be read. budget: the most inputs on which both
    run. shrinks: annotations, too, and only inputs on which the two differ, as simple as possible. grows: large inputs come first.
    """
    examples = _examples(reference, entry) if shrinks or not known else []
    found = _Search(reference, program, entry, known, examples, seed, budget)
    inputs = [*(found.grown() if grows else []), *found.inputs(count)][:count]
    return None if not found.known else found.simplest(count) if shrinks else inputs


class _Search:
    def __init__(self, reference, program, entry, known, examples, seed, budget):
        self.random = random.Random(seed)
        self.probe = _Probe()
        self.parts = {}
        self.caches = []
        self.functions = [self._load(source, entry) for source in (reference, program) if source]
        self.left = budget  # runs
        self.events = MEAN_EVENTS * budget
        self.most = EVENTS  # events of a run
        self.pool = _Pool([reference, program], [*known, *examples])
        self.known = [*self._accepted(examples), *known]
        self.best = {}  # the goals that were reached, each with its distance and the nearest input
        self.different = []
        self.first = []  # inputs that reached a goal first
        self.again = []  # inputs that reached a goal later
        self.seen = {repr(args) for args in known}

    def _accepted(self, examples):
        """The examples that the reference accepts, or else changes of them that it accepts."""
        changed = (self.pool.moved(self.random.choice(examples), self.random) for _ in range(self.left // 2) if examples)
        accepts = lambda args: self._answers(args)[0][0] == "value"
        return [*filter(accepts, examples)] or [*itertools.islice(filter(accepts, changed), 3)]

    def inputs(self, count):
        for args in self.known:
            self._run(args)
        known_goals = {goal for goal, (distance, _) in self.best.items() if distance == 0}
        self.first = []
        while self.known and self._may_go_on() and len(self.different) < count:
            open_goals = [goal for goal, (distance, _) in self.best.items() if distance > 0]
            if not open_goals and len(self.functions) == 1 and len(self.first) + len(self.again) >= count:
                break
            goals = open_goals if self.random.random() < 0.5 else [goal for goal in self.best if goal not in known_goals]
            if goals and self.random.random() < 0.8:
                self._descend(self.random.choice(goals))
            else:
                self._walk()
        self.random.shuffle(self.first)
        return [*self.different, *self.first, *self.again][:count]

    def grown(self):
        """Inputs on which slow programs fail: known ones, doubled as often as the reference answers, or with a large prime."""
        self.most, large = MOST_LARGE, []
        for args in self.known[-MOST_GROWN:]:
            numbers = [[at] for at, value in enumerate(args) if type(value) is int]
            for places in [*numbers, [at for at, value in enumerate(args) if isinstance(value, (str, list, tuple))]]:
                grown = args
                for _ in range(DOUBLINGS):
                    new = [value + value if at in places else value for at, value in enumerate(grown)]
                    if new == grown or self._run(new) is None:
                        break
                    grown = new
                primes = ([prime if at in places else value for at, value in enumerate(args)] for prime in PRIMES)
                quick = [*itertools.takewhile(self._is_quick, primes)] if places in numbers else []
                large += [new for new in (grown, *quick[-1:]) if new not in [args, *large]]
        self.most = EVENTS
        return large

    def _is_quick(self, args):
        start = time.process_time()
        return self._run(args) is not None and time.process_time() - start < 0.5  # seconds; the next prime could take minutes

    def _walk(self):
        """Changes an input at random."""
        args = self.random.choice([*self.known, *self.first])
        for _ in range(self.random.randint(1, 4)):
            args = self.pool.moved(args, self.random)
            self._run(args)

    def _descend(self, goal):
        """Changes one place of an input at a time, and keeps a change that brings the goal no farther away."""
        distance, args = self.best[goal]
        if distance == 0 or self.random.random() < 0.3:
            args = self.random.choice(self.known)
        near = self._run(args)
        stuck = 0
        while stuck < MOST_STUCK and self._may_go_on() and near is not None:
            distance = near.get(goal, FAR)
            if distance == 0:
                return self._keep(args, self.again)
            new = self._step(args, near, goal)
            then = self._run(new)
            if then is None or then.get(goal, FAR) > distance:
                stuck += 1
                continue
            stuck = stuck + 1 if then.get(goal, FAR) == distance else 0
            args, near = new, then

    def _may_go_on(self):
        return self.left > 0 and self.events > 0

    def _keep(self, args, inputs):
        if repr(args) not in self.seen:
            self.seen.add(repr(args))
            inputs.append(args)

    def _step(self, args, near, goal):
        open_parts = [part for part in self.parts.get(goal, ()) if near.get(part, 0) > 0]
        aim = self.random.choice(open_parts or [goal])
        numbers = [(path, value) for path, value in _leaves(args) if isinstance(value, _Letter) or _is_number(value)]
        if aim not in near or not numbers or self.random.random() < 0.4:
            return self.pool.moved(args, self.random)
        path, value = self.random.choice(numbers)
        by = self.random.choice([-1, 1])
        then = self._run(_put(args, path, type(value)(value + by))) or near
        slope = (then.get(aim, near[aim]) - near[aim]) / by
        step = near[aim] / slope if slope and math.isfinite(slope) else math.inf
        if not math.isfinite(step):
            return self.pool.moved(args, self.random)
        moved = type(value)(value - (step if isinstance(value, float) else round(step)))
        return _put(args, path, moved) if self.pool.allows(moved) else self.pool.moved(args, self.random)

    def _run(self, args):
        """The distances to the goals that a run reached; None if the reference does not accept the input."""
        self.probe.near = {}
        answers = self._answers(args)
        if answers[0][0] != "value":
            return None
        near = self.probe.near
        gains = [goal for goal, distance in near.items() if goal not in self.best or distance < self.best[goal][0]]
        first = [goal for goal in gains if near[goal] == 0]
        for goal in gains:
            self.best[goal] = (near[goal], args)
        if answers[0] != answers[-1]:
            self._keep(args, self.different)
        elif first:
            self._keep(args, self.first)
        return near

    def simplest(self, count):
        """Inputs on which the two differ, without parts that do not matter."""
        found = {}
        for args in self.different:
            self.left, tried = SHRINKING, {repr(args)}
            while simpler := next((one for one in _simpler(args) if self._differs(one, tried)), None):
                args = simpler
            found[repr(args)] = args
        return sorted(found.values(), key=lambda args: len(repr(args)))[:count]

    def _differs(self, args, tried):
        if repr(args) in tried or not self._may_go_on():
            return False
        tried.add(repr(args))
        first, *others = self._answers(args)
        return first[0] == "value" and others != [first]

    def _answers(self, args):
        self.left -= 1
        return [self._answer(function, args) for function in self.functions]

    def _answer(self, function, args):
        for cached in self.caches:
            cached.cache_clear()
        random.seed(0)
        self.probe.left = self.most
        try:
            value = function(*copy.deepcopy(args))
            return ("value", _plain(list(itertools.islice(value, MOST_ITEMS)) if hasattr(value, "__next__") else value))
        except (Exception, SystemExit) as error:
            return ("error", type(error).__name__)
        except _TooLong:
            return ("too long",)
        finally:
            self.events -= self.most - self.probe.left

    def _load(self, source, entry):
        """The entry of a source that reports its conditions; a function that fails, if the source does not run."""
        namespace = {"__name__": "program", "print": lambda *_, **__: None, "_probe": self.probe}
        self.probe.left = EVENTS
        try:
            tree = _Measured(self.parts).visit(ast.parse(source))
            exec(compile(ast.fix_missing_locations(tree), "<program>", "exec"), namespace)
            self.caches += [value for value in namespace.values() if hasattr(value, "cache_clear")]
            first, *method = entry.split(".")
            return (lambda *args: getattr(namespace[first](), method[0])(*args)) if method else namespace[first]
        except (Exception, SystemExit, _TooLong):
            return lambda *_: 1 // 0


def _plain(value):
    """A text that is equal for answers that are equal, but for the kind of a sequence and the last digits of a number."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_plain(key)}: {_plain(one)}' for key, one in value.items()))}}}"
    text = f"{float(value):.9g}" if isinstance(value, (bool, float)) else repr(value)
    return re.sub(" at 0x[0-9a-f]+", "", text)
