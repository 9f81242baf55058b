// Commits a checkpoint: both adapters in PEFT's format, optimizer states, bug archive, pool and split, metadata last.
import type { RunConfig } from '../core/schema/config.js';
import { canonicalJson, digestBytes } from '../store/canonicalJson.js';
import { CHECKPOINT_FILES, commitCheckpoint as commit } from '../store/checkpoints.js';
import { type Memory, readProblems } from './artifacts.js';
import type { Scope } from './scope.js';
import type { CommitCheckpointInput } from './types.js';

export async function commitCheckpoint(
  scope: Scope,
  input: CommitCheckpointInput,
): Promise<{ name: string; digest: string }> {
  const { store } = scope;
  const { run, state } = input;
  const config = await store.getJson<RunConfig>(run.config);
  const { set } = await readProblems(store, run.problems);
  const { pool, archive } = await store.getJson<Memory>(input.memory);
  const adapterConfig = await store.getBlob(run.adapterConfig);
  const split = json({
    train: set.train.map((problem) => problem.id),
    validation: set.validation.map((problem) => problem.id),
    test: set.test.map((problem) => problem.id),
  });
  const files = new Map<string, Uint8Array>([
    [CHECKPOINT_FILES.generatorConfig, adapterConfig],
    [CHECKPOINT_FILES.generatorAdapter, await store.getBlob(state.generator.adapter)],
    [CHECKPOINT_FILES.discriminatorConfig, adapterConfig],
    [CHECKPOINT_FILES.discriminatorAdapter, await store.getBlob(state.discriminator.adapter)],
    [CHECKPOINT_FILES.generatorOptimizer, await store.getBlob(state.generator.optimizer)],
    [CHECKPOINT_FILES.discriminatorOptimizer, await store.getBlob(state.discriminator.optimizer)],
    [CHECKPOINT_FILES.archive, json(archive)],
    [CHECKPOINT_FILES.pool, json(pool)],
    [CHECKPOINT_FILES.split, split],
  ]);
  const { name, digest } = await commit(
    store,
    run.runId,
    {
      stage: input.stage,
      epoch: input.epoch,
      step: input.step,
      score: input.score,
      validation: input.validation,
      configDigest: run.config,
      modelDigest: run.modelDigest,
      splitDigest: digestBytes(split),
      codeVersion: scope.deps.codeVersion,
      seed: config.seed,
    },
    files,
  );
  return { name, digest };
}

const json = (value: unknown): Uint8Array => Buffer.from(`${canonicalJson(value, 2)}\n`, 'utf8');
