// `gauntlet model …`: the engine without the pipeline, for people who bring their own loop.
import type { Command } from 'commander';
import { addGenerate } from './model/generate.js';
import { addInitAdapter } from './model/initAdapter.js';
import { addInspect } from './model/inspect.js';
import { addLogprobs } from './model/logprobs.js';
import { addUpdate } from './model/update.js';

export function addModel(program: Command): void {
  const group = program.command('model').description('use a model without the pipeline: JSON lines in and out');
  for (const add of [addInspect, addInitAdapter, addLogprobs, addGenerate, addUpdate]) add(group);
}
