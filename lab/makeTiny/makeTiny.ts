// Trains a shipped base model from random weights, measures it, and writes it in Hugging Face layout.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { checkTarget, writeFolder } from '../../cli/export/folder.js';
import { duration, type Output, percent } from '../../cli/terminal/output.js';
import type { SandboxKind } from '../../core/schema/config.js';
import type { EvaluationRates } from '../../core/schema/run.js';
import { shippedModelPath } from '../../data/paths.js';
import { loadProblems } from '../../data/problems.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { writeSafetensors } from '../../ml/hf/safetensors.js';
import { openStore } from '../../store/openStore.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { CORPORA, type FamilyName } from '../families/index.js';
import { tinyConfig, tinyModelFiles } from '../families/tiny/modelFiles.js';
import { vocabularyOf } from '../families/tiny/vocabulary.js';
import { type BaseRates, type CardFacts, modelCard } from './card.js';
import { initialWeights } from './initialWeights.js';
import { recipeOf, totalTokens } from './recipe.js';
import { type TrainingProgress, trainTiny } from './train.js';

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
  const corpus = CORPORA[family]();
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
    const activities = createActivities({
      store: await openStore(join(parent, 'store')),
      engine: async () => engine,
      sandbox: async () => sandbox,
      loadProblems: (source) => loadProblems(source),
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
      const found = (await activities.judgeEvaluation({ run, samples, target })).rates as Required<EvaluationRates>;
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
