// `gauntlet evaluate`: the metrics of a checkpoint or a model on problems, with intervals, and compared with another one.
import type { Client } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { countAnswers } from '../../chains/sample/countAnswers.js';
import { GauntletError } from '../../core/base/errors.js';
import { visible } from '../../core/base/visible.js';
import { type Comparison, compare, type Estimate, estimate } from '../../core/evaluation/bootstrap.js';
import { METRIC_NAMES, METRICS, type MetricName } from '../../core/evaluation/metrics.js';
import type { Stage } from '../../core/schema/chain.js';
import { type ProblemResult, problemResultSchema } from '../../core/schema/evaluation.js';
import { SPLITS, type Split } from '../../core/schema/problem.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import type { CountAnswersOutput } from '../../method/sample.js';
import { digestJson } from '../../store/canonicalJson.js';
import { openStore } from '../../store/openStore.js';
import { readRun, writeEvaluation } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import type {
  EvaluateCheckpointInput,
  EvaluateCheckpointResult,
  evaluateCheckpoint,
} from '../../workflows/evaluateCheckpoint.js';
import { samplesOf } from '../export/samples.js';
import { type ChosenModel, chooseModel, type ModelFlags, withModel } from '../input/modelOptions.js';
import { integer, jsonOption, number } from '../input/options.js';
import {
  noteProblems,
  noteSkipped,
  PROBLEM_SOURCE,
  type ReadingFlags,
  sourceWith,
  withReading,
} from '../input/problemSource.js';
import { stagesOption } from '../input/stages.js';
import { notingActivities } from '../run/activityNotes.js';
import { noteUnused, type SessionFlags, withSession, withStore } from '../run/session.js';
import { counted, createOutput, interval, type Output, percent, tableText } from '../terminal/output.js';
import { warningLine } from '../terminal/progress.js';
import { openResults } from '../terminal/resultLines.js';

interface Flags extends SessionFlags, ModelFlags, ReadingFlags {
  against?: string;
  problems?: string;
  split?: Split;
  limit?: number;
  samples?: number;
  temperature?: number;
  stages?: Stage[];
  prompt?: 'evalplus';
  tests?: boolean;
  out?: string;
}

const NAMED = 10; // unsolved problems
const PART = 64; // programs that are sampled in one activity

interface Measured extends Omit<EvaluateCheckpointResult, 'metrics'>, Omit<CountAnswersOutput, 'problems'> {
  name: string;
  metrics: Partial<Record<MetricName, Estimate>>;
  problemResults: ProblemResult[];
}

export function addEvaluate(program: Command): void {
  const command = program
    .command('evaluate')
    .description('measure a checkpoint or a model on problems, with intervals, and compare it with another one')
    .option('--against <model>', "compare with this checkpoint or model; 'base': the same model untrained")
    .option('--problems <problems>', `${PROBLEM_SOURCE}; or built-in problems (default: the run's)`)
    .addOption(
      new Option(
        '--split <split>',
        "split of the problems (default: test; all of a file that is not the run's)",
      ).choices(SPLITS),
    )
    .option('--limit <n>', 'measure this many problems, drawn at random (default: all)', integer(1))
    .option('-n, --samples <n>', 'programs per problem (default: 5; 1 at temperature 0)', integer(1))
    .option(
      '--temperature <t>',
      "sampling temperature; 0 is greedy (default: that of the run's evaluations)",
      number({ from: 0 }),
    )
    .addOption(stagesOption("those of the checkpoint's run; 5 of a public model"))
    .addOption(
      new Option(
        '--prompt <style>',
        'ask as EvalPlus does for its published scores, which are greedy: use it with --temperature 0',
      ).choices(['evalplus']),
    )
    .option('--tests', 'measure the tests of a model, too, which takes several times as long')
    .option('--no-tests', 'measure programs only; the default of a model without a checkpoint')
    .option('-o, --out <file>', 'also write the programs, as JSON lines {task_id, solution} that EvalPlus reads')
    .addOption(jsonOption());
  withStore(withReading(withModel(command))).action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const chosen = await chooseModel(store, named, flags);
    const other = flags.against === undefined ? undefined : await chooseOther(store, chosen, flags, flags.against);
    const shared = await inputOf(store, [chosen, ...(other ? [other] : [])], flags, output.note);
    const samples = flags.out === undefined ? undefined : await openResults(flags.out, '--out'); // fails before the work
    const [measured, reference] = await withSession(flags, output, 'if-none-poll', async (session) => {
      noteUnused(session, flags, output);
      if (!session.workers) output.note('a worker that runs already does the work; its runs share its time');
      const { client } = session;
      const context = { client, store, note: output.note };
      const own = await measure(context, chosen.name, { ...shared, ...chosen.input });
      if (samples) {
        for (const sample of await samplesOf(store, own.artifacts)) await samples.write(sample);
        await samples.commit();
      }
      return other ? [own, await measure(context, other.name, { ...shared, ...other.input })] : [own];
    }).finally(() => samples?.close());
    const comparisons = reference ? compareAll(reference.problemResults, measured!.problemResults) : undefined;
    const { name, problems, samples: programs, temperature, tokens, metrics, results, answers, warnings } = measured!;
    const against = reference && { checkpoint: reference.name, metrics: reference.metrics, comparisons };
    const failed = measured!.problemResults.filter(({ solved }) => solved === 0).map(({ id }) => id);
    const figures = { problems, samples: programs, temperature, tokens, metrics, results, answers, warnings, failed };
    output.result({ checkpoint: name, ...figures, against }, () => {
      const { quantize, prompt } = flags;
      const how = [`temperature ${temperature}`, quantize, prompt && 'prompts of EvalPlus'].filter(Boolean).join(', ');
      const head = `${name}: ${counted(problems, 'problem')}, ${counted(programs, 'program')} each, ${how}`;
      const cut = answers?.generator?.cutRate
        ? `\n${percent(answers.generator.cutRate)} of the answers were cut off by the limit of tokens`
        : '';
      return `${head}\n${tableOf(measured!, reference, comparisons)}${cut}${namesOf(failed)}`;
    });
  });
}

/** 'base' is the model of the checkpoint, with the settings of its run. */
async function chooseOther(
  store: Store,
  { input, name }: ChosenModel,
  flags: Flags,
  against: string,
): Promise<ChosenModel> {
  if (against !== 'base') {
    const other = await chooseModel(store, undefined, { ...flags, model: against, quantize: undefined });
    // a checkpoint keeps its weights, and the same model is compared with itself as it is
    if (flags.quantize && !other.input.checkpoint && other.input.model !== input.model)
      other.input.quantization = flags.quantize;
    return other;
  }
  if (input.checkpoint) return { input: { ...input, untrained: true }, name: 'base' };
  throw new GauntletError('BAD_INPUT', `--against base: ${name} is not trained; name a checkpoint or another model`);
}

async function inputOf(
  store: Store,
  chosen: readonly ChosenModel[],
  { problems, split, limit, samples, temperature, stages, prompt, tests, ...reading }: Flags,
  note: Output['note'],
): Promise<EvaluateCheckpointInput & { source: string }> {
  const runId = chosen.find(({ input }) => input.checkpoint)?.input.checkpoint?.runId;
  const config = runId === undefined ? undefined : (await readRun(store, runId)).config;
  const named = problems ?? config?.problems;
  if (named === undefined)
    throw new GauntletError('BAD_INPUT', `--problems: name the problems that ${chosen[0]!.name} is measured on`);
  if (prompt && stages && stages.length > 1)
    throw new GauntletError('BAD_INPUT', '--prompt evalplus asks for code only: leave --stages out');
  const source = await noteProblems(sourceWith(named, reading), note);
  return {
    ...heldOut(config?.problems, source, split),
    gateOf: runId, // the same problems for the model that `--against` names
    samples: samples ?? (temperature === 0 ? 1 : 5),
    limit,
    part: PART,
    temperature: temperature ?? config?.evaluation.temperature,
    ...(stages && { stages }),
    ...(prompt && { prompts: prompt, stages: [5] }),
    ...(!(tests ?? runId !== undefined) && { tests: false }),
  };
}

/** By default, the test split of the run's own problems, because it trained on the other splits. Workers have other defaults. */
export function heldOut(
  trainedOn: string | undefined,
  named: string,
  split?: Split,
): { source: string; split?: Split } {
  const source = sourceWith(named, {});
  const isOwn = trainedOn !== undefined && source === sourceWith(trainedOn, {});
  const chosen = split ?? (isOwn ? 'test' : undefined);
  return { source, split: chosen };
}

/**
 * Measures, and records the result in the run of the checkpoint, if there is one. An evaluation that was interrupted goes on:
 * the same input has the same workflow id.
 */
async function measure(
  { client, store, note }: { client: Client; store: Store; note: Output['note'] },
  name: string,
  input: EvaluateCheckpointInput,
): Promise<Measured> {
  const id = digestJson(input).slice(-12);
  const workflowId = `evaluate-${id}`;
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
    METRIC_NAMES.filter((metric) => input.tests !== false || !metric.startsWith('best')).flatMap((metric) => {
      const estimated = estimate(problemResults, METRICS[metric], metric !== 'best-of-n lift');
      return estimated ? [[metric, estimated] as const] : [];
    }),
  );
  await noteSkipped(store, result.skipped, note);
  const { samples, temperature, tokens, results, artifacts } = result;
  const { chains, tests } = artifacts;
  const counted = await countAnswers({ store }, { run: artifacts, chains: [chains], tests: tests ? [tests] : [] });
  for (const { message } of counted.warnings ?? []) note(warningLine(`${name}: ${message}`));
  if (input.checkpoint) {
    const checkpoint = input.untrained ? 'base' : input.checkpoint.name;
    const at = new Date().toISOString();
    const record = { checkpoint, at, samples, temperature, tokens, metrics, results, artifacts };
    await writeEvaluation(store, input.checkpoint.runId, id, record);
  }
  return { ...counted, ...result, name, problemResults, metrics };
}

function compareAll(before: ProblemResult[], after: ProblemResult[]): Partial<Record<MetricName, Comparison>> {
  const compared = METRIC_NAMES.flatMap((metric) => {
    const comparison = compare(before, after, METRICS[metric]);
    return comparison ? [[metric, comparison] as const] : [];
  });
  return Object.fromEntries(compared);
}

/** The first of the problems that no program solves. */
function namesOf(failed: readonly string[]): string {
  if (failed.length === 0) return '';
  const more = failed.length > NAMED ? ` and ${failed.length - NAMED} more (--json names all)` : '';
  return `\nsolved by no program: ${failed.slice(0, NAMED).map(visible).join(', ')}${more}`;
}

const points = (value: number): string => `${value < 0 ? '−' : '+'}${(100 * Math.abs(value)).toFixed(1)}`;

function tableOf(
  measured: Measured,
  reference: Measured | undefined,
  comparisons: Partial<Record<MetricName, Comparison>> = {},
): string {
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
  const caution =
    'p is the noise over problems. One run each says nothing about other seeds: see gauntlet compare --help';
  return reference ? `${tableText(head, rows)}\n${caution}` : tableText(head, rows);
}
