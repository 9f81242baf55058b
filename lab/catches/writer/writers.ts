// The writers with a model, and the generator that they test: how each is trained, where it is kept, and what a writer writes.
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFolder } from '../../../cli/export/folder.js';
import type { Split } from '../../../core/schema/problem.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import { LabError } from '../../flags.js';
import { programExample } from '../generator/lesson.js';
import type { FrozenProblem } from '../programs.js';
import { school } from './base.js';
import { exampleOf, keyholeVocabulary, type Lesson } from './corpus.js';
import { initialWeights } from './initialWeights.js';
import { tinyConfig, tinyModelFiles } from './modelFiles.js';
import { chatPrompt, teachPublic } from './publicModel.js';
import { type Writing, type Written, writeInputs } from './sample.js';
import type { TrainingRow } from './tokenizer.js';

export const WRITERS = ['untrained', 'blind', 'trained', 'public'] as const;
export type WriterName = (typeof WRITERS)[number];

interface Course {
  lesson: Lesson | 'program';
  tokens: number;
  learningRate: number; // the peak
  batch: number; // in sequences
}

type ModelName = Exclude<WriterName, 'public'> | 'generator';

/** Settings of supervised training with all parameters. */
const COURSES: Record<ModelName, Course> = {
  untrained: { lesson: 'untrained', tokens: 3_000_000, learningRate: 4e-3, batch: 24 },
  blind: { lesson: 'taught-blind', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  trained: { lesson: 'taught', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  generator: { lesson: 'program', tokens: 1_500_000, learningRate: 2e-3, batch: 8 },
};
const BASE_SEED = 0; // all models start from the same base

const folderOf = (store: string, name: WriterName | ModelName, seed: number): string => join(store, `${name}-${seed}`);
const isBlind = (name: WriterName): boolean => name === 'blind' || name === 'public';

type Say = (line: string) => void;

/** The folder of a supervised model. Trains the model if the folder does not exist. */
export async function provideModel(store: string, name: ModelName, seed: number, say: Say): Promise<string> {
  const own = name === 'untrained' ? BASE_SEED : seed;
  const folder = folderOf(store, name, own);
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
  const files = new Map<string, string | Uint8Array>(tinyModelFiles(vocabulary));
  await writeFolder(folder, files.set('model.safetensors', writeSafetensors(schooled.weights)));
  return folder;
}

async function weightsIn(folder: string): Promise<ReadonlyMap<string, TensorData>> {
  return parseSafetensors(await readFile(join(folder, 'model.safetensors')), folder);
}

/** The writer's engine with its taught adapter, and the form of its prompts. */
async function openWriter(
  { store, model }: Place,
  name: WriterName,
  seed: number,
  say: Say,
): Promise<{ engine: Engine } & Pick<Writing, 'adapter' | 'prompt'>> {
  if (name === 'public') {
    if (model === undefined)
      throw new LabError('--model is missing: name the folder of the model that the writer public learns from', 2);
    const engine = await openEngine(model);
    const adapter = await provideAdapter(folderOf(store, name, seed), engine, () => teachPublic(engine, seed, say));
    return { engine, adapter, prompt: (description) => chatPrompt(engine, description) };
  }
  return { engine: await openEngine(await provideModel(store, name, seed, say)) };
}

/** The folder of an adapter. Trains the adapter if the folder does not exist. */
async function provideAdapter(folder: string, engine: Engine, make: () => Promise<Adapter>): Promise<Adapter> {
  if (existsSync(folder)) {
    const names = await readdir(folder);
    const files = await Promise.all(names.map(async (file) => [file, await readFile(join(folder, file))] as const));
    return engine.importAdapter(new Map(files));
  }
  const adapter = await make();
  await writeFolder(folder, engine.exportAdapter(adapter));
  return adapter;
}

const TURNS = 4; // the number of turns per program; each has four inputs

export interface Place {
  store: string;
  model?: string; // the folder of the public model
}

/**
 * The inputs that a writer writes for all programs of a split. Kept in a file, because a hybrid also needs them. A public model
 * writes only once per problem, because it is slow and sees no program.
 */
export async function writtenBy(
  place: Place,
  name: WriterName,
  seed: number,
  split: Split,
  problems: readonly FrozenProblem[],
  say: Say,
  turns = TURNS,
): Promise<Written> {
  const file = join(place.store, `inputs-${name}-${seed}-${split}-${problems.length}-${problems[0]!.id}.json`);
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as Written;
  const { engine, ...weights } = await openWriter(place, name, seed, say);
  const asked = name === 'public' ? problems.map((one) => ({ ...one, wrong: one.wrong.slice(0, 1) })) : problems;
  try {
    const written = await writeInputs(engine, asked, { isBlind: isBlind(name), turns, seed, ...weights });
    for (const { wrong } of problems)
      for (const { id } of wrong) written.inputs[id] ??= written.inputs[wrong[0]!.id] ?? [];
    await writeFile(file, JSON.stringify(written));
    return written;
  } finally {
    await engine.close();
  }
}
