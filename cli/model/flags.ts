// Options that the `gauntlet model` commands share, and the engine options they stand for.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { CUDA_ACTIVATION_MEGABYTES } from '../../core/schema/config.js';
import type { Device, EngineOptions } from '../../ml/engine/engine.js';
import { deviceOption, integer, jsonOption } from '../options.js';

export interface EngineFlags {
  model: string;
  device?: Device;
  quantize?: 'int4' | 'int8';
  groupSize?: number;
  threads?: number;
  checkpointing?: boolean;
  force?: boolean;
}

const GROUP_SIZE = 32; // weights of a projection that share a scale

export const modelOption = (): Option =>
  new Option('-m, --model <folder>', 'base model: a folder, or an id of the Hugging Face hub').makeOptionMandatory();

export const inputOption = (flags = '-i, --input <file>'): Option =>
  new Option(flags, 'JSON lines; - for standard input').makeOptionMandatory();

/** The file is written completely or not at all. */
export const outputOption = (): Option =>
  new Option('-o, --output <file>', 'file for the JSON lines (default: standard output)');

export const checkpointingOption = (): Option =>
  new Option('--checkpointing', 'recompute layers in the backward pass: less memory, more time');

export function withQuantization(command: Command): Command {
  return command
    .addOption(new Option('--quantize <kind>', 'quantize the projection weights').choices(['int4', 'int8']))
    .option('--group-size <n>', 'weights per scale, a power of two (default: 32)', groupSize);
}

export function withEngine(command: Command): Command {
  return withQuantization(command.addOption(modelOption()).addOption(deviceOption()))
    .option('--threads <n>', 'model threads (default: GAUNTLET_THREADS or one per core)', integer(1))
    .option('--force', 'start even if less memory is free than needed');
}

export function withRows(command: Command): Command {
  return command
    .option('--adapter <folder>', "adapter in PEFT's format")
    .addOption(inputOption())
    .addOption(outputOption())
    .addOption(jsonOption('row'));
}

function groupSize(text: string): number {
  const size = integer(16)(text);
  if (Number.isInteger(Math.log2(size))) return size;
  throw new InvalidArgumentError('It is not a power of two.');
}

/** @throws {GauntletError} BAD_INPUT */
export function engineOptions(flags: Omit<EngineFlags, 'model'>): EngineOptions {
  const { device, quantize, threads, checkpointing, force } = flags;
  if (flags.groupSize !== undefined && quantize === undefined)
    throw new GauntletError('BAD_INPUT', '--group-size needs --quantize');
  return {
    device,
    ...(quantize && { quantization: { bits: quantize === 'int4' ? 4 : 8, groupSize: flags.groupSize ?? GROUP_SIZE } }),
    ...(threads && { cores: threads }),
    checkpointing,
    ...(device === 'cuda' && { activationBytes: CUDA_ACTIVATION_MEGABYTES * 2 ** 20 }),
    force,
  };
}
