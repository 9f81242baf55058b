// Flags that the `gauntlet model` commands share, and the engine they ask for.
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/errors.js';
import type { Device, EngineOptions } from '../../ml/engine/engine.js';
import { deviceOption, integer } from '../config.js';

export interface EngineFlags {
  model: string;
  device?: Device;
  quantize?: 'int4' | 'int8';
  groupSize?: number;
  threads?: number;
  checkpointing?: boolean;
  force?: boolean;
}

const GROUP_SIZE = 32; // inputs of a projection that share a scale

export const modelOption = (): Option =>
  new Option('--model <folder>', 'base model in Hugging Face layout').makeOptionMandatory();

/** How the base is kept in memory. */
export function withQuantization(command: Command): Command {
  return command
    .addOption(
      new Option('--quantize <kind>', 'keep the projections of the base in few bits').choices(['int4', 'int8']),
    )
    .option('--group-size <n>', 'weights that share a scale, a power of two (default: 32)', groupSize);
}

export function withEngine(command: Command): Command {
  return withQuantization(command.addOption(modelOption()).addOption(deviceOption()))
    .option('--threads <n>', 'model threads (default: GAUNTLET_THREADS or one a core)', integer('--threads', 1))
    .option('--force', 'go on where less memory is free than will be needed');
}

/** Rows in, rows out. */
export function withRows(command: Command): Command {
  return command
    .option('--adapter <folder>', "adapter in PEFT's format")
    .requiredOption('--input <file>', 'JSON lines, - for standard input')
    .option('--output <file>', 'where results go, whole or not at all (default: standard output)')
    .addOption(jsonOption());
}

export const jsonOption = (): Option => new Option('--json', 'results are JSON lines in any case');

function groupSize(text: string): number {
  const size = integer('--group-size', 16)(text);
  if (Number.isInteger(Math.log2(size))) return size;
  throw new GauntletError('BAD_INPUT', `--group-size: ${size} is not a power of two`);
}

/** @throws {GauntletError} BAD_INPUT */
export function engineOptions(flags: Omit<EngineFlags, 'model'>): EngineOptions {
  const { device, quantize, threads, checkpointing, force } = flags;
  if (flags.groupSize !== undefined && quantize === undefined)
    throw new GauntletError('BAD_INPUT', '--group-size goes with --quantize');
  return {
    ...(device && { device }),
    ...(quantize && { quantization: { bits: quantize === 'int4' ? 4 : 8, groupSize: flags.groupSize ?? GROUP_SIZE } }),
    ...(threads && { cores: threads }),
    ...(checkpointing && { checkpointing }),
    ...(force && { force }),
  };
}

/** Reads an option's value. */
export function number(name: string, { above, from, to }: { above?: number; from?: number; to?: number }) {
  return (text: string): number => {
    const value = Number(text);
    const good = text.trim() !== '' && Number.isFinite(value);
    if (good && !(value <= (above ?? -Infinity)) && !(value < (from ?? -Infinity)) && !(value > (to ?? Infinity)))
      return value;
    const bounds = [
      above !== undefined && `above ${above}`,
      from !== undefined && `from ${from} on`,
      to !== undefined && `at most ${to}`,
    ];
    throw new GauntletError('BAD_INPUT', `${name}: '${text}' is not a number ${bounds.filter(Boolean).join(' and ')}`);
  };
}
