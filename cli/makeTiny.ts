// `gauntlet make-tiny`: trains a shipped base model from random weights and writes it in Hugging Face layout.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { SandboxKind } from '../core/schema/config.js';
import type { EvaluationRates } from '../core/schema/run.js';
import { FAMILIES, FAMILY_NAMES, type FamilyName } from '../data/families.js';
import { shippedModelPath } from '../data/paths.js';
import { tinyConfig, tinyModelFiles } from '../data/tiny/modelFiles.js';
import { vocabularyOf } from '../data/tiny/vocabulary.js';
import { openEngine } from '../ml/engine/ortEngine.js';
import { parseModelConfig } from '../ml/hf/config.js';
import { writeSafetensors } from '../ml/hf/safetensors.js';
import { openStore } from '../store/openStore.js';
import { openSandbox } from '../workers/openSandbox.js';
import { checkTarget, writeFolder } from './export/folder.js';
import { integer, jsonOption, sandboxOption } from './input/options.js';
import { createOutput, duration, type Output, percent } from './terminal/output.js';
import { type BaseRates, type CardFacts, modelCard } from './tiny/card.js';
import { initialWeights } from './tiny/initialWeights.js';
import { recipeOf, totalTokens } from './tiny/recipe.js';
import { type TrainingProgress, trainTiny } from './tiny/train.js';

export interface MakeTinyOptions {
  family: FamilyName;
  seed: number;
  tokens?: number | undefined; // in all; the phases of the recipe are shortened or lengthened alike
  out?: string | undefined;
  evaluate: boolean;
  sandbox: SandboxKind;
}

export interface MakeTinyResult {
  folder: string;
  seed: number;
  tokens: number;
  seconds: number;
  loss: number;
  digest: string; // sha256 of model.safetensors
  rates: CardFacts['rates'] | null;
}

const TEMPERATURE = 0.8;
const REPORT_STEPS = 20;

/** Trains and measures, then replaces `out`. @throws GauntletError BAD_INPUT */
export async function makeTiny(options: MakeTinyOptions, output: Output): Promise<MakeTinyResult> {
  const { family, seed, out = shippedModelPath(family) } = options;
  checkTarget(out, { marker: 'config.json', kind: 'model folder', replace: true });
  const whole = totalTokens(recipeOf(family, seed));
  const recipe = recipeOf(family, seed, (options.tokens ?? whole) / whole);
  const corpus = FAMILIES[family].corpus();
  const vocabulary = vocabularyOf(corpus);
  const config = parseModelConfig({ ...tinyConfig(vocabulary) }, 'config.json');
  const problems = corpus.filter((problem) => problem.split === 'train');
  const weights = initialWeights(config, seed);
  const onStep = (progress: TrainingProgress): void => {
    if (progress.step % REPORT_STEPS === 0) output.note(progressLine(progress, totalTokens(recipe)));
  };
  const trained = await trainTiny({ config, weights, problems, vocabulary }, recipe, { onStep });
  const { weights: final, ...training } = trained;
  const bytes = writeSafetensors(final);
  const digest = createHash('sha256').update(bytes).digest('hex');
  const files = new Map<string, string | Uint8Array>([...tinyModelFiles(vocabulary), ['model.safetensors', bytes]]);
  const rates = options.evaluate ? await measure(files, family, options.sandbox, output) : undefined;
  const parameters = [...final.values()].reduce((sum, { data }) => sum + data.length, 0);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;
  const facts = { family, recipe, parameters, vocabulary: vocabulary.tokens.length, training, digest, machine };
  files.set('README.md', modelCard({ ...facts, temperature: TEMPERATURE, rates }));
  await writeFolder(out, files);
  const { tokens, seconds, loss } = training;
  return { folder: out, seed, tokens, seconds, loss, digest, rates: rates ?? null };
}

/** Measures the weights on the held-out splits of the family, as a run measures its base, in a temporary folder. */
export async function measure(
  files: ReadonlyMap<string, string | Uint8Array>,
  family: FamilyName,
  kind: MakeTinyOptions['sandbox'],
  output: Output,
): Promise<Record<'validation' | 'test', BaseRates>> {
  const parent = await mkdtemp(join(tmpdir(), 'gauntlet-tiny-'));
  const opened: { close(): Promise<void> }[] = [];
  try {
    const model = join(parent, 'model');
    await writeFolder(model, files);
    const engine = await openEngine(model);
    opened.push(engine);
    const sandbox = await openSandbox(kind, { log: (line) => output.note(line) });
    opened.push(sandbox);
    const { createActivities } = await import('../activities/index.js'); // loading it takes a moment
    const activities = createActivities({
      store: await openStore(join(parent, 'store')),
      engine: async () => engine,
      sandbox: async () => sandbox,
      loadProblems: async () => FAMILIES[family].load(),
      codeVersion: '',
    });
    const rates = async (split: 'validation' | 'test'): Promise<BaseRates> => {
      const { run, stages, problems } = await activities.prepareSolving({
        source: family,
        split,
        preset: family,
        model,
      });
      const samples = await activities.generateEvaluation({ run, split: 'test', problems, stages, greedy: true });
      const target = { split: 'test', step: 0, checkpoint: 'base' } as const;
      const found = (await activities.judgeEvaluation({ run, samples, target })).rates as EvaluationRates;
      output.note(`${split}: ${percent(found.passRate)} pass, ${percent(found.greedyPassRate)} greedy`);
      return { ...found, problems };
    };
    return { validation: await rates('validation'), test: await rates('test') };
  } finally {
    for (const each of opened) await each.close();
    await rm(parent, { recursive: true, force: true });
  }
}

function progressLine(progress: TrainingProgress, total: number): string {
  const { phase, step, tokens, loss, seconds } = progress;
  const left = (seconds * Math.max(0, total - tokens)) / tokens;
  const speed = Math.round(tokens / seconds);
  return `${phase} · step ${step} · ${percent(tokens / total)} · loss ${loss.toFixed(3)} · ${speed} tokens/s · ${duration(left)} left`;
}

export function addMakeTiny(program: Command): void {
  const tokens = (text: string): number => integer(1000)(text.replaceAll('_', ''));
  program
    .command('make-tiny')
    .description('train a shipped base model from random weights and write it in Hugging Face layout')
    .addOption(new Option('--family <name>', 'problem family of the model').choices(FAMILY_NAMES).default('tiny'))
    .option('--seed <n>', 'random seed of the weights, the corpus and its order', integer(), 0)
    .option(
      '--tokens <n>',
      'tokens to train on (default: those of the recipe); fewer give a weaker model sooner',
      tokens,
    )
    .option('-o, --out <folder>', 'folder for the model (default: the shipped one)')
    .option('--no-evaluate', 'leave pass rates out of the model card')
    .addOption(sandboxOption())
    .addOption(jsonOption())
    .action(async ({ sandbox = 'auto', json, ...flags }: MakeTinyFlags) => {
      const output = createOutput(json);
      const result = await makeTiny({ ...flags, sandbox }, output);
      output.result(
        result,
        () => `${result.folder}: ${result.tokens} tokens in ${duration(result.seconds)}, sha256 ${result.digest}`,
      );
    });
}

type MakeTinyFlags = Omit<MakeTinyOptions, 'sandbox'> & Partial<Pick<MakeTinyOptions, 'sandbox'>> & { json?: boolean };
