// The configuration a command line asks for: a file, then flags, then --set, checked here before anything is started.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { Option } from 'commander';
import { GauntletError } from '../core/errors.js';
import { PRESET_NAMES, resolveConfig } from '../core/presets.js';
import type { RunConfigInput } from '../core/schema/config.js';
import { parseAssignments } from './training.js';

export interface ConfigFlags {
  preset?: string;
  config?: string;
  seed?: number;
  model?: string;
  problems?: string;
  sandbox?: 'auto' | 'docker' | 'wasm';
  set: string[];
}

const collect = (value: string, previous: string[]): string[] => [...previous, value];

export function integer(name: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new GauntletError('BAD_INPUT', `${name}: '${text}' is not a whole number from 0 on`);
    }
    return value;
  };
}

export function withConfig(command: Command): Command {
  return command
    .option('--preset <name>', `one of ${PRESET_NAMES.join(', ')}`)
    .option('--config <file>', 'JSON file of configuration fields, over the preset')
    .option('--seed <n>', 'seed of every random draw', integer('--seed'))
    .option('--model <folder>', 'model in Hugging Face layout')
    .option('--problems <file>', 'problems, JSON or JSONL')
    .addOption(new Option('--sandbox <kind>', 'where generated code runs').choices(['auto', 'docker', 'wasm']))
    .option('--set <field=value>', 'one configuration field, e.g. ppo.learningRate=0.0005; repeatable', collect, []);
}

/** @throws GauntletError BAD_CONFIG | BAD_INPUT, one line naming the field or file */
export async function readConfig(flags: ConfigFlags): Promise<RunConfigInput> {
  const fromFile = flags.config === undefined ? {} : await readJsonFile(flags.config);
  const direct: Record<string, unknown> = {};
  for (const key of ['preset', 'seed', 'model', 'problems', 'sandbox'] as const) {
    if (flags[key] !== undefined) direct[key] = flags[key];
  }
  const input = { ...(fromFile as object), ...direct, ...parseAssignments(flags.set) } as RunConfigInput;
  resolveConfig(input);
  return input;
}

/** @throws GauntletError BAD_INPUT naming the file */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new GauntletError(
      'BAD_INPUT',
      `${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GauntletError('BAD_INPUT', `${path}: not JSON: ${(error as Error).message}`);
  }
}
