// `npm run cluster`: trains the tiny preset on four hosts that lose their network, are killed, or turned off at seeded moments.
// Compares the results with a run on one machine, byte for byte (docs/chaos.md). Exits with 1 on any difference.
// Needs Linux, root and Postgres.
//
// A second process in its own namespaces does the work. When it ends for any reason, the kernel removes its network and ends
// everything that it started.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { scriptArguments } from '../../infra/scripts.js';
import { provideMoto } from '../../test/support/s3Server.js';
import { FLAG, LabError, readFlags, TEXT } from '../flags.js';
import { cluster } from './cluster.js';
import { complaints, described } from './figures.js';
import { provideTemporalServer } from './temporal-server.mjs';

const TINY: RunConfigInput = { preset: 'tiny', seed: 0 };
const QUICK: RunConfigInput = {
  ...TINY,
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 2 },
  batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 4, samples: 4 } },
  evaluation: { problems: 4, testProblems: 4 },
};
const INSIDE = 'GAUNTLET_CLUSTER_FOLDER'; // set for the second process

const USAGE = `npm run cluster -- [options]
  --faults N         default 20; with --quick 4
  --seed N           of the faults; the run has seed 0 (default 1)
  --store-faults P   share of requests to S3 that fail; as many are late (default 0.01)
  --quick            a run of four steps
  --machine FOLDER   store of the run on one machine, to keep it
  --json             print JSON
  --keep             keep the folders and logs of all hosts`;

async function main(args: string[]): Promise<number> {
  const flags = { faults: TEXT, seed: TEXT, 'store-faults': TEXT, machine: TEXT };
  const values = readFlags(args, { ...flags, quick: FLAG, json: FLAG, keep: FLAG, help: FLAG });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const faults = count('faults', values.faults ?? (values.quick ? '4' : '20'));
  const seed = count('seed', values.seed ?? '1');
  const storeFaults = Number(values['store-faults'] ?? '0.01');
  if (!(storeFaults >= 0 && storeFaults <= 0.2))
    throw new GauntletError('BAD_CONFIG', `--store-faults ${values['store-faults']}: give a share of at most 0.2`);
  const folder = process.env[INSIDE];
  if (folder === undefined) return inNamespaces(args, values.keep ?? false);
  const figures = await cluster({
    folder,
    machine: values.machine ?? join(folder, 'machine'),
    seed,
    faults,
    storeFaults,
    config: values.quick ? QUICK : TINY,
    log: (line) => console.error(line),
  });
  for (const line of described(figures)) (values.json ? console.error : console.log)(line);
  if (values.json) console.log(JSON.stringify(figures));
  return complaints(figures).length === 0 ? 0 : 1;
}

async function inNamespaces(args: string[], keep: boolean): Promise<number> {
  if (process.getuid?.() !== 0)
    throw new GauntletError('BAD_CONFIG', 'npm run cluster needs root to create namespaces');
  await provideTemporalServer({ log: (line) => console.error(line) }); // the namespaces have no network access
  await provideMoto();
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-cluster-'));
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
  const self = [process.execPath, ...scriptArguments(new URL('./main.js', import.meta.url)), ...args];
  // --pdeathsig ends the second process if this one is killed
  const inside = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...self], {
    env: { ...process.env, [INSIDE]: folder },
    stdio: 'inherit',
    detached: true, // Ctrl-C reaches only this process
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => inside.kill('SIGKILL'));
  try {
    const [code] = (await once(inside, 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    if (keep) console.error(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

function count(name: string, text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new GauntletError('BAD_CONFIG', `--${name} ${text}: give a whole number`);
  return Number(text);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof GauntletError || error instanceof LabError ? error.message : error);
  process.exitCode = 1;
}
if (process.env[INSIDE] !== undefined) process.exit(); // ends the servers and hosts
