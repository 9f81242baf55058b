// npm run chaos -- --kills 50 --seed 1 [--sandbox docker] [--disk] [--store-faults 0.005] [--keep] [--json]
// Kills workers, the server, sandbox guests and more at seeded random moments of a real run, and compares its results with
// an undisturbed run, byte for byte (docs/chaos.md). Exits with 1 on any difference, orphan or missing kill.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GauntletError } from '../../core/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { type ChaosOptions, chaos } from './chaos.js';
import { type ChaosFigures, complaints, described } from './figures.js';

/** The tiny preset with half its steps, on fewer problems. */
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

/** The exit code. @throws GauntletError BAD_CONFIG */
export async function main(args: string[], { run, print, note, signal }: Means): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      kills: { type: 'string', default: '50' },
      seed: { type: 'string', default: '1' },
      sandbox: { type: 'string', default: 'wasm' },
      'store-faults': { type: 'string', default: '0.005' },
      disk: { type: 'boolean', default: false }, // puts the store on a small tmpfs and fills it; needs root
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const { sandbox } = values;
  if (sandbox !== 'wasm' && sandbox !== 'docker')
    throw new GauntletError('BAD_CONFIG', `--sandbox ${sandbox}: wasm or docker`);
  const seed = number('seed', values.seed, Number.isSafeInteger);
  const kills = number('kills', values.kills, (value) => Number.isInteger(value) && value > 0);
  const storeFaults = number('store-faults', values['store-faults'], (value) => value >= 0 && value < 0.5);

  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-chaos-'));
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  if (values.disk) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk]);
  const store = join(disk, 'store');
  try {
    const config = { ...SHORTENED, seed };
    const figures = await run({
      ...{ folder, store, disk: values.disk, kills, seed, sandbox, storeFaults, config, log: note },
      ...(signal && { signal }),
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

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
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
