// `npm run chaos`: kills workers, the server, sandbox guests and more at seeded random moments of a real run, and compares its results with
// an undisturbed run, byte for byte (docs/chaos.md). Exits with 1 on any difference, orphan or missing kill.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { GauntletError } from '../../core/base/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { FLAG, readFlags, TEXT } from '../flags.js';
import { type ChaosOptions, chaos } from './chaos.js';
import { type ChaosFigures, complaints, described } from './figures.js';

/** The tiny preset with 30 of its 50 steps and fewer problems. */
const SHORTENED: RunConfigInput = {
  preset: 'tiny',
  schedule: { discriminatorSteps: 2, generatorSteps: 2, alternatingSteps: 2 },
  batch: { generator: { problems: 8, samples: 4 }, discriminator: { problems: 6, samples: 4 } },
  evaluation: { problems: 8, testProblems: 8 },
};

export interface Means {
  run(options: ChaosOptions): Promise<ChaosFigures>;
  print(line: string): void;
  note(line: string): void;
  signal?: AbortSignal;
}

const USAGE = `npm run chaos -- [options]
  --kills N          default 50
  --seed N           of the run and of the kills (default 1)
  --sandbox KIND     wasm (default) or docker, with a daemon of its own that is killed, too
  --store-faults P   share of writes that fail (default 0.005)
  --disk             put the store on a small disk and fill it; needs root
  --json             print JSON
  --keep             keep the folder`;

/** Returns the exit code. @throws GauntletError BAD_CONFIG */
export async function main(args: string[], { run, print, note, signal }: Means): Promise<number> {
  const flags = { kills: TEXT, seed: TEXT, sandbox: TEXT, 'store-faults': TEXT };
  const values = readFlags(args, { ...flags, disk: FLAG, json: FLAG, keep: FLAG, help: FLAG });
  if (values.help) {
    print(USAGE);
    return 0;
  }
  const { sandbox = 'wasm', disk: isSmall = false } = values;
  if (sandbox !== 'wasm' && sandbox !== 'docker')
    throw new GauntletError('BAD_CONFIG', `--sandbox must be wasm or docker, is ${sandbox}`);
  const seed = number('seed', values.seed ?? '1', Number.isSafeInteger);
  const kills = number('kills', values.kills ?? '50', (value) => Number.isInteger(value) && value > 0);
  const storeFaults = number('store-faults', values['store-faults'] ?? '0.005', (value) => value >= 0 && value < 0.5);

  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-chaos-'));
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  if (values.disk) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk]);
  const store = join(disk, 'store');
  try {
    const config = { ...SHORTENED, seed };
    const figures = await run({
      folder,
      store,
      disk: isSmall,
      kills,
      seed,
      sandbox,
      storeFaults,
      config,
      log: note,
      signal,
    });
    for (const line of described(figures)) (values.json ? note : print)(line);
    if (values.json) print(JSON.stringify(figures));
    return complaints(figures).length === 0 ? 0 : 1;
  } finally {
    if (values.keep) note(`kept: ${folder}`);
    else {
      if (values.disk) execFileSync('umount', ['-l', disk]);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function number(name: string, text: string, isRight: (value: number) => boolean): number {
  const value = Number(text);
  if (text.trim() === '' || !isRight(value)) throw new GauntletError('BAD_CONFIG', `--${name} ${text} is out of range`);
  return value;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  try {
    process.exitCode = await main(process.argv.slice(2), {
      run: chaos,
      print: (line) => console.log(line),
      note: (line) => console.error(line),
      signal: stop.signal,
    });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
