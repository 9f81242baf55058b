// The configuration a command line asks for: a file, then flags, then --set, checked here before anything is started.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { GauntletError } from '../core/errors.js';
import { isTooDeep } from '../core/nesting.js';
import { PRESET_NAMES, resolveConfig } from '../core/presets.js';
import type { RunConfig, RunConfigInput } from '../core/schema/config.js';
import { tinyModelPath } from '../data/paths.js';
import { loadProblems } from '../data/problems.js';
import { DEVICES, type Device } from '../ml/engine/engine.js';
import { loadChatFormat } from '../ml/hf/chat.js';
import { parseModelConfig, readEosTokens } from '../ml/hf/config.js';
import { loadTokenizer, readJson } from '../ml/hf/tokenizer.js';

export interface ConfigFlags {
  preset?: string;
  config?: string;
  seed?: number;
  model?: string;
  problems?: string;
  sandbox?: RunConfig['sandbox'];
  device?: Device;
  set: string[];
}

const collect = (value: string, previous: string[]): string[] => [...previous, value];

/** Reads an option's value. */
export function integer(name: string, least = 0): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new GauntletError('BAD_INPUT', `${name}: '${text}' is not a whole number from ${least} on`);
  };
}

/** Reads an option's value: 0 is greedy. */
export function temperature(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new GauntletError('BAD_INPUT', `--temperature: '${text}' is not a number from 0 on`);
}

export const sandboxOption = (): Option =>
  new Option('--sandbox <kind>', 'where generated code runs').choices(['auto', 'docker', 'wasm']);

export const deviceOption = (): Option =>
  new Option('--device <device>', 'what models compute on; auto: the best that is installed and starts, else cpu')
    .choices(DEVICES)
    .env('GAUNTLET_DEVICE');

export const setOption = (): Option =>
  new Option('--set <field=value>', 'one configuration field, e.g. ppo.learningRate=0.0005; repeatable')
    .argParser(collect)
    .default([], 'none');

export function withConfig(command: Command): Command {
  return command
    .option('--preset <name>', `one of ${PRESET_NAMES.join(', ')}`)
    .option('--config <file>', 'JSON file of configuration fields, over the preset')
    .option('--seed <n>', 'seed of every random draw', integer('--seed'))
    .option('--model <folder>', 'model in Hugging Face layout')
    .option('--problems <file>', 'problems, JSON or JSONL')
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .addOption(setOption());
}

/**
 * What is to be run, with files by their full paths: the worker may stand in another folder.
 * @throws GauntletError BAD_CONFIG | BAD_INPUT | BAD_MODEL, one line naming the field or file
 */
export async function readConfig(flags: ConfigFlags): Promise<RunConfigInput> {
  const fromFile = flags.config === undefined ? {} : await readJsonFile(flags.config);
  if (typeof fromFile !== 'object' || fromFile === null || Array.isArray(fromFile)) {
    throw new GauntletError('BAD_CONFIG', `${flags.config}: must hold an object of fields`);
  }
  const direct: Record<string, unknown> = {};
  for (const key of ['preset', 'seed', 'model', 'problems', 'sandbox'] as const) {
    if (flags[key] !== undefined) direct[key] = flags[key];
  }
  if (flags.device !== undefined) direct.engine = { device: flags.device };
  const input = mergeFields(mergeFields(fromFile, direct), parseAssignments(flags.set)) as RunConfigInput;
  const { model, problems, discriminator } = resolveConfig(input);
  if (model !== 'tiny') input.model = resolve(model);
  if (problems !== 'tiny') input.problems = resolve(problems);
  checkModel(input.model ?? model);
  if (discriminator.model !== null) {
    const other = discriminator.model === 'tiny' ? 'tiny' : resolve(discriminator.model);
    checkModel(other);
    input.discriminator = { ...input.discriminator, model: other };
  }
  await loadProblems(input.problems ?? problems);
  return input;
}

/** What text needs of a model, without its weights. @throws GauntletError BAD_MODEL */
export function checkModel(model: string): void {
  const folder = model === 'tiny' ? tinyModelPath() : model;
  if (!existsSync(folder)) throw new GauntletError('BAD_MODEL', `${model}: no such folder; name one with --model`);
  const path = join(folder, 'config.json');
  const json = readJson(path);
  parseModelConfig(json, path);
  const chat = loadChatFormat(folder, loadTokenizer(folder), readEosTokens(folder, json));
  chat.openingTokens([
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'task' },
  ]);
}

/** `--set a.b=1 --set c=x` as nested fields; values are JSON where they parse as JSON, else text. */
export function parseAssignments(assignments: string[], flag = '--set '): Record<string, unknown> {
  let out: Record<string, unknown> = {};
  for (const assignment of assignments) {
    const at = assignment.indexOf('=');
    const path = assignment.slice(0, Math.max(0, at)).split('.');
    if (path.some((part) => part === '')) {
      throw new GauntletError('BAD_CONFIG', `${flag}${assignment}: write field=value, e.g. ppo.learningRate=0.001`);
    }
    const value = parseScalar(assignment.slice(at + 1));
    out = mergeFields(
      out,
      path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>,
    );
  }
  return out;
}

function parseScalar(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `over` wins field by field, so that `--set` changes one field of an object that a file gave. */
function mergeFields(ground: object, over: Record<string, unknown>): Record<string, unknown> {
  const out = { ...ground } as Record<string, unknown>;
  for (const [key, value] of Object.entries(over)) {
    const below = out[key];
    out[key] = isFields(below) && isFields(value) ? mergeFields(below, value) : value;
  }
  return out;
}

/** @throws GauntletError BAD_INPUT naming the file */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new GauntletError('BAD_INPUT', `${path}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    const json: unknown = JSON.parse(text);
    if (isTooDeep(json)) throw new SyntaxError('nested too deep');
    return json;
  } catch (error) {
    throw new GauntletError('BAD_INPUT', `${path}: not JSON: ${(error as Error).message.replace(/\s+/g, ' ')}`);
  }
}
