// Runs commands in this process, which is fast, or as a separate program.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { main } from '../../cli/main.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { ChainView } from '../../core/schema/chainView.js';
import type { RunResult } from '../../core/schema/run.js';
import { CHECKPOINT_FILES, commitCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { createRun, writeMetrics, writeResult } from '../../store/runs.js';
import type { Store } from '../../store/store.js';

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Runs `main` in this process and captures both outputs. Not for commands that start workers. */
export async function inProcess(...argv: string[]): Promise<Ended> {
  const kept = { out: '', err: '' };
  const { write: out } = process.stdout;
  const { write: err } = process.stderr;
  const keep = (name: 'out' | 'err') => (text: string) => {
    kept[name] += text;
    return true;
  };
  process.stdout.write = keep('out') as typeof out;
  process.stderr.write = keep('err') as typeof err;
  try {
    const code = await main(argv);
    return { code, ...kept };
  } finally {
    process.stdout.write = out;
    process.stderr.write = err;
    process.exitCode = undefined;
  }
}

/** Like `inProcess`, with other environment variables. */
export async function withEnvironment(env: Environment, ...argv: string[]): Promise<Ended> {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  const set = (variables: Environment): void => {
    for (const [name, value] of Object.entries(variables))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
  set(env);
  try {
    return await inProcess(...argv);
  } finally {
    set(before);
  }
}

export type Environment = Record<string, string | undefined>;

/** Runs the program in its own process. */
export function gauntlet(
  argv: string[],
  env: Environment = {},
  onOutput?: (text: string, pid: number) => void,
): Promise<Ended> {
  return new Promise((settle, fail) => {
    const child = spawn(process.execPath, ['bin/gauntlet.mjs', ...argv], {
      env: { ...process.env, TEMPORAL_ADDRESS: undefined, NO_COLOR: '1', ...env } as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const kept = { out: '', err: '' };
    child.stdout.on('data', (text) => {
      kept.out += text;
      onOutput?.(kept.out + kept.err, child.pid!);
    });
    child.stderr.on('data', (text) => {
      kept.err += text;
      onOutput?.(kept.out + kept.err, child.pid!);
    });
    child.on('error', fail);
    child.on('close', (code) => settle({ code, ...kept }));
  });
}

const folders: string[] = [];

export async function temporaryFolder(files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gauntlet-cli-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

export async function removeFolders(): Promise<void> {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
}

const RATES = { passRate: 0.7, greedyPassRate: 0.72, testValidity: 0.6, bugCatchRate: 0.1 };
const digestOf = (digit: string): string => `sha256:${digit.repeat(64)}`;

export const RESULT: RunResult = {
  runId: 'made',
  seed: 0,
  before: RATES,
  after: { passRate: 0.925, greedyPassRate: 0.95, testValidity: 0.8, bugCatchRate: 0.3 },
  trainingSeconds: 271.4,
  digests: { generator: digestOf('a'), discriminator: digestOf('b') },
  best: 'checkpoint_stage_1_epoch_1',
};

export const VIEW: ChainView = {
  problemId: 'add-two',
  description: 'Return the sum of a and b.',
  signature: 'def add(a, b):',
  stages: [
    {
      stage: 1,
      text: 'add\nthem',
      tests: [
        { call: 'add(1, 2)', expected: '3', valid: true, verdict: 'pass' },
        { call: 'add(1, 2)', expected: '4', valid: false },
      ],
      lost: 1,
    },
    {
      stage: 5,
      text: 'def add(a, b): return a - b',
      tests: [{ call: 'add(0, 1)', expected: '1', valid: true, verdict: 'fail' }],
      lost: 0,
    },
  ],
  baseline: [{ call: 'add(0, 0)', expected: '0', valid: true, verdict: 'pass' }],
  rewards: {
    generator: -0.1,
    discriminator: [0.25, 0.5],
    scheme: 'shifted',
    terms: {
      generator: [
        { name: 'passed', weight: 1, share: 0.4 },
        { name: 'shift', weight: -0.5, share: 1 },
      ],
      discriminator: [[{ name: 'valid', weight: 0.5, share: 0.5 }], [{ name: 'caught', weight: 1, share: 0.5 }]],
    },
  },
  outcomes: { generator: 'failed', discriminator: ['valid', 'caught'] },
};

/** Creates a store with a finished run that has two checkpoints, the second of which is better. */
export async function madeRun(): Promise<{ folder: string; store: Store }> {
  const runId = 'made';
  const folder = await temporaryFolder();
  const store = await openStore(folder);
  const config = resolveConfig({ preset: 'tiny' });
  await store.putJson(config);
  const dataDigest = await store.putJson({ train: [], validation: [], test: [] });
  const facts = { config, modelDigest: 'model', dataDigest, codeVersion: '0.1.0' };
  const { configDigest } = await createRun(store, runId, facts);
  for (const [stage, epoch, score] of [
    [0, 0, 0.1],
    [1, 1, 0.4],
  ] as const) {
    const files = new Map(
      Object.values(CHECKPOINT_FILES).map((path) => [path, Buffer.from(`${path} ${stage} ${epoch}`)]),
    );
    const checkpoint = { stage, epoch, step: 4 * epoch, score, validation: RATES, configDigest, modelDigest: 'model' };
    await commitCheckpoint(
      store,
      runId,
      { ...checkpoint, splitDigest: digestOf('d'), codeVersion: '0.1.0', seed: 0 },
      files,
    );
    const name = `checkpoint_stage_${stage}_epoch_${epoch}`;
    const metrics = {
      kind: 'evaluation' as const,
      step: 4 * epoch,
      split: 'validation' as const,
      checkpoint: name,
      rates: RATES,
      score,
      seconds: 1,
    };
    await writeMetrics(store, runId, `${4 * epoch}-validation`, metrics);
  }
  await writeResult(store, runId, { ...RESULT, runId }, VIEW);
  return { folder, store };
}
