// Runs the programs with large answers in its own process and reports its memory:
// node largeAnswersProcess.js docker|wasm COPIES. The first batch is judged, the second keeps values.
import { limitsSchema } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { judgePrograms } from '../../sandbox/judgePrograms.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { LARGE } from './largeAnswers.js';

export interface Measured {
  grownMb: number; // from the opened sandbox to the peak
  outcomes: [id: string, outcome: string][];
  kept: string[][]; // the kinds of the calls of each program
}

const [backend, copies] = process.argv.slice(2) as ['docker' | 'wasm', string];
const rows = LARGE.flatMap((row) => Array.from({ length: Number(copies) }, () => row));
const sandbox = await openSandbox(backend, { size: 2 });
try {
  const idle = process.memoryUsage().rss;
  const judged = await judgePrograms(rows, sandbox);
  const many = LARGE.find(({ id }) => id === 'many_parts')!;
  const jobs = Array.from({ length: 3 * Number(copies) }, () => ({
    id: many.id,
    code: many.code,
    entry: many.entry,
    inputs: many.tests.map(([args]) => args as Value[]),
    limits: limitsSchema.parse(many.limits),
  }));
  const kept = await sandbox.run(jobs);
  const measured: Measured = {
    grownMb: Math.round((process.resourceUsage().maxRSS * 1024 - idle) / 2 ** 20),
    outcomes: judged.map(({ id, outcome }) => [id, outcome]),
    kept: kept.map(({ calls }) => calls.map(({ kind }) => kind)),
  };
  process.stdout.write(JSON.stringify(measured));
} finally {
  await sandbox.close();
}
