// The benchmark of several workers: its table, its phases, and two tiny runs of the command line.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HistoryEvent } from '../../bench/orchestration/histories.js';
import { speedUps, type WorkerFigures } from '../../bench/workers/main.js';
import { phaseSeconds } from '../../bench/workers/phases.js';
import { ROOT } from '../../infra/root.mjs';
import { removeTemporaryFolders, temporaryFolder } from '../infra/support.js';
import { needTemporal } from '../workflows/server.js';

describe('the benchmark of several workers', () => {
  after(removeTemporaryFolders);

  it('shows how much faster they are than the first row', () => {
    const one = { sampling: 60, training: 30, all: 100 };
    const four = { sampling: 20, training: 15, all: 40 };
    const lastOf = (rows: WorkerFigures[]): string => speedUps(rows).split('\n').at(-1)!;
    const measured = '20.0 s (3.00×) | 15.0 s (2.00×) | 40.0 s (2.50×)';
    assert.equal(
      lastOf([
        { workers: 1, measured: one, predicted: { sampling: 40, training: 20, all: 60 } },
        { workers: 4, measured: four, predicted: { sampling: 10, training: 10, all: 20 } },
      ]),
      `| 4 | ${measured} | 10.0 s (4.00×) | 10.0 s (2.00×) | 20.0 s (3.00×) |`,
    );
    assert.equal(
      lastOf([
        { workers: 1, measured: one },
        { workers: 4, measured: four },
      ]),
      `| 4 | ${measured} | – | – | – |`,
    );
  });

  it('takes the seconds of each phase from the clock of the server', () => {
    let id = 0;
    const at = (seconds: number, attributes: object): HistoryEvent =>
      ({ eventId: ++id, eventTime: { seconds, nanos: 0 }, ...attributes }) as unknown as HistoryEvent;
    const begin = (seconds: number, name: string, input: object = {}): HistoryEvent =>
      at(seconds, {
        activityTaskScheduledEventAttributes: {
          activityType: { name },
          input: { payloads: [{ data: Buffer.from(JSON.stringify(input)) }] },
        },
      });
    const end = (seconds: number, scheduledEventId: number): HistoryEvent =>
      at(seconds, { activityTaskCompletedEventAttributes: { scheduledEventId } });
    const events = [
      at(0, { workflowExecutionStartedEventAttributes: {} }),
      begin(10, 'generateChains', { batch: { kind: 'train' } }), // 2
      begin(10, 'generateChains', { batch: { kind: 'train' } }), // 3
      end(14, 2),
      end(16, 3),
      begin(16, 'generateTests', { targets: { kind: 'all-stages' } }), // 6
      end(18, 6),
      begin(18, 'executeSuite'), // 8
      end(19, 8),
      begin(19, 'computeGradients'), // 10
      end(22, 10),
      begin(22, 'generateChains', { batch: { kind: 'evaluation' } }), // 12
      end(40, 12),
      begin(40, 'trainPolicy'), // 14
      end(41, 14),
      at(41, { activityTaskScheduledEventAttributes: { activityType: { name: 'claimModelWorker' } } }), // 16: no input
      end(50, 16),
    ];
    assert.deepEqual(phaseSeconds(events), { sampling: 8, training: 4, all: 13 });
  });

  it('measures one and two workers', async function () {
    this.timeout(600_000);
    needTemporal(this);
    const out = join(temporaryFolder(), 'workers.json');
    const small = [
      ...['schedule.stages=[5]', 'schedule.discriminatorSteps=0', 'schedule.generatorSteps=1'],
      ...['schedule.alternatingSteps=0', 'discriminator.enabled=false', 'advantage.dropZeroVariance=false'],
      ...['batch.generator.problems=2', 'evaluation.problems=2', 'evaluation.testProblems=2'],
    ].flatMap((assignment) => ['--set', assignment]);
    const command = ['dist/bench/main.js', 'workers', '--workers', '1,2', '--preset', 'tiny', '--out', out, ...small];
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
    assert.match(stdout, /^\| 2 \| [\d.]+ s \(\d+\.\d\d×\)/m);
    const { all } = JSON.parse(readFileSync(out, 'utf8')) as { all: WorkerFigures[] };
    for (const { measured, predicted } of all)
      for (const { sampling, training, all: whole } of [measured, predicted!])
        assert.ok(sampling > 0 && training > 0 && whole > sampling + training, JSON.stringify(all));
    const [one, two] = all.map(({ predicted }) => predicted!.all);
    assert.ok(one! > two!, 'one worker computes two shards one after the other');
  });
});
