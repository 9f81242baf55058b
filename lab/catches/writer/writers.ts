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
import { tinyConfig, tinyModelFiles } from '../../families/tiny/modelFiles.js';
import type { TrainingRow } from '../../makeTiny/batches.js';
import { initialWeights } from '../../makeTiny/initialWeights.js';
import { programExample } from '../generator/lesson.js';
import type { FrozenProblem } from '../programs.js';
import { school } from './base.js';
import { exampleOf, keyholeVocabulary, type Lesson } from './corpus.js';
import { reinforce } from './reinforce.js';
import { type Written, writeInputs } from './sample.js';

export const WRITERS = ['untrained', 'blind', 'trained', 'reinforced'] as const;
export type WriterName = (typeof WRITERS)[number];

interface Course {
  lesson: Lesson | 'program';
  tokens: number;
  learningRate: number; // peak
  batch: number; // sequences
}

type ModelName = Exclude<WriterName, 'reinforced'> | 'generator';

/** Supervised, with all parameters. */
const COURSES: Record<ModelName, Course> = {
  untrained: { lesson: 'untrained', tokens: 3_000_000, learningRate: 4e-3, batch: 24 },
  blind: { lesson: 'taught-blind', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  trained: { lesson: 'taught', tokens: 2_500_000, learningRate: 2e-3, batch: 8 },
  generator: { lesson: 'program', tokens: 1_500_000, learningRate: 2e-3, batch: 8 },
};
const BASE_SEED = 0; // all models start from one base
const UPDATES = 60; // of reinforcement

const folderOf = (store: string, name: WriterName | ModelName, seed: number): string => join(store, `${name}-${seed}`);
const isBlind = (name: WriterName): boolean => name === 'blind';

type Say = (line: string) => void;

/** The folder of a supervised model; trains it if it does not exist. */
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
  const { lesson, tokens, learningRate, batch } = COURSES[name];
  const phase = { name: lesson, tokens, learningRate, discriminatorShare: 1 };
  const row = (index: number): TrainingRow =>
    lesson === 'program' ? programExample(vocabulary, own, index) : exampleOf(vocabulary, lesson, own, index);
  const schooled = await school({ config, weights }, { row, seed: own, phase, batch }, say);
  const files = new Map<string, string | Uint8Array>(tinyModelFiles(vocabulary));
  await writeFolder(folder, files.set('model.safetensors', writeSafetensors(schooled.weights)));
  return folder;
}

async function weightsIn(folder: string): Promise<ReadonlyMap<string, TensorData>> {
  return parseSafetensors(await readFile(join(folder, 'model.safetensors')), folder);
}

/** The writer's engine, with the adapter of its reinforcement. */
async function openWriter(
  store: string,
  name: WriterName,
  seed: number,
  say: Say,
): Promise<{ engine: Engine; adapter?: Adapter }> {
  const engine = await openEngine(await provideModel(store, name === 'reinforced' ? 'untrained' : name, seed, say));
  if (name !== 'reinforced') return { engine };
  const folder = folderOf(store, name, seed);
  if (existsSync(folder)) {
    const names = await readdir(folder);
    const files = await Promise.all(names.map(async (file) => [file, await readFile(join(folder, file))] as const));
    return { engine, adapter: engine.importAdapter(new Map(files)) };
  }
  const adapter = await reinforce(engine, { reward: 'near', seed, updates: UPDATES, isBlind: false }, say);
  await writeFolder(folder, engine.exportAdapter(adapter));
  return { engine, adapter };
}

const TURNS = 4; // of four inputs for each program

/** What a writer writes for all programs of a split. Kept, because a hybrid needs it too. */
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
  const { engine, ...weights } = await openWriter(store, name, seed, say);
  try {
    const written = await writeInputs(engine, problems, { isBlind: isBlind(name), turns, seed, ...weights });
    await writeFile(file, JSON.stringify(written));
    return written;
  } finally {
    await engine.close();
  }
}
