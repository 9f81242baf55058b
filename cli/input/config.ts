// The configuration of a new run: a file, then flags, then --set. It is checked before anything starts.
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { decodeText, NotText } from '../../core/base/encoding.js';
import { GauntletError } from '../../core/base/errors.js';
import { isTooDeep, overflowOf } from '../../core/base/nesting.js';
import { merged } from '../../core/config/objects.js';
import { resolveConfig } from '../../core/config/presets.js';
import { checkPrompts } from '../../core/prompts/prompts.js';
import type { RunConfig, RunConfigInput, TemplateArguments } from '../../core/schema/config.js';
import { LEAST_MEMORY_MB } from '../../core/schema/execution.js';
import { portableName } from '../../data/modelFolder.js';
import { absoluteSource } from '../../data/source.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { loadChatFormat } from '../../ml/hf/chat.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { loadTokenizer, readJson } from '../../ml/hf/tokenizer.js';
import { checkSandbox } from '../../workers/deps/openSandbox.js';
import { rolloutTarget } from '../../workers/deps/rolloutTarget.js';
import { note } from '../terminal/output.js';
import type { ConfigFlags, FieldFlags } from './options.js';
import { noteProblems, type ReadingFlags, sourceWith } from './problemSource.js';
import { provideModel } from './provideModel.js';

const MAX_CONFIG = 1_000_000; // bytes; a Temporal server refuses inputs of 2 MB
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Read from the working directory if --config is not given. */
export const CONFIG_FILE = 'gauntlet.config.json';

/**
 * The input of a run, with absolute paths.
 * @throws GauntletError BAD_CONFIG | BAD_INPUT | BAD_MODEL, one line naming the field or file
 */
export async function readConfig(flags: ConfigFlags): Promise<RunConfigInput> {
  const fromFile = await readConfigFile(flags.config);
  const input = merged(fromFile, fieldsOf(flags)) as RunConfigInput;
  const { problems = 'tiny' } = input;
  return checkInput({ ...input, ...(isReading(flags) && { problems: sourceWith(problems, flags) }) });
}

const isReading = ({ format, map, references }: ReadingFlags): boolean =>
  [format, map, references].some((value) => value !== undefined);

/** The fields that the flags of a command set; --set overrides the others. */
export function fieldsOf(flags: FieldFlags): Record<string, unknown> {
  const { preset, seed, model, problems, sandbox, device, quantize, templateArgument = [], set } = flags;
  const engine = (device || quantize) && merged({}, { device, quantization: quantize });
  const templateArguments =
    templateArgument.length > 0 ? parseAssignments(templateArgument, '--template-argument ') : undefined;
  const fields = { preset, seed, model, problems, sandbox, engine, templateArguments };
  return [fields, parseAssignments(set)].reduce(merged, {});
}

/** The input with absolute paths, after a check of its problem file and its models. @throws what readConfig throws */
export async function checkInput(given: RunConfigInput): Promise<RunConfigInput> {
  const input = withPaths(given);
  const config = resolveConfig(input);
  const largest = Object.entries(config).reduce((a, b) => (sizeOf(b[1]) > sizeOf(a[1]) ? b : a));
  if (sizeOf(config) > MAX_CONFIG)
    throw new GauntletError('BAD_CONFIG', `${largest[0]}: the configuration has more than ${MAX_CONFIG} bytes`);
  await checkPrograms(config);
  const training = { model: config.model, needsReferences: config.reference !== 'none' };
  const problems = await noteProblems(config.problems, note, training); // before a model is downloaded
  await checkModel(config.model, config.templateArguments, config.prompts);
  const { model } = config.discriminator;
  if (model !== null) await checkModel(model, config.templateArguments, config.prompts);
  return input.problems === undefined ? input : { ...input, problems };
}

/**
 * Stops before anything starts if no program could run. The workers of an embedded server are on this machine.
 * @throws GauntletError BAD_CONFIG | SANDBOX_UNAVAILABLE
 */
export async function checkPrograms({ sandbox, containers, limits }: RunConfig): Promise<void> {
  if (limits.memoryMb < LEAST_MEMORY_MB)
    throw new GauntletError(
      'BAD_CONFIG',
      `limits.memoryMb: must be at least ${LEAST_MEMORY_MB}, because Python itself takes up to 30 MB`,
    );
  if (temporalTarget(process.env) === undefined) await checkSandbox(sandbox, containers);
}

/**
 * For a process whose own workers do the work: stops before anything starts if they would refuse to sample for the run.
 * @throws GauntletError BAD_CONFIG naming the variable to set
 */
export function checkRollouts(input: RunConfigInput, store: string): void {
  const { rollouts } = resolveConfig(input);
  if (rollouts !== undefined) rolloutTarget(rollouts, store, process.env);
}

/** The same fields with absolute paths, since the worker may run in another folder. They need not be valid. */
export function withPaths(input: RunConfigInput): RunConfigInput {
  const { model, problems, discriminator } = input;
  const other = discriminator?.model;
  return {
    ...input,
    ...(typeof model === 'string' && { model: portableName(model) }),
    ...(typeof problems === 'string' && { problems: absoluteSource(problems) }),
    ...(typeof other === 'string' && { discriminator: { ...discriminator, model: portableName(other) } }),
  };
}

async function readConfigFile(path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined && !existsSync(CONFIG_FILE)) return {};
  if (path === undefined) note(`configuration from ${CONFIG_FILE}`);
  const json = await readJsonFile(path ?? CONFIG_FILE);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new GauntletError('BAD_CONFIG', `${path ?? CONFIG_FILE}: must hold an object of fields`);
  }
  const { $schema: _, ...fields } = json as Record<string, unknown>; // only editors need $schema
  return fields;
}

/**
 * Downloads a model of the hub that is not here, and reads what text needs of it: config, tokenizer and chat template, no
 * weights.
 * @param prompts of a run, which must suit the model
 * @throws GauntletError BAD_MODEL | BAD_CONFIG
 */
export async function checkModel(
  model: string,
  templateArguments?: TemplateArguments,
  prompts?: RunConfig['prompts'],
): Promise<void> {
  const folder = await provideModel(model);
  const path = join(folder, 'config.json');
  const json = readJson(path);
  parseModelConfig(json, path);
  const tokenizer = loadTokenizer(folder);
  if (prompts) checkPrompts(prompts, model, tokenizer);
  const chat = loadChatFormat(folder, tokenizer, templateArguments);
  chat.openingTokens([
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'task' },
  ]);
}

/** `--template-argument name=value`, as the field templateArguments. @throws GauntletError BAD_CONFIG */
export const readTemplateArguments = (assignments: string[]): TemplateArguments =>
  resolveConfig({ templateArguments: parseAssignments(assignments, '--template-argument ') }).templateArguments;

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
    out = merged(out, path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>);
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

const MAX_BYTES = 1 << 26;

/** @param path a file, a pipe, or - for standard input. @throws GauntletError BAD_INPUT naming the file */
export async function readTextFile(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // one byte more than allowed: a device like /dev/zero never ends
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path, { end: MAX_BYTES })) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_BYTES) break;
    }
    if (bytes <= MAX_BYTES) return decodeText(Buffer.concat(chunks));
  } catch (error) {
    const reason =
      error instanceof NotText ? error.message : `cannot be read (${(error as NodeJS.ErrnoException).code})`;
    throw new GauntletError('BAD_INPUT', `${path === '-' ? 'standard input' : path}: ${reason}`);
  }
  throw new GauntletError('BAD_INPUT', `${path}: has more than ${MAX_BYTES} bytes`);
}

/** @throws GauntletError BAD_INPUT naming the file */
async function readJsonFile(path: string): Promise<unknown> {
  const text = await readTextFile(path);
  if (text.trim() === '') throw new GauntletError('BAD_INPUT', `${path}: is empty`);
  const overflow = overflowOf(text);
  if (overflow !== undefined) throw new GauntletError('BAD_INPUT', `${path}: ${overflow}`);
  try {
    const json: unknown = JSON.parse(text);
    if (isTooDeep(json)) throw new SyntaxError('nested too deep');
    return json;
  } catch (error) {
    throw new GauntletError('BAD_INPUT', `${path}: not JSON: ${(error as Error).message.replace(/\s+/g, ' ')}`);
  }
}
