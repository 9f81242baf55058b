// Renders the report of a run from the store, also while the run is running.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GauntletError } from '../core/errors.js';
import { withRecordedChanges } from '../core/liveConfig.js';
import { type RunConfig, runIdentity } from '../core/schema/config.js';
import { recordsOf } from '../core/schema/metrics.js';
import { ROOT } from '../infra/root.mjs';
import { inThread } from '../ml/pool/inThread.js';
import { type Control, controlSchema, type ReportData } from '../report/data.js';
import { canonicalJson } from '../store/canonicalJson.js';
import { listCheckpoints } from '../store/checkpoints.js';
import { readControls, readMetrics, readResult, readRun } from '../store/runs.js';
import type { Store } from '../store/store.js';

/** The recorded run without a discriminator that reports compare runs of the same configuration with. */
export const controlPath = (): string => join(ROOT, 'data', 'tiny-control.json');

/** One self-contained HTML page, rendered in a thread. @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function renderRunReport(store: Store, runId: string): Promise<string> {
  return inThread(new URL('./reportThread.js', import.meta.url), await gatherReport(store, runId));
}

export async function gatherReport(store: Store, runId: string): Promise<ReportData> {
  const { codeVersion, ...manifest } = await readRun(store, runId);
  const config = runIdentity(withRecordedChanges(manifest.config, await readControls(store, runId)));
  const { configDigest, modelDigest, discriminatorModelDigest: discriminatorModel, dataDigest } = manifest;
  const { result, chain } = await readResult(store, runId);
  const control = await readControl();
  return {
    runId,
    config,
    digests: {
      config: configDigest,
      model: modelDigest,
      discriminatorModel,
      data: dataDigest,
    },
    codeVersion,
    metrics: await readMetrics(store, runId),
    checkpoints: await listCheckpoints(store, runId),
    result,
    chain: chain && { view: chain, by: result?.best ?? 'base' },
    ...(control && isControlOf(runIdentity(control.config), config) && { control }),
  };
}

/** True if the configurations differ only in the discriminator and the seed. The report names the seed. */
export function isControlOf(control: RunConfig, config: RunConfig): boolean {
  const rest = ({
    preset: _preset,
    seed: _seed,
    sandbox: _sandbox,
    discriminator: _discriminator,
    ...fields
  }: RunConfig) => canonicalJson(fields);
  return !control.discriminator.enabled && config.discriminator.enabled && rest(control) === rest(config);
}

/** Makes a finished run without a discriminator the control of other runs. @throws GauntletError BAD_INPUT */
export async function controlOf(store: Store, runId: string, command: string): Promise<Control> {
  const { config } = await readRun(store, runId);
  const { result } = await readResult(store, runId);
  if (config.discriminator.enabled) throw new GauntletError('BAD_INPUT', `run ${runId} has a discriminator`);
  if (result === undefined) throw new GauntletError('BAD_INPUT', `run ${runId} has not finished`);
  const evaluations = recordsOf(await readMetrics(store, runId), 'evaluation');
  const points = evaluations.filter(({ split }) => split === 'validation');
  return controlSchema.parse({
    config,
    digest: result.digests.generator,
    command,
    points: points.map(({ step, rates }) => ({ step, rates })),
    before: result.before,
    after: result.after,
  });
}

async function readControl(): Promise<Control | undefined> {
  const text = await readFile(controlPath(), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : controlSchema.parse(JSON.parse(text));
}
