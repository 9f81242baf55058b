// The writers with a model, and the generator that they test: how each is trained, where it is kept, and what a writer writes.
import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFolder } from '../../../cli/export/folder.js';
import type { Split } from '../../../core/schema/problem.js';
import type { Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { writeAtomically } from '../../../ml/hf/files.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import { programExample } from '../generator/lesson.js';
import type { FrozenProblem } from '../programs.js';
import { school } from './base.js';
import { exampleOf, keyholeVocabulary, type Lesson } from './corpus.js';
import { type Expert, lessonsOf, rowsOf, writeCases } from './expert.js';
import { initialWeights } from './initialWeights.js';
import { tinyConfig, tinyModelFiles } from './modelFiles.js';
import { type Written, writeInputs } from './sample.js';
import type { TinyVocabulary, TrainingRow } from './tokenizer.js';

/** The last three see one special case at a time: the untrained writer, and what expert iteration makes of it. */
export const WRITERS = ['untrained', 'blind', 'trained', 'cases', 'expert', 'expert-placebo'] as const;
export type WriterName = (typeof WRITERS)[number];

interface Course {
  lesson: Lesson | 'program';
  tokens: number;
  learningRate: number; // the peak
  batch: number; // in sequences
}

type ModelName = Exclude<WriterName, 'cases' | Expert> | 'generator';

/** Settings of supervised training with all parameters. */
const COURSES = {
  untrained: { lesson: 'untrained', tokens: 3_000_000, learningRate: 4e-3, batch: 24 },
  blind: { lesson: 'taught-blind', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  trained: { lesson: 'taught', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  generator: { lesson: 'program', tokens: 1_500_000, learningRate: 2e-3, batch: 8 },
} as const satisfies Record<ModelName, Course>;
const EXPERT = { tokens: 1_200_000, learningRate: 2e-3, batch: 8 };
const BASE_SEED = 0; // all models start from the same base

type Say = (line: string) => void;

/** The folder of a supervised model. Trains the model if the folder does not exist. */
export async function provideModel(store: string, name: ModelName, seed: number, say: Say): Promise<string> {
  const own = name === 'untrained' ? BASE_SEED : seed;
  const folder = join(store, `${name}-${own}`);
  if (existsSync(join(folder, 'model.safetensors'))) return folder;
  const vocabulary = keyholeVocabulary();
  const config = parseModelConfig({ ...tinyConfig(vocabulary) }, 'config.json');
  const weights =
    name === 'untrained'
      ? initialWeights(config, own)
      : await weightsIn(await provideModel(store, 'untrained', 0, say));
  const { lesson, ...course } = COURSES[name];
  const row = (index: number): TrainingRow =>
    lesson === 'program' ? programExample(vocabulary, own, index) : exampleOf(vocabulary, lesson, own, index);
  const schooled = await school({ config, weights }, { ...course, name: lesson, row, seed: own }, say);
  return save(folder, vocabulary, schooled.weights);
}

async function save(folder: string, vocabulary: TinyVocabulary, weights: ReadonlyMap<string, TensorData>) {
  const files = new Map<string, string | Uint8Array>(tinyModelFiles(vocabulary));
  await writeFolder(folder, files.set('model.safetensors', writeSafetensors(weights)));
  return folder;
}

/** The folder of a writer that is trained on the inputs of the untrained one. */
async function provideExpert(store: string, arm: Expert, seed: number, say: Say): Promise<string> {
  const folder = join(store, `${arm}-${seed}`);
  if (existsSync(join(folder, 'model.safetensors'))) return folder;
  const start = await provideModel(store, 'untrained', 0, say);
  const lessons = await withEngine(start, (engine) => lessonsOf(engine, store, seed, say));
  const vocabulary = keyholeVocabulary();
  const row = rowsOf(vocabulary, lessons, arm, seed);
  const config = parseModelConfig({ ...tinyConfig(vocabulary) }, 'config.json');
  const schooled = await school({ config, weights: await weightsIn(start) }, { ...EXPERT, name: arm, row, seed }, say);
  return save(folder, vocabulary, schooled.weights);
}

async function withEngine<T>(folder: string, use: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine(folder);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

async function weightsIn(folder: string): Promise<ReadonlyMap<string, TensorData>> {
  return parseSafetensors(await readFile(join(folder, 'model.safetensors')), folder);
}

const TURNS = 4; // the number of turns per program; each has four inputs

/** The inputs that a writer writes for all programs of a split. Kept in a file, because a hybrid also needs them. */
export async function writtenBy(
  store: string,
  name: WriterName,
  seed: number,
  split: Split,
  problems: readonly FrozenProblem[],
  say: Say,
  turns = TURNS,
): Promise<Written> {
  const file = join(store, `inputs-${name}-${seed}-${split}-${problems.length}-${problems[0]!.id}.json`);
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as Written;
  const isExpert = name === 'expert' || name === 'expert-placebo';
  const folder = isExpert
    ? await provideExpert(store, name, seed, say)
    : await provideModel(store, name === 'cases' ? 'untrained' : name, seed, say);
  const written = await withEngine(folder, (engine) =>
    isExpert || name === 'cases'
      ? writeCases(engine, problems, seed)
      : writeInputs(engine, problems, { isBlind: name === 'blind', turns, seed }),
  );
  writeAtomically(file, (fd) => writeFileSync(fd, JSON.stringify(written)));
  return written;
}
