// The solver in one process: it writes the same programs as the workflow, and chooses by tests of the discriminator.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/base/errors.js';
import type { Problem } from '../../core/schema/problem.js';
import { shippedModelPath } from '../../data/paths.js';
import { loadProblems } from '../../data/problems.js';
import { openSolver, type Solver } from '../../inference/policies.js';
import { bestProgram, judgeSamples, type Score, type WrittenTest } from '../../inference/selection.js';
import {
  type ProgramEvent,
  type SolveEvent,
  type SolveOptions,
  solveTask,
  solveTasks,
} from '../../inference/solver.js';
import { taskOfMessage } from '../../inference/tasks.js';
import { ROOT } from '../../infra/root.mjs';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { addProblem, addProblems, type Doubles, memoryDoubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline, solve } from '../support/runs.js';

const OPTIONS: SolveOptions = { samples: 1, temperature: 0, tests: true, trustBaseline: false };

/** Signatures that users paste: the entry, the text for the model, and the rest of the message. */
const { signatures: PASTED, callings: CALLINGS } = JSON.parse(
  readFileSync(join(ROOT, 'test/inference/pasted.json'), 'utf8'),
) as {
  signatures: [pasted: string, entry: string, signature: string, description: string][];
  callings: [pasted: string, entry: string, calling: [style: string, observe: unknown, parameters: unknown] | null][];
};

describe('the solver in one process', () => {
  let world: Doubles;
  let solver: Solver;
  beforeEach(async () => {
    world = await memoryDoubles();
    solver = await openSolver(world.deps, {});
  });

  async function eventsOf(task = addProblem(30), options: Partial<SolveOptions> = {}): Promise<SolveEvent[]> {
    const events: SolveEvent[] = [];
    for await (const event of solveTask(solver, task, { ...OPTIONS, ...options })) events.push(event);
    return events;
  }
  const programsIn = (events: SolveEvent[]): ProgramEvent[] =>
    events.filter((event): event is ProgramEvent => event.event === 'program');

  it('emits five stages, the tests and the program', async () => {
    const events = await eventsOf();
    assert.deepEqual(
      events.map((event) => (event.event === 'stage' ? event.stage : event.event)),
      [1, 2, 3, 4, 5, 'tests', 'program'],
    );
    const [program] = programsIn(events);
    assert.match(program!.code, /^def solve\(x\):/);
    assert.deepEqual([program!.selected, program!.tests], [true, 2]);
  });

  it('writes the same programs as the workflow solveProblems', async () => {
    const sampling = { samples: 3, temperature: 0.8 };
    const result = await solve(createActivities(world.deps), { ...sampling, limit: 3 });
    const expected = await world.deps.store.getJson(result.solutions);
    const found: ProgramEvent[] = [];
    for (const task of addProblems(30, 3)) found.push(...programsIn(await eventsOf(task, sampling)));
    assert.deepEqual(
      found.map(({ problemId, sample, code, passed, tests }) => ({ problemId, sample, code, passed, tests })),
      expected,
    );
  });

  const withoutSeconds = (events: SolveEvent[]) => events.map((event) => ({ ...event, seconds: 0 }));
  async function together(tasks: Problem[], options: Partial<SolveOptions>): Promise<SolveEvent[]> {
    const events: SolveEvent[] = [];
    for await (const event of solveTasks(solver, tasks, { ...OPTIONS, ...options })) events.push(event);
    return events;
  }

  it('solves many problems at once with the same events as one by one, and bounds a call of the model', async () => {
    const tasks = addProblems(30, 25);
    const rows: number[] = [];
    const generate = world.engine.generate.bind(world.engine);
    world.engine.generate = (asked, options) => {
      rows.push(asked.length);
      return generate(asked, options);
    };
    for (const sampling of [{}, { samples: 3, temperature: 0.8 }, { samples: 40, temperature: 0.8, tests: false }]) {
      const some = sampling.samples === 40 ? tasks.slice(0, 2) : tasks;
      rows.length = 0;
      const found = await together(some, sampling);
      const { samples = 1 } = sampling;
      assert.ok(Math.max(...rows) <= 5 * Math.max(32, samples), 'the tests of five stages are the largest call');
      const calls = rows.length;
      const single: SolveEvent[] = [];
      for (const task of some) single.push(...(await eventsOf(task, sampling)));
      assert.deepEqual(withoutSeconds(found), withoutSeconds(single));
      if (samples < 32) assert.ok(calls * 8 < rows.length - calls, `${calls} calls instead of ${rows.length - calls}`);
    }
  });

  it('solves problems of the shipped model at once with the same bytes as one by one', async () => {
    const engine = await openEngine(shippedModelPath('tiny'), { workers: 1 });
    try {
      solver = await openSolver({ ...world.deps, engine: async () => engine }, {});
      const tasks = (await loadProblems('tiny')).test.slice(0, 5);
      for (const sampling of [{}, { samples: 2, temperature: 0.8 }]) {
        const single: SolveEvent[] = [];
        for (const task of tasks) single.push(...(await eventsOf(task, sampling)));
        assert.deepEqual(withoutSeconds(await together(tasks, sampling)), withoutSeconds(single));
      }
    } finally {
      await engine.close();
    }
  }).timeout(60_000);

  it('judges by the test source and by inputs that the reference answers, and says why it cannot judge', async () => {
    const { referenceSolution, ...plain } = { ...addProblem(30), baselineTests: [], hiddenTests: [] };
    const source = { testSource: 'assert solve(0) == 30\nassert solve(1) == 31', testStyle: 'assert' as const };
    const wrong = { ...source, testSource: `${source.testSource}\nassert solve(1) == 32` };
    const inputs = { baseline: [[0], [4], [5]], hidden: [] };
    const cases: [Problem, passed: number, tests: number, unjudged?: RegExp][] = [
      [plain, 0, 0, /^no tests$/],
      [{ ...plain, ...source }, 2, 2],
      [{ ...plain, ...wrong }, 2, 3], // nothing tells which of the tests is wrong
      [{ ...plain, ...wrong, referenceSolution }, 2, 2],
      [{ ...addProblem(30), ...source }, 4, 4],
      [{ ...plain, ...source, testSource: 'x = 1' }, 0, 0, /^no usable test in its test source$/],
      [{ ...plain, inputs, referenceSolution }, 3, 3],
      [{ ...plain, inputs, referenceSolution: 'while True' }, 0, 0, /reference/],
    ];
    const good = async (task: Problem): Promise<ProgramEvent> => programsIn(await eventsOf(task))[0]!;
    for (const [task, passed, tests, why] of cases) {
      const found = await good(task);
      assert.deepEqual(
        [found.passed, found.tests, typeof found.unjudged],
        [passed, tests, why ? 'string' : 'undefined'],
      );
      if (why) assert.match(found.unjudged!, why);
    }
    const named = await good({
      ...plain,
      baselineTests: [
        { args: [0], expected: 30 },
        { args: [1], expected: 'x\n' },
      ],
    });
    assert.deepEqual(named.failed, { test: "solve(1) == 'x\\n'", verdict: 'fail', message: undefined });
    assert.match((await good({ ...plain, ...wrong })).failed!.test, /3/); // the third test of the source
    assert.equal((await good({ ...plain, ...source })).failed, undefined);
    world.sandbox.runTests = async () => {
      throw new GauntletError('SANDBOX_UNAVAILABLE', 'there is no pytest');
    };
    const found = await good({ ...plain, ...source });
    assert.deepEqual([found.tests, found.unjudged], [0, 'there is no pytest']);
  });

  it('says why tests are unreadable', async () => {
    const cases: [text: string, reasons: object][] = [
      ['((1,), 31)\n((2,), 32)', {}],
      ['((1,), 31)', { missing: 1 }],
      ['((1,), 31)\n((2,), x)\n((2, 3), 4)\n((5,', { 'not-literal': 1, arity: 1, truncated: 1 }],
      ['((1,), 31)\n((2,), 32)\n((3,), 33)', {}],
      ['', { missing: 2 }],
    ];
    for (const [text, reasons] of cases) {
      const generate = world.engine.generate.bind(world.engine);
      world.engine.generate = async (rows, options) => {
        const isWriter = world.engine.decode(rows[0]!.prompt).startsWith('<disc>');
        if (!isWriter) return generate(rows, options);
        return rows.map(() => ({ tokens: [...world.engine.encode(text), 0], finished: true }));
      };
      solver.config.stages = [5];
      const found = (await eventsOf()).find((event) => event.event === 'tests')!;
      const unreadable = Object.values(reasons).reduce((sum: number, count) => sum + Number(count), 0);
      assert.deepEqual([found.reasons, found.unreadable], [reasons, unreadable]);
    }
  });

  it('lets public models write the code alone, and tests only if a vote can judge them', async () => {
    assert.deepEqual([solver.config.stages.length, solver.config.discriminator.expected], [5, 'model']);
    const { encode } = world.engine;
    world.engine.encode = (text) => (text === '<gen>' ? [...text].map((char) => char.charCodeAt(0)) : encode(text));
    solver = await openSolver(world.deps, {});
    assert.deepEqual([solver.config.stages, solver.config.discriminator.expected], [[5], 'reference']);
    const namesOf = async (options: Partial<SolveOptions>) =>
      (await eventsOf(addProblem(30), options)).map(({ event }) => event);
    const automatic = { tests: undefined };
    assert.deepEqual(await namesOf(automatic), ['stage', 'program']);
    assert.deepEqual(await namesOf({ tests: true }), ['stage', 'tests', 'program']);
    assert.deepEqual(await namesOf({ ...automatic, samples: 2, temperature: 0.8 }), [
      'stage',
      'stage',
      'tests',
      'program',
      'program',
    ]);
  });

  it('uses the adapters of a checkpoint, even with a separate adapter for each stage', async () => {
    const activities = createActivities(world.deps);
    for (const adapters of ['shared', 'per-stage'] as const) {
      const run = { ...SMALL_RUN, adapters, schedule: { ...SMALL_RUN.schedule, generatorSteps: 3 } };
      await runPipeline(activities, adapters, run);
      const checkpoint = { runId: adapters, name: 'latest' };
      const sampling = { samples: 4, temperature: 0.8 };
      const result = await solve(activities, { ...sampling, checkpoint });
      const expected = await world.deps.store.getJson(result.solutions);
      solver = await openSolver(world.deps, { checkpoint });
      const found: ProgramEvent[] = [];
      for (const task of addProblems(30, 6)) found.push(...programsIn(await eventsOf(task, sampling)));
      assert.deepEqual(
        found.map(({ code }) => code),
        expected.map(({ code }) => code),
      );
    }
  });

  it('selects the program that passes most tests of the discriminator', async () => {
    let best = 0;
    for (const task of addProblems(30, 6)) {
      const programs = programsIn(await eventsOf(task, { samples: 6, temperature: 0.8 }));
      const most = Math.max(...programs.map(({ writtenPassed }) => writtenPassed));
      const selected = programs.filter((program) => program.selected);
      assert.deepEqual(
        selected.map(({ writtenPassed }) => writtenPassed),
        [most],
      );
      if (programs.some(({ writtenPassed }) => writtenPassed < most)) best++;
    }
    assert.ok(best > 0, 'the programs of some problem differ');
  });

  it('compares programs by tests of the request, then by written tests, agreement and order', () => {
    const cases: [Score[], best: number][] = [
      [
        [
          [0, 9, 9, 9],
          [1, 0, 0, 0],
        ],
        1,
      ],
      [
        [
          [1, 1, 9, 9],
          [1, 2, 0, 0],
        ],
        1,
      ],
      [
        [
          [1, 2, 3, 9],
          [1, 2, 4, 0],
        ],
        1,
      ],
      [
        [
          [1, 2, 4, 1],
          [1, 2, 4, 2],
          [1, 2, 4, 2],
        ],
        1,
      ],
    ];
    for (const [scores, best] of cases) assert.equal(bestProgram(scores), best);
  });

  describe('with tests that have only inputs', () => {
    const code = (n: number): string => `def solve(x):\n    return x + ${n}`;
    const programs = [code(1), code(2), code(2), '', 'def solve(x):\n    while True: pass'];
    const written = [{ sample: 0, stage: 1 as const, args: [5] }];
    const judge = async (codes: string[], trusted: boolean, tests: WrittenTest[] = written) => {
      const judged = await judgeSamples(solver, addProblem(2), codes, tests, { trusted });
      return { ...judged, verdicts: judged.tests[0]!.verdicts };
    };

    it('expects the answer that the programs vote for, weighted by their baseline tests', async () => {
      const { tests, verdicts, programs: counts } = await judge(programs, true);
      assert.deepEqual(verdicts, ['fail', 'pass', 'pass', 'error', 'timeout']);
      assert.deepEqual([tests[0]!.call, tests[0]!.expected], ['solve(5)', null]);
      const right = { baseline: 2, written: 1, agreement: 1 };
      const wrong = { baseline: 0, written: 0, agreement: 0 };
      assert.deepEqual(
        counts.map(({ failed: _, ...of }) => of),
        [wrong, right, right, wrong, wrong],
      );
      assert.deepEqual(
        counts.map(({ failed }) => failed?.verdict),
        ['fail', undefined, undefined, 'error', 'timeout'],
      );
    });

    it('gives no verdicts if no answer has more than half of the weight, or if all programs agree', async () => {
      assert.deepEqual((await judge(programs, false)).verdicts, [], 'baseline tests that only measure have no weight');
      assert.deepEqual((await judge([code(1), code(2), code(3)], false)).verdicts, []);
      assert.deepEqual((await judge([code(2), code(2)], false)).verdicts, []);
      assert.deepEqual((await judge([code(1), code(2), code(2)], false)).verdicts, ['fail', 'pass', 'pass']);
    });

    it('decides between programs that pass the same number of tests with values', async () => {
      const { programs: counts, verdicts } = await judge([code(1), code(2), code(2)], false, [
        { ...written[0]!, expected: 9 },
      ]);
      assert.deepEqual(verdicts, ['fail', 'fail', 'fail'], 'the value of the test is wrong, and counts');
      assert.deepEqual(
        counts.map(({ agreement }) => agreement),
        [0, 1, 1],
      );
    });
  });

  it('stops a chain at its token limit, and refuses a problem that the model cannot read', async () => {
    const events = await eventsOf(addProblem(30), { maxTokens: 3, tests: false });
    assert.deepEqual(
      events.map((event) => (event.event === 'stage' ? [event.stage, event.tokens, event.truncated] : event.event)),
      [[1, 3, true], 'program'],
    );
    assert.equal(programsIn(events)[0]!.code, '');
    const long = { ...addProblem(1), description: 'x'.repeat(2000) };
    await assert.rejects(eventsOf(long), { code: 'BAD_INPUT', message: /^add-1: the prompt has \d+ tokens, .* 1000/ });
  });

  it('reads the signature in a message', () => {
    const { description, functionSignature, entry } = taskOfMessage('Add two.\n\n```python\ndef add(a, b):\n```\n');
    assert.deepEqual([description, functionSignature, entry], ['Add two.', 'def add(a, b):', 'add']);
    assert.equal(taskOfMessage('Add two.').functionSignature, 'def solve(*args):');
    for (const [pasted, entry, signature, description] of PASTED) {
      const task = taskOfMessage(`Do it.\n\n${pasted}`);
      assert.deepEqual([task.entry, task.functionSignature, task.description], [entry, signature, description], pasted);
    }
    const given = taskOfMessage('Add.', { function_signature: 'def f(a):', baseline_tests: ['assert f(1) == 2'] });
    assert.deepEqual(given.baselineTests, [{ args: [1], expected: 2 }]);
    assert.throws(() => taskOfMessage('Add.', { baseline_tests: [3] }), {
      code: 'BAD_INPUT',
      message: /baseline_tests/,
    });
  });

  it('calls the methods of a pasted class in order, and reads what a pasted function changes', () => {
    const lru =
      'class LRUCache:\n\n    def __init__(self, capacity: int):\n        \n\n    def get(self, key: int) -> int:\n        \n\n    def put(\n        self,\n        key: int,\n        value: int,\n    ) -> None:\n        self._evict()\n\n    def _evict(self):\n        pass\n\n\n# obj = LRUCache(capacity)\ndef other(a): pass';
    const task = taskOfMessage(`Cache.\n\n${lru}`);
    assert.equal(
      task.functionSignature,
      'class LRUCache:\n    def __init__(self, capacity: int):\n    def get(self, key: int) -> int:\n    def put(self, key: int, value: int) -> None:',
    );
    assert.deepEqual(
      [task.entry, task.calling?.style, task.description],
      ['LRUCache', 'operations', `Cache.\n\n${lru}`],
    );
    for (const [pasted, entry, calling] of CALLINGS) {
      const found = taskOfMessage(`Do it.\n${pasted}`);
      const { style, observe, parameters } = found.calling ?? {};
      assert.deepEqual([found.entry, found.calling && [style, observe, parameters]], [entry, calling ?? undefined]);
    }
    assert.equal(taskOfMessage(`Do it.\n${lru}`, { entry: 'LRUCache.get' }).calling, undefined);
  });
});
