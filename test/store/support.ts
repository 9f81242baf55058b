// Temporary stores, child processes over the compiled store, and a sample checkpoint for the tests of this folder.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { runConfigSchema } from '../../core/schema/config.js';
import { scriptArguments } from '../../infra/scripts.js';
import { CHECKPOINT_FILES, type CheckpointFacts, commitCheckpoint } from '../../store/checkpoints.js';
import { memoised } from '../../store/memo.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { createRun, writeInput, writeMetrics, writeReport, writeResult } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { encodeTensors } from '../../store/tensors.js';
import { MEMORY_FOLDER } from '../support/memoryFolder.js';
import { sampleData, sampleStep } from '../support/sample.js';

export async function withStore(work: (store: ObjectStore, root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(MEMORY_FOLDER, 'gauntlet-store-'));
  try {
    await work(await openStore(root), root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Bytes of each file under large/ that the child writes, all equal within a file. */
export const LARGE = 1_000_000;
export const DIGEST = `sha256:${'0'.repeat(64)}`;

export function refusal(code: ErrorCode, ...parts: (string | RegExp)[]): (error: unknown) => boolean {
  return (error) =>
    error instanceof GauntletError &&
    error.code === code &&
    !error.message.includes('\n') &&
    parts.every((part) => (typeof part === 'string' ? error.message.includes(part) : part.test(error.message)));
}

export function sampleFacts(change: Partial<CheckpointFacts> = {}): CheckpointFacts {
  return {
    stage: 1,
    epoch: 1,
    step: 4,
    score: 0.5,
    validation: { passRate: 0.7, greedyPassRate: 0.65, testValidity: 0.66, bugCatchRate: 0.35 },
    configDigest: DIGEST,
    modelDigest: DIGEST,
    splitDigest: DIGEST,
    codeVersion: '0.1.0',
    seed: 7,
    ...change,
  };
}

export function sampleFiles(fill = 1): Map<string, Uint8Array> {
  const text = (value: unknown) => Buffer.from(JSON.stringify(value));
  const moments = encodeTensors({ m: new Float32Array(500).fill(fill), v: new Float32Array(500) }, { step: fill });
  return new Map<string, Uint8Array>([
    [CHECKPOINT_FILES.generatorConfig, text({ r: 8, lora_alpha: 16 })],
    [CHECKPOINT_FILES.generatorAdapter, new Uint8Array(4000).fill(fill)],
    [CHECKPOINT_FILES.discriminatorConfig, text({ r: 8, lora_alpha: 16 })],
    [CHECKPOINT_FILES.discriminatorAdapter, new Uint8Array(4000).fill(fill + 1)],
    [CHECKPOINT_FILES.generatorOptimizer, moments],
    [CHECKPOINT_FILES.discriminatorOptimizer, moments],
    [CHECKPOINT_FILES.training, text({ next: 0 })],
    [CHECKPOINT_FILES.archive, text([])],
    [CHECKPOINT_FILES.pool, text({ generator: [], discriminator: [] })],
    [CHECKPOINT_FILES.book, text({})],
    [CHECKPOINT_FILES.split, text({ train: ['a'], validation: ['b'], test: ['c'] })],
  ]);
}

export const sampleConfig = (seed = 0) => runConfigSchema.parse({ seed });

/** The arguments with which Node runs child.ts. */
export const CHILD = scriptArguments(new URL('./child.js', import.meta.url));

/** Starts child.ts. `lines` grows while it runs; `done` resolves to its signal or exit code. */
export function startChild(...args: string[]) {
  const child = spawn(process.execPath, [...CHILD, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    output.text += part;
  });
  const done = new Promise<NodeJS.Signals | number | null>((resolve) => {
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  return { child, done, lines: () => output.text.split('\n').slice(0, -1) };
}

/** Writes one run with files of every kind. */
export async function fillStore(store: Store, seed = 0): Promise<void> {
  const dataDigest = await store.putJson(['problem']);
  const facts = { config: sampleConfig(seed), modelDigest: DIGEST, dataDigest, codeVersion: '1' };
  const { result, chain } = sampleData();
  await createRun(store, 'r', facts);
  await writeInput(store, 'r', sampleConfig(seed));
  await writeMetrics(store, 'r', 1, sampleStep(1));
  await memoised({ store, name: 'n', version: 1 }, { seed }, async () => ({ part: await store.putJson('part') }));
  await commitCheckpoint(store, 'r', sampleFacts(), sampleFiles());
  await writeResult(store, 'r', { ...result, runId: 'r' }, chain);
  await writeReport(store, 'r', '<html></html>');
}
