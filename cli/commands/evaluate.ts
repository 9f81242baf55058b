// `gauntlet evaluate`: all metrics of a checkpoint on held-out problems, with intervals, and compared with another one.
import type { Client } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { countAnswers } from '../../chains/sample/countAnswers.js';
import { type Comparison, compare, type Estimate, estimate } from '../../core/evaluation/bootstrap.js';
import { METRIC_NAMES, METRICS, type MetricName } from '../../core/evaluation/metrics.js';
import { type ProblemResult, problemResultSchema } from '../../core/schema/evaluation.js';
import { SPLITS, type Split } from '../../core/schema/problem.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { portableName } from '../../data/modelFolder.js';
import type { CountAnswersOutput } from '../../method/sample.js';
import { digestJson } from '../../store/canonicalJson.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { readRun, writeEvaluation } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import type {
  EvaluateCheckpointInput,
  EvaluateCheckpointResult,
  evaluateCheckpoint,
} from '../../workflows/evaluateCheckpoint.js';
import { samplesOf } from '../export/samples.js';
import { CHECKPOINT, type CheckpointId, chooseCheckpoint } from '../input/naming.js';
import { deviceOption, integer, jsonOption, number, OF_RUN, sandboxOption } from '../input/options.js';
import {
  noteProblems,
  noteSkipped,
  PROBLEM_SOURCE,
  type ReadingFlags,
  sourceWith,
  withReading,
} from '../input/problemSource.js';
import { notingActivities } from '../run/activityNotes.js';
import { noteUnused, type SessionFlags, withSession, withStore } from '../run/session.js';
import { counted, createOutput, type Output, percent, tableText } from '../terminal/output.js';
import { warningLine } from '../terminal/progress.js';
import { openResults } from '../terminal/resultLines.js';

interface Flags extends SessionFlags, ReadingFlags {
  against?: string;
  problems?: string;
  split?: Split;
  limit?: number;
  samples: number;
  temperature?: number;
  model?: string;
  out?: string;
}

interface Measured extends Omit<EvaluateCheckpointResult, 'metrics'>, CountAnswersOutput {
  name: string;
  metrics: Partial<Record<MetricName, Estimate>>;
  problemResults: ProblemResult[];
}

export function addEvaluate(program: Command): void {
  const command = program
    .command('evaluate')
    .description('measure a checkpoint on held-out problems, with intervals, and compare it with another one')
    .argument(...CHECKPOINT)
    .option('--against <checkpoint>', "compare with this checkpoint, or with 'base', the same model untrained")
    .option('--problems <problems>', `${PROBLEM_SOURCE}; or built-in problems (default: the run's)`)
    .addOption(
      new Option(
        '--split <split>',
        "split of the problems (default: test; all of a file that is not the run's)",
      ).choices(SPLITS),
    )
    .option('--limit <n>', 'measure this many problems, drawn at random (default: all)', integer(1))
    .option('-n, --samples <n>', 'programs per problem', integer(1), 5)
    .option('--temperature <t>', "sampling temperature (default: that of the run's evaluations)", number({ from: 0 }))
    .option('--model <folder>', 'base of the checkpoint, if it moved')
    .option('-o, --out <file>', 'also write the programs, as JSON lines {task_id, solution} that EvalPlus reads')
    .addOption(sandboxOption(OF_RUN))
    .addOption(deviceOption())
    .addOption(jsonOption());
  withStore(withReading(command)).action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const checkpoint = await exactCheckpoint(store, await chooseCheckpoint(store, named));
    const other = flags.against === undefined ? undefined : await chooseOther(store, checkpoint, flags.against);
    const shared = await inputOf(store, checkpoint, flags, output.note);
    const samples = flags.out === undefined ? undefined : await openResults(flags.out, '--out'); // fails before the work
    const [measured, reference] = await withSession(flags, output, 'if-none-poll', async (session) => {
      noteUnused(session, flags, output);
      const { client } = session;
      const { runId, name } = checkpoint;
      const context = { client, store, note: output.note };
      const own = await measure(context, `${runId}/${name}`, { ...shared, checkpoint });
      if (samples) {
        for (const sample of await samplesOf(store, own.artifacts)) await samples.write(sample);
        await samples.commit();
      }
      if (!other) return [own];
      const { untrained, ...id } = other;
      const title = untrained ? 'base' : `${id.runId}/${id.name}`;
      return [own, await measure(context, title, { ...shared, checkpoint: id, untrained })];
    }).finally(() => samples?.close());
    const comparisons = reference ? compareAll(reference.problemResults, measured!.problemResults) : undefined;
    const { name, problems, samples: programs, temperature, tokens, metrics, results, answers, warnings } = measured!;
    const against = reference && { checkpoint: reference.name, metrics: reference.metrics, comparisons };
    const figures = { problems, samples: programs, temperature, tokens, metrics, results, answers, warnings };
    output.result({ checkpoint: name, ...figures, against }, () => {
      const head = `${name}: ${counted(problems, 'problem')}, ${counted(programs, 'program')} each, temperature ${temperature}`;
      return `${head}\n${tableOf(measured!, reference, comparisons)}`;
    });
  });
}

/** Finds the checkpoint that `best` or `latest` names now. The run may go on, and the names may move. */
async function exactCheckpoint(store: Store, { runId, name }: CheckpointId): Promise<CheckpointId> {
  return { runId, name: (await loadCheckpoint(store, runId, name)).metadata.name };
}

/** 'base' is the model of the checkpoint, with the settings of its run. */
async function chooseOther(
  store: Store,
  checkpoint: CheckpointId,
  against: string,
): Promise<CheckpointId & { untrained?: boolean }> {
  if (against === 'base') return { ...checkpoint, untrained: true };
  return exactCheckpoint(store, await chooseCheckpoint(store, against));
}

async function inputOf(
  store: Store,
  { runId }: CheckpointId,
  { problems, split, limit, samples, temperature, model, ...reading }: Flags,
  note: Output['note'],
): Promise<EvaluateCheckpointInput & { source: string }> {
  const { config } = await readRun(store, runId);
  const source = await noteProblems(sourceWith(problems ?? config.problems, reading), note);
  return {
    ...heldOut(config.problems, source, split),
    // these are the same for the checkpoint that `--against` names
    gateOf: runId,
    samples,
    limit,
    temperature: temperature ?? config.evaluation.temperature,
    model: model && portableName(model),
  };
}

/** By default, the test split of the run's own problems, because it trained on the other splits. Workers have other defaults. */
export function heldOut(trainedOn: string, named = trainedOn, split?: Split): { source: string; split?: Split } {
  const source = sourceWith(named, {});
  const chosen = split ?? (source === sourceWith(trainedOn, {}) ? 'test' : undefined);
  return { source, split: chosen };
}

/**
 * Measures, and records the result in the run of the checkpoint. An evaluation that was interrupted goes on: the same input
 * has the same workflow id.
 */
async function measure(
  { client, store, note }: { client: Client; store: Store; note: Output['note'] },
  name: string,
  input: EvaluateCheckpointInput & { checkpoint: CheckpointId },
): Promise<Measured> {
  const id = digestJson(input).slice(-12);
  const workflowId = `evaluate-${id}`;
  const { runId } = input.checkpoint;
  note(`measuring ${name}`);
  const measured = client.workflow.execute<typeof evaluateCheckpoint>('evaluateCheckpoint', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [input],
  });
  const result = await notingActivities(measured, { client, id: workflowId, note, steps: true });
  const problemResults = problemResultSchema.array().parse(await store.getJson(result.results));
  const metrics = Object.fromEntries(
    METRIC_NAMES.flatMap((metric) => {
      const estimated = estimate(problemResults, METRICS[metric]);
      return estimated ? [[metric, estimated] as const] : [];
    }),
  );
  await noteSkipped(store, result.skipped, note);
  const { samples, temperature, tokens, results, artifacts } = result;
  const { chains, tests } = artifacts;
  const counted = await countAnswers({ store }, { run: artifacts, chains: [chains], tests: tests ? [tests] : [] });
  for (const { message } of counted.warnings ?? []) note(warningLine(`${name}: ${message}`));
  const checkpoint = input.untrained ? 'base' : input.checkpoint.name;
  const at = new Date().toISOString();
  const record = { checkpoint, at, samples, temperature, tokens, metrics, results, artifacts };
  await writeEvaluation(store, runId, id, record);
  return { ...result, ...counted, name, problemResults, metrics };
}

function compareAll(before: ProblemResult[], after: ProblemResult[]): Partial<Record<MetricName, Comparison>> {
  const compared = METRIC_NAMES.flatMap((metric) => {
    const comparison = compare(before, after, METRICS[metric]);
    return comparison ? [[metric, comparison] as const] : [];
  });
  return Object.fromEntries(compared);
}

const points = (value: number): string => `${value < 0 ? '−' : '+'}${(100 * Math.abs(value)).toFixed(1)}`;

function tableOf(
  measured: Measured,
  reference: Measured | undefined,
  comparisons: Partial<Record<MetricName, Comparison>> = {},
): string {
  const interval = ({ low, high }: Estimate): string => `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`;
  const head = ['metric', 'value', '95 % interval', ...(reference ? [reference.name, 'difference', 'p'] : [])];
  const rows = METRIC_NAMES.flatMap((metric) => {
    const own = measured.metrics[metric];
    if (!own) return [];
    const compared = comparisons[metric];
    const others = reference
      ? [
          percent(reference.metrics[metric]?.value),
          compared ? `${points(compared.value)} (${points(compared.low)} to ${points(compared.high)})` : '–',
          compared ? (compared.p < 0.001 ? '< 0.001' : compared.p.toFixed(3)) : '–',
        ]
      : [];
    return [[metric, percent(own.value), interval(own), ...others]];
  });
  return tableText(head, rows);
}
