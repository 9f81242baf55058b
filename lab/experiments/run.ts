// Runs one arm with one seed through the CLI, as a user would, and reads its record from the store. Continues a run that was
// interrupted.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { merged } from '../../core/config/objects.js';
import { resolveConfig } from '../../core/config/presets.js';
import { METRIC_NAMES } from '../../core/evaluation/metrics.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { RunMetrics } from '../../core/schema/metrics.js';
import { runResultSchema } from '../../core/schema/run.js';
import { digestJson } from '../../store/canonicalJson.js';
import { openStore } from '../../store/openStore.js';
import { readMetrics } from '../../store/runs.js';
import { answerOf } from '../commands.js';
import { FORMS, TRAINABLE } from './arms.js';
import type { ExperimentRecord, Key } from './records.js';

const SAMPLES = 4; // the number of programs per test problem

export interface Place {
  store: string;
  over: RunConfigInput; // fields that a short trial replaces in all arms
  problems?: number; // the largest number of problems of the test split
}

/** The configuration of an arm, with N and K multiplied. Repeats the whole schedule, so that every stage gets its share. */
export function configOf(
  { family, arm }: Pick<Key, 'family' | 'arm'>,
  over: RunConfigInput,
  factor = 1,
): RunConfigInput {
  const { config } = armOf({ arm });
  const form = merged({ preset: family }, FORMS[family]);
  const base = merged(merged(form, config), over) as RunConfigInput;
  const { discriminatorSteps, generatorSteps, alternatingSteps } = resolveConfig(base).schedule;
  const steps = { discriminatorSteps, generatorSteps, alternatingSteps };
  const longer = Object.entries(steps).map(([name, count]) => [name, Math.round(factor * count)]);
  return factor === 1 ? base : (merged(base, { schedule: Object.fromEntries(longer) }) as RunConfigInput);
}

/** The digest of all settings of a run. */
export function digestOf(key: Key, { over }: Pick<Place, 'over'>, factor: number): string {
  return digestJson(resolveConfig({ ...configOf(key, over, factor), seed: key.seed }));
}

const armOf = ({ arm }: Pick<Key, 'arm'>) => TRAINABLE.find(({ name }) => name === arm)!;

const evaluationSchema = z.object({
  results: z.string(),
  metrics: z.partialRecord(z.enum(METRIC_NAMES), z.object({ value: z.number() })),
});

/** The name of the run. */
const runOf = ({ family, arm, equal, seed }: Key): string => `${family}-${arm}-${equal}-${seed}`;

/** @param factor multiplies the number of updates */
export async function runArm(
  key: Key,
  { store, over, problems }: Place,
  commit: string,
  factor: number,
): Promise<ExperimentRecord> {
  const { family, arm, equal, seed } = key;
  const folder = join(store, 'experiments');
  mkdirSync(folder, { recursive: true });
  const config = configOf(key, over, factor);
  const id = runOf(key);
  const file = join(folder, `${id}.json`);
  writeFileSync(file, JSON.stringify(config));
  const flags = ['--store', store, '--json'];
  const source = ['--config', file, '--seed', `${seed}`];
  const trained = await answerOf(['train', id, ...source, '--watch', ...flags]);
  const { digests, before, after } = runResultSchema.parse(trained);
  const limit = problems === undefined ? [] : ['--limit', `${problems}`];
  const heldOut = ['--problems', family, '--split', 'test', '--samples', `${SAMPLES}`, ...limit]; // the same for all arms
  const evaluated = await answerOf(['evaluate', `${id}/best`, ...heldOut, ...flags]);
  const { results, metrics } = evaluationSchema.parse(evaluated);
  const all = await readMetrics(await openStore(store), id);
  const steps = all.filter((one) => one.kind === 'step' || one.kind === 'supervised');
  const tokensOf = (step: RunMetrics): number => (step.kind === 'step' ? step.sampledTokens : 0);
  return {
    family,
    arm,
    equal,
    seed,
    commit,
    config: digestOf(key, { over }, factor),
    adapters: digests,
    results,
    before,
    after,
    updates: steps.length,
    tokens: steps.reduce((sum, step) => sum + tokensOf(step), 0),
    seconds: steps.reduce((sum, { seconds }) => sum + seconds, 0),
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, { value }]) => [name, value])),
  };
}
