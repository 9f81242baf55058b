import assert from 'node:assert/strict';
import { GauntletError } from '../../core/base/errors.js';
import type { Limits } from '../../core/schema/execution.js';
import { type Guest, GuestLost, type Session, type SessionEnd } from '../../sandbox/guest/channel.js';
import type { SessionSpec } from '../../sandbox/guest/frames.js';
import { checkAnswer, checkNames, checkTester } from '../../sandbox/testSource/exchange.js';
import { TestPool } from '../../sandbox/testSource/testPool.js';
import { Report } from '../../sandbox/testSource/testReport.js';
import { pluck } from '../support/pluck.js';

const rest = { outcome: 'error', message: 'not reached' } as const;
const outcomes = (report: Report) => report.result(rest).map(({ name, outcome }) => [name, outcome]);

describe('messages between tests and a program', () => {
  it('carry as an answer one value, one exception or a lack of memory, with changed containers', () => {
    for (const good of [
      '{"v":[1,{"h":[3,"Box"]},{"r":0},{"z":[1]},{"g":"f"}]}',
      '{"x":["ValueError","no",null,[1],null],"w":[[0,[1]],[1,{"d":[]}]]}',
      '{"v":{"k":["deque",[],[1]]},"w":[[2,{"s":[1]}],[3,{"a":"AA=="}]],"k":[2]}',
    ])
      assert.equal(checkAnswer(good), 'answer', good);
    assert.equal(checkAnswer('{"m":"MemoryError"}'), 'memory');
    for (const bad of [
      '{}',
      '{"v":1,"m":"x"}',
      '{"v":1,"x":["ValueError","",null,null,null]}',
      '{"v":1.5}',
      '{"v":{"u":"eval"}}',
      '{"v":{"y":["ValueError","x"]}}',
      '{"v":{"h":[-1,"Box"]}}',
      '{"v":{"g":"a b"}}',
      '{"v":1,"w":[[0,5]]}',
      '{"v":{"a":"?"}}',
      '{"v":{"k":["os.system",[]]}}',
      '{"v":1,"k":[-1]}',
      '{"v":1,"pass":true}',
      '{"x":["a b","",null,null,null]}',
      '[1]',
      'x',
    ])
      assert.equal(checkAnswer(bad), undefined, bad);
  });

  it('begin with the names of the program or its failure', () => {
    assert.deepEqual(
      checkNames('{"names":[["f","f",null],["C","c",[["m"],["B"]]],["N","v",3],["E","x",["ValueError"]]]}'),
      {
        kind: 'names',
      },
    );
    assert.deepEqual(checkNames('{"e":"SyntaxError: x"}'), { kind: 'error', message: 'SyntaxError: x' });
    assert.equal(checkNames('{"m":"MemoryError"}').kind, 'memory');
    for (const bad of ['{"names":[["f g","f",null]]}', '{"names":[["f","q",null]]}', '{"v":1}', ''])
      assert.equal(checkNames(bad).kind, 'error', bad);
  });

  it('let tests request only public attributes and named operators, and report', () => {
    for (const good of [
      '{"q":["call",{"g":"f"},null,[1,{"u":"len"}],{"key":2},[0,[],[]]]}',
      '{"q":["invoke",{"h":[1,"Box"]},"push",[{"h":[1,"Box"]}],{},[0,[],[]]]}',
      '{"q":["op",null,"add",[1,2],{},[3,[1],[[1,{"k":["Counter",[],[["a",1]]]}]]]]}',
      '{"tests":["a"]}',
      '{"begin":"a"}',
      '{"end":["a","pass",null]}',
      '{"end":["a",null,null]}',
      '{"done":true}',
    ])
      assert.ok(checkTester(good), good);
    for (const bad of [
      '{"q":["get",{"g":"f"},"__globals__",[],{},[0,[],[]]]}',
      '{"q":["get",{"g":"f"},"a",[],{},[0,[],[[-1,[]]]]]}',
      '{"q":["get",{"g":"f; x"},"a",[],{},[0,[],[]]]}',
      '{"q":["exec",{"g":"f"},null,[],{},[0,[],[]]]}',
      '{"q":["op",null,"__import__(0)",[],{},[0,[],[]]]}',
      '{"q":["call",{"g":"f"},null,[{"c":"x"}],{},[0,[],[]]]}',
      '{"end":["a","timeout",null]}',
      '{"pass":true}',
      '{"done":false}',
      'null',
    ])
      assert.equal(checkTester(bad), undefined, bad);
  });
});

describe('the report of test source', () => {
  it('keeps the order of the tests and the first report of each, without skipped ones', () => {
    const report = new Report();
    report.announce(['a', 'b', 'c', 'd']);
    for (const [name, outcome] of [
      ['b', 'pass'],
      ['a', 'fail'],
      ['c', null],
      ['a', 'pass'],
    ] as const) {
      report.begin(name);
      report.end(outcome, null);
    }
    assert.deepEqual(outcomes(report), [
      ['a', 'fail'],
      ['b', 'pass'],
      ['d', 'error'],
    ]);
    assert.ok(!report.isComplete);
    assert.deepEqual(report.finished, ['a', 'b', 'c']);
  });

  it('contains only the tests that were to be run', () => {
    const report = new Report(new Set(['b', 'c']));
    report.announce(['a', 'b', 'c']);
    report.begin('b');
    report.end('pass', null);
    assert.deepEqual(outcomes(report), [
      ['b', 'pass'],
      ['c', 'error'],
    ]);
  });

  it('lets the end of a program override the reported outcome', () => {
    const report = new Report();
    report.announce(['a', 'b', 'c']);
    report.begin('a');
    report.strike({ outcome: 'output', message: '' });
    report.strike({ outcome: 'timeout', message: '' });
    report.strike({ outcome: 'error', message: '' });
    report.end('pass', null);
    report.begin('b');
    report.end('pass', null);
    report.begin('c');
    report.strike({ outcome: 'memory', message: '' });
    report.end(null, null);
    assert.deepEqual(outcomes(report), [
      ['a', 'timeout'],
      ['b', 'pass'],
      ['c', 'memory'],
    ]);
  });

  it('applies the end of a program before any test to later tests, and a failed load to all tests', () => {
    const report = new Report();
    report.announce(['a', 'b']);
    report.begin('a');
    report.end('pass', null);
    report.strike({ outcome: 'timeout', message: '' });
    report.begin('b');
    report.end('fail', null);
    assert.deepEqual(outcomes(report), [
      ['a', 'pass'],
      ['b', 'timeout'],
    ]);
    const unloaded = report.result(rest, { outcome: 'error', message: 'SyntaxError' });
    assert.deepEqual(pluck(unloaded, 'outcome'), ['error', 'timeout']);
  });

  it('ends a test with an error if another test begins', () => {
    const report = new Report();
    report.begin('a');
    report.begin('b');
    report.end('pass', null);
    assert.deepEqual(outcomes(report), [
      ['a', 'error'],
      ['b', 'pass'],
    ]);
  });
});

describe('the pairs of guests for test source', () => {
  const limits: Limits = { cpuSeconds: 1, caseCpuSeconds: 1, wallSeconds: 5, memoryMb: 64, outputBytes: 100 };
  const job = { id: 'j', code: 'fine', style: 'assert' as const, files: { 'a.py': '' }, limits };
  type Play = (
    spec: SessionSpec,
    say: (message: object) => void,
    end: (how: Partial<SessionEnd> | Error) => void,
  ) => (text: string) => void;

  /** Guests whose sessions run `play`. Counts the guests that were opened. */
  type Options = { onEnd?: (role: string, finish: () => void) => void };
  function guests(play: Play, { onEnd = (_, finish) => finish() }: Options = {}) {
    const opened = { program: 0, tests: 0 };
    const closed = { program: 0, tests: 0 };
    const open = async (role: 'program' | 'tests'): Promise<Guest> => {
      opened[role]++;
      let usable = true;
      return {
        get usable() {
          return usable;
        },
        fits: () => true,
        run: () => Promise.reject(new Error('not asked')),
        close: async () => void closed[role]++,
        open(spec, _limits, onText): Session {
          let finish!: (how: Partial<SessionEnd> | Error) => void;
          const ended = new Promise<SessionEnd>((resolve, reject) => {
            finish = (how) => {
              if (how instanceof Error) {
                usable = false;
                reject(how);
              } else resolve({ kind: 'end', message: '', used: 0.01, wallHit: false, ...how });
            };
          });
          ended.catch(() => {});
          const say = (message: object) => setImmediate(() => onText(JSON.stringify(message)));
          const hear = play(spec, say, (how) => setImmediate(() => finish(how)));
          const end = () => onEnd(role, () => setImmediate(() => finish({})));
          return { ended, send: (text) => hear(text), end };
        },
      };
    };
    return {
      opened,
      closed,
      pool: new TestPool({ size: 1, guests: { program: () => open('program'), tests: () => open('tests') } }),
    };
  }
  const program = (say: (message: object) => void) => {
    say({ names: [['f', 'f', null]] });
    return () => say({ v: 42 });
  };
  /** T with one test that sends one request and passes if the answer is 42. */
  const tests = (say: (message: object) => void) => {
    let heard = 0;
    return (text: string) => {
      if (heard++ === 0) {
        say({ tests: ['t'] });
        say({ begin: 't' });
        say({ q: ['call', { g: 'f' }, null, [], {}, [0, [], []]] });
      } else {
        say({ end: ['t', JSON.parse(text).v === 42 ? 'pass' : 'fail', null] });
        say({ done: true });
      }
    };
  };

  it('serve job after job and end with the pool', async () => {
    const { pool, opened, closed } = guests((spec, say) => (spec.role === 'program' ? program(say) : tests(say)));
    const runs = await pool.run([job, job, job]);
    assert.deepEqual(
      runs.map((run) => run.tests.map(({ outcome }) => outcome)),
      [['pass'], ['pass'], ['pass']],
    );
    assert.deepEqual(
      [opened, closed],
      [
        { program: 1, tests: 1 },
        { program: 0, tests: 0 },
      ],
    );
    await pool.close();
    assert.deepEqual(closed, opened);
    await assert.rejects(pool.run([job]), { code: 'SANDBOX_FAULT', message: /closed/ });
  });

  it('end both processes at the same time after the tests', async () => {
    const ended: string[] = [];
    let finishTests = () => {};
    const { pool } = guests((spec, say) => (spec.role === 'program' ? program(say) : tests(say)), {
      onEnd: (role, finish) => {
        ended.push(role);
        if (role === 'tests') finishTests = finish;
        else {
          finish();
          finishTests(); // only after the program's process received its end
        }
      },
    });
    await pool.run([job]);
    assert.deepEqual(ended.slice(0, 2), ['tests', 'program']);
    await pool.close();
  });

  it('replace a lost guest and run the job again', async () => {
    for (const role of ['program', 'tests'] as const) {
      let lost = 0;
      const { pool, opened } = guests((spec, say, end) => {
        if (spec.role === role && lost++ === 0) end(new GuestLost('gone', true));
        return spec.role === 'program' ? program(say) : tests(say);
      });
      const [run] = await pool.run([job]);
      assert.deepEqual(pluck(run!.tests, 'outcome'), ['pass']);
      assert.equal(opened[role], 2);
      await pool.close();
    }
  });

  it('blame a program that loses two guests only if a known program passes', async () => {
    const deadly: Play = (spec, say, end) => {
      if (spec.role === 'program' && spec.code === 'deadly') end(new GuestLost('gone', true));
      return spec.role === 'program' ? program(say) : tests(say);
    };
    const { pool } = guests(deadly);
    const [run] = await pool.run([{ ...job, code: 'deadly' }]);
    assert.deepEqual(pluck(run!.tests, 'outcome'), ['error']);
    await pool.close();
    const { pool: broken } = guests((spec, say, end) => {
      if (spec.role === 'program') end(new GuestLost('gone', true));
      return spec.role === 'program' ? program(say) : tests(say);
    });
    await assert.rejects(
      broken.run([job]),
      (error) => error instanceof GauntletError && error.code === 'SANDBOX_FAULT' && error.retryable,
    );
    await broken.close();
  });

  it('run a job that hits the wall clock again, and count only that run', async () => {
    let runs = 0;
    const { pool } = guests((spec, say, end) => {
      if (spec.role === 'program') return program(say);
      if (runs++ === 0) {
        say({ tests: ['t'] });
        say({ begin: 't' });
        setImmediate(() => end({ kind: 'timeout', message: 'late', used: 0, wallHit: true }));
        return () => {};
      }
      return tests(say);
    });
    const [run] = await pool.run([job]);
    assert.equal(run!.tests[0]!.outcome, 'pass');
    await pool.close();
  });

  it('run a job again if the wall clock left no time for tests or the program', async () => {
    const late = { ...job, limits: { ...limits, wallSeconds: 0.3 } };
    const busy = (): void => {
      for (const until = performance.now() + 400; performance.now() < until; );
    };
    for (const dies of ['tests', 'program'] as const) {
      let runs = 0; // the limit of the tests
      const crash = (end: (how: Partial<SessionEnd>) => void): void => {
        busy();
        end({ kind: 'error', message: 'crashed' });
      };
      const first = (say: (message: object) => void, end: (how: Partial<SessionEnd>) => void) => {
        say({ tests: ['s', 't'] });
        say({ begin: 's' });
        if (dies === 'tests') setImmediate(crash, end);
        let heard = 0;
        return () => {
          if (dies === 'tests') return;
          if (heard === 1) say({ end: ['s', 'error', null] });
          if (heard === 1) say({ begin: 't' });
          if (heard < 2) say({ q: ['call', { g: 'f' }, null, [], {}, [0, [], []]] });
          else say({ end: ['t', 'error', null] });
          if (heard++ === 2) say({ done: true });
        };
      };
      const { pool } = guests((spec, say, end) => {
        if (spec.role === 'tests') return runs++ === 0 ? first(say, end) : tests(say);
        const answer = program(say);
        return () => (dies === 'program' && runs === 1 ? crash(end) : answer());
      });
      const [run] = await pool.run([late]);
      const outcomes = run!.tests.map(({ name, outcome }) => [name, outcome]);
      assert.deepEqual(outcomes, [['t', 'pass']], dies);
      await pool.close();
    }
  });

  it('report an error for tests that send two requests at once or report another test', async () => {
    for (const talk of [
      [
        { tests: ['t'] },
        { begin: 't' },
        { q: ['call', { g: 'f' }, null, [], {}, [0, [], []]] },
        { q: ['call', { g: 'f' }, null, [], {}, [0, [], []]] },
      ],
      [{ tests: ['t'] }, { begin: 't' }, { end: ['other', 'pass', null] }],
      [{ tests: ['t'] }, { begin: 't' }, { verdict: 'pass' }],
    ]) {
      const { pool } = guests((spec, say) => {
        if (spec.role === 'program') return program(say);
        for (const message of talk) say(message);
        return () => {};
      });
      const [run] = await pool.run([job]);
      assert.deepEqual(pluck(run!.tests, 'name', 'outcome'), [['t', 'error']]);
      await pool.close();
    }
  });

  it('report an error for a program that sends an invalid or unexpected answer', async () => {
    for (const answer of [{ v: 1, pass: true }, { verdict: 'pass' }]) {
      const { pool } = guests((spec, say) => {
        if (spec.role === 'tests') return tests(say);
        say({ names: [['f', 'f', null]] });
        return () => say(answer);
      });
      const [run] = await pool.run([job]);
      assert.equal(run!.tests[0]!.outcome, 'error');
      await pool.close();
    }
  });
});
