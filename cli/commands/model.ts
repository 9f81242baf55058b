// `gauntlet model …`: the engine without the pipeline, for custom training loops.
import type { Command } from 'commander';
import { addGenerate } from './model/generate.js';
import { addImport } from './model/import.js';
import { addInitAdapter } from './model/initAdapter.js';
import { addInspect } from './model/inspect.js';
import { addLogprobs } from './model/logprobs.js';
import { addUpdate } from './model/update.js';

export function addModel(program: Command): void {
  const group = program.command('model').description('sample, score and train with a model, JSON lines in and out');
  for (const add of [addInspect, addImport, addInitAdapter, addLogprobs, addGenerate, addUpdate]) add(group);
}
