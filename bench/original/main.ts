// `npm run bench -- original --checkout DIR`: the trainer of the project that this one grew from, next to ours: the same
// model, problems, stage and limit of tokens, with updates in turn. Theirs samples one chain for an update, ours a batch.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatArguments, formatValue } from '../../core/parse/format.js';
import type { Role } from '../../core/schema/chain.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { Problem } from '../../core/schema/problem.js';
import { loadBuiltIn } from '../../data/problems.js';
import { ROOT } from '../../infra/root.mjs';
import { describeMachine } from '../machine.js';
import { BenchError, commandLine, FLAG, positive, readFlags, TEXT } from '../options.js';
import { Peer } from '../peers/peer.js';
import { providePython, TORCH_REQUIREMENTS } from '../python.js';
import { recordPart, saveJson } from '../results.js';
import { provideSmolLM2 } from '../smollm2.js';
import type { Update } from './ours.js';
import { type OriginalResults, originalMarkdown } from './table.js';

const USAGE = `npm run bench -- original --checkout DIR [options]
  --checkout DIR  a checkout of github.com/NitinSudarsanam/chained-adversarial-reasoning
  --rounds N      updates of each role on each side (default 2)
  --venv DIR      a Python environment with the peer (default: created in .cache)
  --out FILE      write results as JSON (default .cache/bench/original.json)
  --record        also update bench/results.json and bench/BENCHMARKS.md`;

const SOURCE = 'steps:1';
const STAGE = 1; // the stage in training; both sides sample all five
const MAX_NEW_TOKENS = 112;
const ROLES = ['discriminator', 'generator'] as const satisfies Role[]; // in the order of our schedule
const LIMIT_SECONDS = 3600;

const cache = join(ROOT, '.cache', 'bench');
const say = (line: string): void => console.error(`bench: ${line}`);

export async function benchOriginal(args: string[]): Promise<void> {
  const flags = { checkout: TEXT, rounds: TEXT, venv: TEXT, out: TEXT, record: FLAG, help: FLAG };
  const { checkout, rounds: text = '2', venv, out, record, help } = readFlags(args, flags);
  if (help) return console.log(USAGE);
  if (checkout === undefined || !existsSync(join(checkout, '5-stage-reasoning', 'training')))
    throw new BenchError('--checkout must name a checkout of the original project; see --help', 2);
  const rounds = positive('rounds', text);
  const requirements = [TORCH_REQUIREMENTS, join('bench', 'requirements-original.txt')];
  const python = await providePython({ requirements, venv, say });
  const model = await provideSmolLM2(join(cache, 'models'), say);
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-original-'));
  const machine = describeMachine();
  const started = new Date();
  const peers: Record<'ours' | 'original', Peer> = {
    ours: startOurs(folder, model, rounds),
    original: startOriginal(folder, python, checkout, model),
  };
  const results: OriginalResults = {
    command: commandLine(['original', ...args]),
    startedAt: started.toISOString(),
    ...{ machine, seconds: 0, updates: [], peakBytes: {} },
  };
  try {
    for (const [name, peer] of Object.entries(peers)) {
      say(`${name}: loading`);
      await peer.request('load', {}, LIMIT_SECONDS);
    }
    for (const role of ROLES) {
      for (let round = 1; round <= rounds; round++) {
        for (const [name, peer] of Object.entries(peers)) {
          const { result } = await peer.request<Update>('update', { role }, LIMIT_SECONDS);
          results.updates.push({ peer: name as 'ours', role, ...result });
          say(`${name}, ${role} ${round}: ${result.seconds.toFixed(1)} s, ${result.tokens} tokens`);
        }
      }
      await peers.ours.request('update', {}, LIMIT_SECONDS); // the last of its epoch, which also samples an evaluation
    }
    for (const [name, peer] of Object.entries(peers))
      results.peakBytes[name as 'ours'] = (await peer.request<{ bytes: number }>('memory')).result.bytes;
  } finally {
    await Promise.all(Object.values(peers).map((peer) => peer.close()));
    rmSync(folder, { recursive: true, force: true });
  }
  results.seconds = (Date.now() - started.getTime()) / 1000;
  saveJson(out ?? join(cache, 'original.json'), results);
  if (record) recordPart('original', results, originalMarkdown(results));
  console.log(originalMarkdown(results));
}

function startOurs(folder: string, model: string, rounds: number): Peer {
  const config: RunConfigInput = {
    preset: 'smollm2-135m',
    ...{ model, problems: SOURCE, stages: [1, 2, 3, 4, 5] },
    schedule: { stages: [STAGE], discriminatorSteps: rounds + 1, generatorSteps: rounds + 1, alternatingSteps: 0 },
    batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 4, samples: 4 } },
    sampling: { temperature: 0.7, maxNewTokens: MAX_NEW_TOKENS, maxTestTokens: MAX_NEW_TOKENS },
    warmStart: { discriminatorSteps: 0, generatorSteps: 0 },
    testsPerTurn: 5,
    discriminator: { expected: 'model' },
    reward: { scheme: 'shifted' },
    advantage: { negativeWeight: 1, dropZeroVariance: false },
    evaluation: { problems: 1, testProblems: 1 },
  };
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const script = fileURLToPath(new URL('./ours.js', import.meta.url));
  return Peer.start('ours', process.execPath, [script, join(folder, 'store'), file]);
}

function startOriginal(folder: string, python: string, checkout: string, model: string): Peer {
  const file = join(folder, 'problems.json');
  writeFileSync(file, JSON.stringify(loadBuiltIn(SOURCE).train.map(inItsFormat)));
  const script = join(ROOT, 'bench', 'original', 'original_peer.py');
  const args = ['-W', 'ignore', script, checkout, model, file, `${MAX_NEW_TOKENS}`, `${STAGE}`];
  return Peer.start('original', python, args, { CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1' });
}

const inItsFormat = (problem: Problem): object => ({
  ...{ id: problem.id, description: problem.description, function_signature: problem.functionSignature },
  baseline_tests: problem.baselineTests.map(
    ({ args, expected }) => `assert ${problem.entry}${formatArguments(args)} == ${formatValue(expected)}`,
  ),
  reference_solution: problem.referenceSolution,
  ...{ difficulty: problem.difficulty, tags: problem.tags },
});
