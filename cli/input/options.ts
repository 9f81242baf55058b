// Options that several commands share, and functions that read option values.
import { isIPv4, isIPv6 } from 'node:net';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { PRESET_NAMES } from '../../core/config/presets.js';
import { DEVICES, QUANTIZATIONS, type RunConfig, SANDBOXES } from '../../core/schema/config.js';
import type { Device } from '../../ml/engine/engine.js';
import { isUrl } from '../run/onWaiting.js';
import { PROBLEM_SOURCE, type ReadingFlags, withReading } from './problemSource.js';

export function integer(least = 0, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `of at least ${least}`;
    throw new InvalidArgumentError(`It is not a whole number ${range}.`);
  };
}

/** 0: any free port. */
export const port = integer(0, 65535);

export function number({ above, from, to }: { above?: number; from?: number; to?: number }): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const inRange = value > (above ?? -Infinity) && value >= (from ?? -Infinity) && value <= (to ?? Infinity);
    if (text.trim() !== '' && Number.isFinite(value) && inRange) return value;
    const bounds = [
      ...(above === undefined ? [] : [`above ${above}`]),
      ...(from === undefined ? [] : [`of at least ${from}`]),
      ...(to === undefined ? [] : [`at most ${to}`]),
    ];
    throw new InvalidArgumentError(`It is not a number ${bounds.join(' and ')}.`);
  };
}

/** @param perLine what each JSON line describes; absent: the command prints one JSON value */
export const jsonOption = (perLine?: string): Option =>
  new Option('--json', perLine === undefined ? 'print one line of JSON' : `print JSON lines, one per ${perLine}`);

export const watchOption = (): Option =>
  new Option('-w, --watch', 'follow the run to its end; serve it from this process if no worker does');

/** The default of --sandbox and --device in commands for runs that exist. */
export const OF_RUN = "the run's";

/** The default of --sandbox in commands without a model. */
export const ANY_SANDBOX = 'docker; wasm if Docker is missing';

export const sandboxOption = (byDefault = 'docker; wasm for shipped models if Docker is missing'): Option =>
  new Option('--sandbox <kind>', `sandbox for generated code (default: ${byDefault})`).choices(SANDBOXES);

export const deviceOption = (byDefault = 'cpu'): Option =>
  new Option('--device <device>', `device for models; auto: cuda if it works, else cpu (default: ${byDefault})`)
    .choices(DEVICES)
    .env('GAUNTLET_DEVICE');

const metricsOption = (): Option =>
  new Option('--metrics <address>', 'serve metrics for Prometheus at HOST:PORT; HOST defaults to 127.0.0.1').argParser(
    bindAddress,
  );

const onWaitingOption = (): Option =>
  new Option('--on-waiting <hook>', 'URL or shell command to call when a run waits for a decision or fails').argParser(
    (hook: string) => {
      if (hook.trim() !== '' && (!isUrl(hook) || URL.canParse(hook))) return hook;
      throw new InvalidArgumentError('It is neither a URL nor a command.');
    },
  );

/** HOST is an IP address, because the server of the metrics resolves no names. */
function bindAddress(text: string): string {
  const [, named = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const host = named === 'localhost' ? '127.0.0.1' : named;
  const isAddress = isIPv4(host) || isIPv6(/^\[(.*)\]$/.exec(host)?.[1] ?? '');
  if (isAddress && Number(port) > 0 && Number(port) < 65536) return `${host}:${Number(port)}`;
  throw new InvalidArgumentError('It is not PORT or HOST:PORT with an IP address, e.g. 9464 or 0.0.0.0:9464.');
}

/** The options of commands that run workers until Ctrl-C. */
export const withServing = (command: Command): Command =>
  command
    .addOption(sandboxOption(OF_RUN))
    .addOption(deviceOption(OF_RUN))
    .addOption(metricsOption())
    .addOption(onWaitingOption())
    .addOption(jsonOption());

const repeatable = (flags: string, description: string): Option =>
  new Option(flags, `${description}; repeatable`)
    .argParser((value: string, previous: string[]) => [...previous, value])
    .default([], 'none');

export const setOption = (): Option =>
  repeatable('-s, --set <field=value>', 'set one configuration field, e.g. ppo.learningRate=0.0005');

export const templateArgumentOption = (): Option =>
  repeatable('--template-argument <name=value>', 'set one argument of the chat template, e.g. enable_thinking=false');

export type Quantization = (typeof QUANTIZATIONS)[number];

export const quantizeOption = (byDefault: string): Option =>
  new Option('--quantize <kind>', `bits of the model's weights (default: ${byDefault})`).choices(QUANTIZATIONS);

/** Answers an option of older versions with the name that it has now. */
export const renamedOption = (flags: string, now: string): Option =>
  new Option(flags)
    .argParser((value: string) => {
      throw new GauntletError('BAD_INPUT', `${flags.split(' ')[0]} was renamed: write ${now} ${value}`);
    })
    .hideHelp();

export interface FieldFlags {
  preset?: string;
  quantize?: Quantization;
  templateArgument?: string[];
  seed?: number;
  model?: string;
  problems?: string;
  sandbox?: RunConfig['sandbox'];
  device?: Device;
  set: string[];
}

export interface ConfigFlags extends FieldFlags, ReadingFlags {
  config?: string;
}

export function withConfig(command: Command): Command {
  return withReading(command)
    .option('-p, --preset <name>', `one of ${PRESET_NAMES.join(', ')}, custom (default: tiny)`)
    .option('-c, --config <file>', 'JSON file of configuration fields (default: gauntlet.config.json if it exists)')
    .option('--seed <n>', 'random seed', integer())
    .option('--model <model>', 'model: a folder in Hugging Face layout, or an id of the Hugging Face hub')
    .addOption(quantizeOption("the preset's"))
    .addOption(templateArgumentOption())
    .option('--problems <problems>', `${PROBLEM_SOURCE}; or built-in problems: tiny, nested, steps, steps:3, steps:1-2`)
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .addOption(setOption());
}
