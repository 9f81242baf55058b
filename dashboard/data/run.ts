// Reads everything that the pages show about one run: its schedule, curves, control requests and checkpoints.
import { fieldsText, leaves } from '../../core/config/liveConfig.js';
import { firstAlarms } from '../../core/run/alarms.js';
import { recordedWarnings, warningText } from '../../core/run/answerShares.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';
import { evaluationRatesSchema, type RunResult } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { RateRow, RunEvent, RunView } from '../api.js';
import { charts, titleOf } from './charts.js';
import { exampleOf } from './example.js';
import type { MetricsReader } from './metricsReader.js';
import {
  bandsOf,
  controlsOf,
  lastRecord,
  type RunRecords,
  readRunRecords,
  stepRow,
  stepsOf,
  summarise,
} from './records.js';

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readRunView(store: ObjectStore, id: string, reader: MetricsReader): Promise<RunView> {
  const records = await readRunRecords(store, id, reader);
  const { config, metrics, result, chain } = records;
  const checkpoints = await listCheckpoints(store, id);
  return {
    ...(await summarise(store, id, records, (await lastRecord(store, id)).at)),
    facts: factsOf(records),
    config,
    bands: bandsOf(records),
    charts: charts(metrics),
    steps: stepsOf(records).map(stepRow),
    warnings: recordedWarnings(metrics).map((warning) => ({ field: warning.field, text: warningText(warning) })),
    events: [...controlsOf(records).map(eventOf), ...firstAlarms(stepsOf(records)).map(alarmEvent)],
    checkpoints: checkpoints.map(({ name, step, score, digest }) => ({ name, step, score, digest })),
    rates: result ? ratesOf(result) : [],
    example: chain && exampleOf(chain, result?.best),
  };
}

const RATES = evaluationRatesSchema.keyof().options;

function ratesOf({ before, warmStart, after }: RunResult): RateRow[] {
  return RATES.map((name) => ({
    title: titleOf(`evaluation.${name}`) ?? name,
    before: before[name],
    warmStart: warmStart?.[name],
    after: after[name],
  })).filter((row) => row.after !== undefined);
}

/** Lists the fields of the configuration as facts. */
export const fieldsOf = (config: RunConfig): RunView['facts'] =>
  leaves({ ...config }).map(([name, value]) => ({ name, value: JSON.stringify(value) }));

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

function eventOf({ step, action, fields, reason, at }: ControlMetrics): RunEvent {
  const text = [fields && fieldsText(fields), reason].filter(Boolean).join(' ');
  return { step, kind: action, text, at };
}

/** Marks the first step of an alarm in the schedule and in the charts. */
const alarmEvent = ({ step, kind, message }: ReturnType<typeof firstAlarms>[number]): RunEvent => ({
  step,
  kind: `alarm (${kind})`,
  text: message,
  at: '',
});
