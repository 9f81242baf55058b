// One run: its schedule, its curves, its control requests and its checkpoints.
import { recordedWarnings, warningText } from '../../core/answerShares.js';
import { fieldsText, isLiveField, leaves } from '../../core/liveConfig.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { RunEvent, RunView, StepRow } from '../api.js';
import { charts } from './charts.js';
import type { MetricsReader } from './metricsReader.js';
import { bandsOf, controlsOf, type RunRecords, readRunRecords, stepsOf, summarise } from './records.js';

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readRunView(store: ObjectStore, id: string, reader: MetricsReader): Promise<RunView> {
  const records = await readRunRecords(store, id, reader);
  const { config, metrics, result } = records;
  const checkpoints = await listCheckpoints(store, id);
  return {
    ...(await summarise(store, id, records)),
    facts: factsOf(records),
    config,
    fields: fieldsOf(config),
    bands: bandsOf(records),
    charts: charts(metrics),
    steps: stepsOf(records).map(stepRow),
    warnings: recordedWarnings(metrics).map((warning) => ({ field: warning.field, text: warningText(warning) })),
    events: controlsOf(records).map(eventOf),
    checkpoints: checkpoints.map(({ name, step, score, digest }) => ({ name, step, score, digest })),
    before: result?.before,
    after: result?.after,
  };
}

export const fieldsOf = (config: RunConfig): RunView['fields'] =>
  leaves({ ...config }).map(([name, value]) => ({ name, value: JSON.stringify(value), isLive: isLiveField(name) }));

export function factsOf({ manifest, config, result }: RunRecords): RunView['facts'] {
  const { modelRevision, origin } = manifest;
  const facts: Record<string, string | undefined> = {
    model: config.model,
    'model digest': manifest.modelDigest,
    'model revision': modelRevision,
    'discriminator model': config.discriminator.model ?? undefined,
    problems: config.problems,
    'problems digest': manifest.dataDigest,
    'configuration digest': manifest.configDigest,
    'reward scheme': config.reward.scheme,
    seed: String(manifest.seed),
    code: manifest.codeVersion,
    'started from': origin && `${origin.checkpoint} of run ${origin.run}`,
    'generator adapter': result?.digests.generator,
    'discriminator adapter': result?.digests.discriminator,
    'stopped because': result?.stopped,
  };
  return Object.entries(facts).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

export const stepRow = (record: StepMetrics): StepRow => {
  const { step, stage, phase, epoch, role, reward, passRate, validity, rows } = record;
  return { step, stage, phase, epoch, role, reward, passRate, rows, validity };
};

function eventOf({ step, action, fields, reason, at }: ControlMetrics): RunEvent {
  const text = [fields && fieldsText(fields), reason].filter(Boolean).join(' ');
  return { step, kind: action, text, at };
}
