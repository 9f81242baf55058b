// `npm run bench -- original --checkout DIR`: compares our trainer with that of the project that this one grew from. It
// measures single updates, and what both trainers learn in the same time.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { describeMachine, say } from '../machine.js';
import { BenchError, commandLine, FLAG, positive, readFlags, TEXT } from '../options.js';
import { providePython, TORCH_REQUIREMENTS } from '../python.js';
import { recordPart, saveJson } from '../results.js';
import { provideSmolLM2 } from '../smollm2.js';
import { compareAfter } from './equalTime.js';
import { type OriginalResults, originalMarkdown } from './table.js';
import { measureUpdates } from './updates.js';

const USAGE = `npm run bench -- original --checkout DIR [options]
  --checkout DIR  a checkout of github.com/NitinSudarsanam/chained-adversarial-reasoning
  --rounds N      updates of each role on each side (default 2)
  --minutes N     training of each side, before and after which it solves test problems (default 10)
  --problems N    test problems, one program each (default 8)
  --venv DIR      a Python environment with the peer (default: created in .cache)
  --out FILE      write results as JSON (default .cache/bench/original.json)
  --record        also update bench/results.json and bench/BENCHMARKS.md`;

const cache = join(ROOT, '.cache', 'bench');
export async function benchOriginal(args: string[]): Promise<void> {
  const values = readFlags(args, {
    checkout: TEXT,
    rounds: TEXT,
    minutes: TEXT,
    problems: TEXT,
    venv: TEXT,
    out: TEXT,
    record: FLAG,
    help: FLAG,
  });
  if (values.help) return console.log(USAGE);
  const { checkout, venv, out, record } = values;
  if (checkout === undefined || !existsSync(join(checkout, '5-stage-reasoning', 'training')))
    throw new BenchError('--checkout must name a checkout of the original project; see --help', 2);
  const rounds = positive('rounds', values.rounds ?? '2');
  const minutes = positive('minutes', values.minutes ?? '10');
  const problems = positive('problems', values.problems ?? '8');
  const requirements = [TORCH_REQUIREMENTS, join('bench', 'requirements-original.txt')];
  const python = await providePython({ requirements, venv, say });
  const model = await provideSmolLM2(join(cache, 'models'), say);
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-original-'));
  const machine = describeMachine();
  const started = new Date();
  const setting = { model, python, checkout, folder, say };
  try {
    const results: OriginalResults = {
      command: commandLine(['original', ...args]),
      startedAt: started.toISOString(),
      machine,
      ...(await measureUpdates(setting, rounds)),
      equalTime: await compareAfter(minutes, problems, setting),
      seconds: (Date.now() - started.getTime()) / 1000,
    };
    saveJson(out ?? join(cache, 'original.json'), results);
    if (record) recordPart('original', results, originalMarkdown(results));
    console.log(originalMarkdown(results));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
