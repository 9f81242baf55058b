import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { openDisplay } from '../../cli/run/watch.js';
import { createOutput } from '../../cli/terminal/output.js';
import { attentionOf, Pace, progressLine } from '../../cli/terminal/progress.js';
import type { RunProgress } from '../../core/schema/run.js';

const FULL: RunProgress = {
  runId: 'r',
  state: 'training',
  stage: 3,
  phase: 'discriminator',
  epoch: 1,
  step: 42,
  totalSteps: 60,
  reward: -0.0125,
  passRate: 1,
  validity: 1,
  tokensPerSecond: 12345.6,
  validation: { passRate: 0.875 },
};

const at = (step: number, state: RunProgress['state'] = 'training'): RunProgress => ({ ...FULL, step, state });

describe('the line with the progress of a run', () => {
  it('shows the figures, and the state of the run if no stage is training', () => {
    const line = progressLine({ runId: 'r', state: 'preparing', step: 0, totalSteps: 0 });
    assert.equal(line, 'step 0/0 · preparing');
    assert.match(progressLine(at(60, 'evaluating')), /^step 60\/60 · evaluating · /);
    assert.equal(
      progressLine(FULL, 3725),
      'step 42/60 · stage 3 discriminator · reward -0.013 · pass 100.0 % · valid 100.0 % · 12346 tokens/s · validation 87.5 % · 62 min 05 s left',
    );
  });
});

describe('attentionOf', () => {
  it('names the command that continues a run and whether its step can be skipped; undefined for a running run', () => {
    const failure = { activity: 'trainPolicy', code: 'BAD_ADAPTER', message: 'gone', inStep: true };
    const line = 'trainPolicy failed: BAD_ADAPTER: gone; try again with: npx gauntlet resume r';
    const waiting = at(1, 'waiting');
    assert.equal(attentionOf({ ...waiting, failure }), `${line} (--skip skips the step, --abort ends the run)`);
    assert.equal(attentionOf({ ...waiting, failure: { ...failure, inStep: false } }), `${line} (--abort ends the run)`);
    assert.equal(attentionOf({ ...at(1, 'failed'), failure }), line);
    for (const code of ['BAD_CONFIG', 'RUN_EXISTS']) {
      const other = 'start another run with a corrected configuration: npx gauntlet train NEW-RUN …';
      const final = { ...failure, code };
      assert.equal(attentionOf({ ...at(1, 'failed'), failure: final }), `trainPolicy failed: ${code}: gone; ${other}`);
      assert.match(
        attentionOf({ ...waiting, failure: final })!,
        /; try again with: npx gauntlet resume r /,
        'the worker may be wrong',
      );
    }
    const requested = 'requested: pause (after the current step)';
    assert.equal(attentionOf({ ...at(1), requested: ['pause'] }), requested);
    assert.equal(attentionOf(at(1, 'paused')), 'paused; continue with: npx gauntlet resume r');
    assert.equal(attentionOf(at(1)), undefined);
  });
});

describe('Pace', () => {
  it('estimates the remaining time from the second completed step on', () => {
    const pace = new Pace();
    pace.update(at(0), 0);
    pace.update(at(1), 10_000);
    assert.equal(pace.left(at(1), 10_000), undefined);
    pace.update(at(2), 14_000);
    assert.equal(pace.left(at(2), 14_000), 58 * 4);
    assert.equal(pace.left(at(2), 16_000), 58 * 4 - 2, 'and runs down between steps');
    assert.equal(pace.left(at(2), 99_000), 57 * 4, 'but waits for a slow step');
    pace.update({ ...at(2), requested: ['stop'] }, 99_000);
    pace.update(at(2), 99_000);
    assert.equal(pace.left(at(2), 99_000), undefined, 'a run that was asked to stop ends earlier');
  });

  it('assumes that the final evaluation takes as long as the first one', () => {
    const pace = new Pace();
    pace.update(at(0, 'preparing'), 0);
    pace.update(at(0, 'evaluating'), 1_000);
    pace.update(at(0), 21_000);
    pace.update(at(1), 25_000);
    pace.update(at(2), 29_000);
    assert.equal(pace.left(at(2), 29_000), 58 * 4 + 20);
    pace.update(at(60), 261_000);
    assert.ok(Math.abs(pace.left(at(60), 266_000)! - 15) < 1e-9);
    assert.equal(pace.left(at(60), 290_000), undefined, 'and is unknown if it takes longer');
    assert.equal(pace.left(at(60, 'completed'), 266_000), undefined);
  });

  it('uses only the latest steps, so that memoised steps of a resumed run do not count', () => {
    const pace = new Pace();
    pace.update(at(0), 0);
    for (let step = 1; step <= 30; step++) pace.update(at(step), step * 10);
    for (let step = 31; step <= 45; step++) pace.update(at(step), 300 + (step - 30) * 5_000);
    assert.equal(pace.left(at(45), 300 + 15 * 5_000), 15 * 5);
  });
});

describe('the progress display', () => {
  const written = (stream: PassThrough): string => stream.read()?.toString() ?? '';

  it('writes one line per step if the output is no terminal', () => {
    const stream = new PassThrough();
    let now = 0;
    const display = openDisplay(stream as never, { now: () => now });
    for (const step of [0, 1, 1, 2]) {
      display.update(at(step));
      now += 3_000;
    }
    display.stop();
    const lines = written(stream).trim().split('\n');
    assert.equal(lines.length, 3);
    assert.match(lines[1]!, /step 1\/60/);
    assert.match(lines[2]!, /step 2\/60 .* · 5 min 48 s left$/);
    assert.ok(!lines.join('').includes('\u001b'));
  });

  it('draws stages, curves and figures in a terminal once the schedule is known, and lines in CI', async () => {
    const bands = [1, 2].flatMap((stage) =>
      ['discriminator', 'generator'].map((phase, i) => {
        const start = 30 * (stage - 1) + 15 * i;
        return { stage, phase, start, end: start + 15, done: 0 };
      }),
    );
    const shown = async (env: NodeJS.ProcessEnv, columns: number): Promise<string[]> => {
      const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
      const display = openDisplay(stream as never, { now: () => 0, env, schedule: async () => bands });
      for (const step of [40, 41, 42]) display.update({ ...at(step), passRate: (step - 40) / 2, validity: 0.5 });
      await setImmediate(); // the schedule is known now
      display.stop();
      return stripVTControlCharacters(written(stream)).trimEnd().split('\n');
    };
    const [stages, curves, figures] = (await shown({}, 80)).slice(-3);
    assert.match(stages!, /1 █+ 2 █+░+ 42\/60$/);
    assert.equal(stages!.slice(stages!.lastIndexOf('1 ')).length, 79);
    assert.match(curves!, /tests passed ▁▅█ 100\.0 % {2}valid ▅▅▅ 50\.0 %$/);
    assert.match(figures!, /stage 3 discriminator · reward -0\.01 · solved 87\.5 % · 12346 tokens\/s$/);
    const narrow = (await shown({}, 50)).at(-1)!;
    assert.match(narrow, /^step 42\/60 · stage 3 discriminator · reward -/);
    assert.equal(narrow.length, 49);
    assert.equal((await shown({ CI: 'true' }, 80)).filter((line) => line.startsWith('step ')).length, 3);
  });

  it('redraws its lines in a terminal, prints notes above it and restores the cursor', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    const stderr = process.stderr.write;
    const display = openDisplay(stream as never, { now: () => 0, env: {} });
    display.update(at(1));
    process.stderr.write = ((text: string) => stream.write(text)) as typeof stderr;
    try {
      createOutput(true).note('a remark');
    } finally {
      process.stderr.write = stderr;
    }
    display.update(at(2));
    display.stop();
    const text = written(stream);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches terminal escape sequences
    const rows = text.replace(/\u001b(\[[?\d;]*[A-Za-z]|[78])/g, '\r').split('\n');
    assert.match(rows.find((row) => row.includes('remark'))!, /\ra remark$/);
    assert.match(rows.at(-2)!, /2\/60/);
    assert.equal(rows.at(-1), '');
    for (const row of rows) for (const drawn of row.split('\r')) assert.ok(drawn.length < 80);
    assert.ok(text.lastIndexOf('\u001b[?25h') > text.lastIndexOf('\u001b[?25l'), 'the cursor is shown again');
    assert.ok(text.lastIndexOf('\u001b[?7h') > text.lastIndexOf('\u001b[?7l'), 'lines wrap again');
  });
});
