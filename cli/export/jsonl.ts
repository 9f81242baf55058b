// JSON lines: the metrics of a run as it recorded them, and its rollouts, one sample per line. docs/how-to/export.md lists
// the fields.
import { stepsOf } from '../../dashboard/data/records.js';
import { readGroup, readRollouts, unlessRemoved } from '../../dashboard/data/rollouts.js';
import type { ExportedFiles, ExportedRun } from './exporter.js';

export async function* metricLines({ id, records }: ExportedRun): ExportedFiles {
  yield ['metrics.jsonl', records.metrics.map((record) => line({ run: id, ...record })).join('')];
}

export async function* rolloutLines(run: ExportedRun): ExportedFiles {
  yield* metricLines(run);
  yield ['rollouts.jsonl', samples(run)];
}

/** Steps whose artifacts were removed from the store have no lines. */
async function* samples({ id: run, store, records }: ExportedRun): AsyncGenerator<string> {
  for (const record of stepsOf(records)) {
    const { step, role } = record;
    const rollouts = await unlessRemoved(() => readRollouts(store, record));
    for (const group of rollouts?.judged.keys() ?? []) {
      const { problem, suite, programs, turns } = await readGroup(store, run, rollouts!, group);
      const sampled = { run, step, role, group, problem: problem.id };
      if (role === 'discriminator') yield turns.map((turn) => line({ ...sampled, ...turn })).join('');
      else
        for (const { verdicts, ...program } of programs) {
          const tests = suite.map((test, i) => ({ ...test, verdict: verdicts[i] }));
          yield line({ ...sampled, ...program, tests });
        }
    }
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;
