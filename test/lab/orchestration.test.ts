// The orchestration benchmark: attribution of time, times from histories, and one run with doubles.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import fc from 'fast-check';
import type { BenchError } from '../../lab/bench/options.js';
import type { HistoryEvent } from '../../lab/bench/orchestration/histories.js';
import { parseOrchestrationOptions } from '../../lab/bench/orchestration/main.js';
import { figuresOf, measureOrchestration, PARTS } from '../../lab/bench/orchestration/measure.js';
import { attribute, type Span, Stopwatch, watchedDeps } from '../../lab/bench/orchestration/spans.js';
import { orchestrationMarkdown } from '../../lab/bench/orchestration/table.js';
import { withResults } from '../../lab/bench/results.js';
import { removeTemporaryFolders, temporaryFolder } from '../infra/support.js';
import { doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal } from '../workflows/server.js';

const time = (ms: number) => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 });
const event = (id: number, ms: number, attributes: object = {}): HistoryEvent =>
  ({ eventId: id, eventTime: time(ms), ...attributes }) as unknown as HistoryEvent;

describe('the orchestration benchmark', () => {
  after(removeTemporaryFolders);

  it('attributes every instant to the first busy layer, like a count of instants', () => {
    const span = fc.tuple(fc.nat(40), fc.nat(40)).map(([a, b]): Span => [Math.min(a, b), Math.max(a, b)]);
    fc.assert(
      fc.property(span, fc.array(fc.array(span, { maxLength: 5 }), { maxLength: 4 }), ([from, to], layers) => {
        const counted = new Array<number>(layers.length + 1).fill(0);
        for (let at = from; at < to; at++) {
          const first = layers.findIndex((spans) => spans.some(([a, b]) => a <= at && at + 1 <= b));
          counted[first < 0 ? layers.length : first]!++;
        }
        assert.deepEqual(attribute([from, to], layers), counted);
      }),
    );
  });

  it('times calls until they settle, even failed ones, and does not change their results', async () => {
    const { deps, engine, folder } = await doubles();
    const watch = new Stopwatch(['model', 'sandbox', 'store']);
    const watched = watchedDeps(deps, watch);
    const model = await watched.engine('tiny', {} as never);
    assert.equal(model.decode(engine.encode('abc')), 'abc');
    const digest = await watched.store.putJson({ a: 1 });
    assert.deepEqual(await watched.store.getJson(digest), { a: 1 });
    await assert.rejects(watched.store.getBlob(`sha256:${'0'.repeat(64)}`), { code: 'NOT_FOUND' });
    const sandbox = await watched.sandbox({ sandbox: 'wasm' });
    await sandbox.run([]);
    const { spans } = watch;
    assert.deepEqual([spans.model.length, spans.store.length, spans.sandbox.length], [2, 3, 2]);
    assert.ok(Object.values(spans).every((all) => all.every(([from, to]) => from <= to)));
    await rm(folder, { recursive: true, force: true });
  });

  it('reads times from several histories', () => {
    const events = [
      event(1, 0, { workflowExecutionStartedEventAttributes: {} }),
      event(2, 0),
      event(3, 10, { workflowTaskStartedEventAttributes: { scheduledEventId: 2 } }),
      event(4, 30, { workflowTaskCompletedEventAttributes: { startedEventId: 3 } }),
      event(5, 30, { activityTaskScheduledEventAttributes: {} }),
      event(6, 35, { activityTaskStartedEventAttributes: { scheduledEventId: 5 } }),
      event(7, 95, { activityTaskCompletedEventAttributes: { startedEventId: 6 } }),
      event(1, 100, { workflowExecutionStartedEventAttributes: {} }),
      event(9, 200, { activityTaskStartedEventAttributes: { scheduledEventId: 5 } }), // no such event
    ];
    const work = { model: [[40, 60]], sandbox: [[60, 70]], store: [[65, 75]] } as unknown as Record<'model', Span[]>;
    const figures = figuresOf(events, work as never, [[38, 80]]);
    assert.deepEqual(
      PARTS.map((part) => Math.round(figures.seconds[part] * 1000)),
      [20, 10, 5, 7, 20, 5, 18, 10, 105],
    );
    assert.equal(Math.round(figures.overhead * 1000), 825);
    assert.deepEqual([figures.activities, figures.events, figures.wallSeconds], [1, 9, 0.2]);
  });

  it('prints the goals and whether they are met', () => {
    const seconds = Object.fromEntries(PARTS.map((part, i) => [part, i + 1])) as never;
    const run = { wallSeconds: 45, seconds, overhead: 0.03, steps: 10, activities: 70, events: 900 };
    const machine = { cpu: 'c', cores: 2, memoryGb: 1, system: 's', loadAtStart: 0 };
    const results = { command: 'x', startedAt: '2026', seconds: 50, machine, foreignCores: 0, sandbox: 'wasm' };
    const page = orchestrationMarkdown({ ...results, runs: [run, { ...run, overhead: 0.5 }, run] });
    assert.match(page, /3\.00 %, met \(at most 3\.5 %\)/);
    assert.match(page, /90\.0 events a step, \*\*over 32\*\*/);
    const marks = [
      '<!-- orchestration: npm run bench -- orchestration --record writes between these lines -->',
      '<!-- end of orchestration -->',
    ];
    assert.match(withResults(marks.join('\n'), page, 'orchestration'), /events a step/);
  });

  it('parses flags and names an invalid one', () => {
    const { stages, runs, sandbox, record } = parseOrchestrationOptions(['--stages', '2', '--record']);
    assert.deepEqual([stages, runs, sandbox, record], [2, 1, 'auto', true]);
    const refused = (...args: string[]) =>
      assert.throws(
        () => parseOrchestrationOptions(args),
        (error: BenchError) => error.exitCode === 2 && error.message.includes(args[0]!),
      );
    refused('--stages', '6');
    refused('--runs', '0');
    refused('--sandbox', 'none');
    refused('--faster');
  });

  it('attributes the whole wall time of a real run', async function () {
    this.timeout(120_000);
    needTemporal(this);
    const { deps, folder } = await doubles();
    const config = { ...SMALL_RUN, schedule: { ...SMALL_RUN.schedule, stages: [5] } };
    const figures = await measureOrchestration({
      folder: temporaryFolder(),
      say: () => undefined,
      config: config as never,
      deps: async (searchAttributes) => ({ deps: { ...deps, searchAttributes }, close: async () => undefined }),
    });
    const sum = Object.values(figures.seconds).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - figures.wallSeconds) < 1e-6, `${sum} of ${figures.wallSeconds}`);
    assert.equal(figures.steps, 3);
    assert.ok(figures.activities > 20 && figures.events > 5 * figures.activities, JSON.stringify(figures));
    await rm(folder, { recursive: true, force: true });
    for (const part of PARTS) assert.ok(figures.seconds[part] > 0, part);
  });
});
