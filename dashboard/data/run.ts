// One run: its schedule, its curves, its control requests and its checkpoints.
import { fieldsText, isLiveField, leaves } from '../../core/liveConfig.js';
import { PHASES, planStage, planWarmStart } from '../../core/schedule.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { Band, RunEvent, RunView, StepRow } from '../api.js';
import { charts } from './charts.js';
import type { MetricsReader } from './metricsReader.js';
import { controlsOf, type RunRecords, readRunRecords, stepsOf, summarise, supervisedOf } from './records.js';

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

/**
 * The phases of all stages in order. What is over has the updates that it recorded, because N and K may have changed;
 * what is to come, and what a fork left out, has those of the plan.
 */
function bandsOf(records: RunRecords): Band[] {
  const { config, result } = records;
  const recorded = [
    ...supervisedOf(records).map(() => ({ stage: 0, phase: 'warm-start' as const })),
    ...stepsOf(records),
  ];
  const [first, latest] = [recorded[0], recorded.at(-1)];
  const position = (stage: number, phase: (typeof PHASES)[number]) => 10 * stage + PHASES.indexOf(phase);
  const bands: Band[] = [];
  for (const stage of [0, ...config.schedule.stages]) {
    const plan = stage === 0 ? planWarmStart(config) : planStage(config);
    for (const phase of PHASES) {
      const done = recorded.filter((step) => step.stage === stage && step.phase === phase).length;
      const planned = plan.filter((step) => step.phase === phase).length;
      const isOver = result !== undefined || (latest && position(stage, phase) < position(latest.stage, latest.phase));
      const isBefore = first !== undefined && position(stage, phase) < position(first.stage, first.phase);
      const length = isOver && !isBefore ? done : Math.max(done, planned);
      const start = bands.at(-1)?.end ?? 0;
      if (length > 0) bands.push({ stage, phase, start, end: start + length, done });
    }
  }
  return bands;
}
