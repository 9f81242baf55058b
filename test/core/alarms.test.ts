import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  ALARM_STEPS,
  ALARMS,
  type AlarmState,
  firstAlarms,
  type WatchedFigures,
  watchStep,
} from '../../core/run/alarms.js';

/** Figures of the first 41 steps of the demo with seed 0: validity, and program tokens or the shares of three terms. */
const DEMO: (readonly [validity: number, ...number[]])[] = JSON.parse(readFileSync('test/core/alarms.json', 'utf8'));

const figuresOf = ([validity, ...rest]: (typeof DEMO)[number]): WatchedFigures => {
  if (rest.length === 1) return { role: 'generator', validity, programTokens: rest[0]!, literalRate: 0 };
  const [valid, invalid, caught] = rest as [number, number, number];
  return { role: 'discriminator', validity, termShares: { valid, invalid, caught } };
};

/** The alarms of each step. */
function alarmsOf(steps: WatchedFigures[]) {
  let state: AlarmState = {};
  return steps.map((step) => {
    const watched = watchStep(JSON.parse(JSON.stringify(state)) as AlarmState, step); // converts the state to JSON and back, as a workflow does
    state = watched.state;
    return watched.alarms;
  });
}

const kindsOf = (steps: WatchedFigures[]): string[][] => alarmsOf(steps).map((own) => own.map(({ kind }) => kind));
const repeated = (figures: Omit<WatchedFigures, 'role'>, times: number, role: WatchedFigures['role'] = 'generator') =>
  Array.from({ length: times }, (): WatchedFigures => ({ role, ...figures }));

describe('alarms', () => {
  it('are absent in a healthy run', () => {
    assert.deepEqual(alarmsOf(DEMO.map(figuresOf)).flat(), []);
  });

  it('depend on the mean of five steps, not on one step', () => {
    const literals = (rates: number[]) => kindsOf(rates.map((literalRate) => ({ role: 'generator', literalRate })));
    assert.deepEqual(literals([1, 1, 1, 1]), [[], [], [], []], 'too few');
    assert.deepEqual(literals([0, 0, 0, 0, 0.5]).at(-1), [], '10 % are not more');
    assert.deepEqual(literals([0, 0, 0, 0.1, 0.5]).at(-1), ['literal']);
    assert.deepEqual(literals([1, 0, 0, 0, 0, 0]).at(-2), ['literal']);
    assert.deepEqual(literals([1, 0, 0, 0, 0, 0]).at(-1), [], 'and end with it');
  });

  it('compare the length of programs with that of the first steps', () => {
    const lastOf = (tokens: number): string[] =>
      kindsOf([...repeated({ programTokens: 40 }, 5), ...repeated({ programTokens: tokens }, 5)]).at(-1)!;
    assert.deepEqual([lastOf(80), lastOf(20), lastOf(81), lastOf(19)], [[], [], ['length'], ['length']]);
    const [alarm] = alarmsOf([...repeated({ programTokens: 40 }, 5), ...repeated({ programTokens: 90 }, 5)]).at(-1)!;
    assert.match(alarm!.message, /have 90 tokens in the last 5 generator steps, and had 40 in the first 5/);
  });

  it('name the term that causes the reward', () => {
    const lastOf = (valid: number) =>
      alarmsOf(repeated({ termShares: { valid, caught: 1 - valid } }, 5, 'discriminator')).at(-1)!;
    assert.deepEqual(lastOf(0.8), []);
    assert.match(lastOf(0.81)[0]!.message, /^the term 'valid' makes 81 % of the discriminator's rewards/);
    assert.equal(lastOf(0.81)[0]!.field, 'reward.scheme');
  });

  it('advise how to help the vote in a run without a reference', () => {
    const messageOf = (more: Partial<WatchedFigures>): string => {
      const steps = [0.8, 0.2].flatMap((validity) => repeated({ validity, ...more }, 5));
      return alarmsOf(steps).at(-1)![0]!.message;
    };
    assert.match(messageOf({}), /discriminator\.expected/);
    assert.match(messageOf({ voteDropped: 0.8 }), /batch\.generator\.samples/);
  });

  it('compare the validity of tests with its best mean', () => {
    const lastOf = (...parts: number[]) => kindsOf(parts.flatMap((validity) => repeated({ validity }, 5))).at(-1)!;
    assert.deepEqual(lastOf(0.4, 0.8, 0.61), []);
    assert.deepEqual(lastOf(0.4, 0.8, 0.59), ['validity']);
    assert.deepEqual(lastOf(0.4, 0.31), [], 'the best so far');
  });

  it('count failed attempts of the sandbox', () => {
    const lastOf = (rates: (number | undefined)[]) =>
      kindsOf(rates.map((sandboxFaultRate) => ({ role: 'generator', sandboxFaultRate }))).at(-1)!;
    assert.deepEqual(lastOf([0.5, 0.5, undefined, undefined, undefined]), []);
    assert.deepEqual(lastOf([0.5, 0.6, undefined, undefined, undefined]), ['faults']);
  });

  it('use a bounded amount of memory', () => {
    let state: AlarmState = {};
    for (const step of repeated({ validity: 0.5, programTokens: 3, literalRate: 0 }, 50))
      state = watchStep(state, step).state;
    assert.ok(Object.values(state).every(({ latest }) => latest.length === ALARM_STEPS));
    assert.deepEqual(Object.keys(state).sort(), ['faults', 'length', 'literal', 'validity']);
  });

  it('are marked at their first step', () => {
    const alarm = { role: 'generator', kind: 'length', field: 'f', message: 'm' } as const;
    const steps = [
      { step: 3, warnings: [{ ...alarm, message: 'later' }] },
      { step: 2, warnings: [alarm, { ...alarm, kind: 'cut' as const }] },
      { step: 1 },
    ];
    assert.deepEqual(firstAlarms(steps), [{ ...alarm, step: 2 }]);
  });

  it('are listed in docs/how-to/monitor.md', () => {
    const page = readFileSync('docs/how-to/monitor.md', 'utf8');
    const rows = Object.entries(ALARMS).map(([kind, { rule, field }]) => `| \`${kind}\` | ${rule} | \`${field}\` |`);
    assert.ok(
      page.includes(['| alarm | if, in the mean of five steps | look at |', '|---|---|---|', ...rows, ''].join('\n')),
      rows.join('\n'),
    );
    assert.equal(ALARM_STEPS, 5, 'the table says five');
  });
});
