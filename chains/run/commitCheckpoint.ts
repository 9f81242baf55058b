// Records the evaluation of an epoch and commits its checkpoint: adapters in PEFT format (in unified mode only the
// generator's), optimizer states, bug archive, test pool, mistake book and split. Metadata is written last.
import { ROLES, type Role, STAGES } from '../../core/schema/chain.js';
import { checkpointName } from '../../core/schema/checkpoint.js';
import { adapterRole } from '../../core/schema/config.js';
import { SPLITS } from '../../core/schema/problem.js';
import type { BaseRef, RoleState } from '../../core/schema/runRef.js';
import type { CommitCheckpointInput } from '../../method/evaluate.js';
import { ADAPTER_FILES } from '../../ml/hf/peft.js';
import { digestBytes, renderedJson } from '../../store/canonicalJson.js';
import { CHECKPOINT_FILES, commitCheckpoint as commit, stageAdapterFile } from '../../store/checkpoints.js';
import type { Store } from '../../store/store.js';
import { modelDigests, readConfig, readProblems } from '../artifacts.js';
import type { Scope } from '../scope.js';
import { recordMetrics } from './recordMetrics.js';

export async function commitCheckpoint(
  scope: Scope,
  input: CommitCheckpointInput,
): Promise<{ name: string; digest: string }> {
  const { store } = scope;
  const { run, state } = input;
  const config = await readConfig(store, run);
  const { set } = await readProblems(store, run.problems);
  const { pool, archive, book } = await store.getJson(input.replayBuffer);
  const split = json(Object.fromEntries(SPLITS.map((name) => [name, set[name].map(({ id }) => id)])));
  const { next, nextStage, plan, supervisedSteps } = input;
  const training = { next, nextStage, plan, supervisedSteps };
  const roles = ROLES.filter((role) => adapterRole(config, role) === role);
  const files = new Map<string, Uint8Array>([
    ...(await Promise.all(roles.map((role) => filesOf(store, run.bases[role], role, state[role])))).flat(),
    [CHECKPOINT_FILES.archive, json(archive)],
    [CHECKPOINT_FILES.pool, json(pool)],
    ...(book ? [[CHECKPOINT_FILES.book, json(book)] as const] : []),
    [CHECKPOINT_FILES.split, split],
    [CHECKPOINT_FILES.training, json(training)],
  ]);
  const { stage, epoch, step, score, seconds, standardErrors, counted } = input;
  const checkpoint = checkpointName(stage, epoch);
  const rates = input.validation;
  const measured = { rates, standardErrors, ...counted, score, seconds };
  await recordMetrics(scope, {
    run,
    metrics: { kind: 'evaluation', step, split: 'validation', checkpoint, ...measured },
  });
  const metadata = {
    stage,
    epoch,
    step,
    score,
    validation: rates,
    configDigest: run.config,
    ...modelDigests(run),
    splitDigest: digestBytes(split),
    codeVersion: scope.deps.codeVersion,
    seed: config.seed,
  };
  const { name, digest } = await commit(store, run.runId, metadata, files);
  return { name, digest };
}

async function filesOf(
  store: Store,
  { adapterConfig }: BaseRef,
  role: Role,
  { adapter, frozen = {}, optimizer }: RoleState,
): Promise<[path: string, bytes: Uint8Array][]> {
  const files = [
    { path: CHECKPOINT_FILES[`${role}Config`], digest: adapterConfig },
    { path: CHECKPOINT_FILES[`${role}Adapter`], digest: adapter },
    { path: CHECKPOINT_FILES[`${role}Optimizer`], digest: optimizer },
  ];
  const earlier = STAGES.flatMap((stage) =>
    frozen[stage] === undefined
      ? []
      : [
          { path: stageAdapterFile(role, stage), digest: frozen[stage] },
          { path: stageAdapterFile(role, stage, ADAPTER_FILES.config), digest: adapterConfig },
        ],
  );
  return Promise.all([...files, ...earlier].map(async ({ path, digest }) => [path, await store.getBlob(digest)]));
}

const json = (value: unknown): Uint8Array => Buffer.from(renderedJson(value), 'utf8');
