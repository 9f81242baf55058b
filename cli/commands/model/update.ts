// `gauntlet model update`: one AdamW step on the clipped surrogate or the cross entropy, over a batch of rows.
import { type Command, Option } from 'commander';
import { GauntletError } from '../../../core/errors.js';
import { parseAs } from '../../../core/issues.js';
import { deriveKey } from '../../../core/random.js';
import {
  supervisedRowSchema,
  type UpdateConfig,
  updateConfigSchema,
  updateRowSchema,
} from '../../../core/schema/modelRows.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import type { AdamWConfig, LossConfig } from '../../../ml/engine/engine.js';
import { type RowLimits, trajectoryFault } from '../../../ml/engine/validation.js';
import { readJsonFile } from '../../config.js';
import { checkAdapterTarget, readOptimizer, writeAdapterFolder } from '../../model/adapterFolder.js';
import { checkpointingOption, type EngineFlags, inputOption, withEngine } from '../../model/flags.js';
import { openRows } from '../../model/jsonLines.js';
import { withModel } from '../../model/open.js';
import { jsonOption } from '../../options.js';
import { createOutput } from '../../output.js';

const LOSSES = ['ppo', 'sft'] as const;
type Loss = (typeof LOSSES)[number];

type Flags = EngineFlags & {
  adapter: string;
  batch: string;
  config: string;
  loss: Loss;
  out: string;
  overwrite?: boolean;
};

export function addUpdate(group: Command): void {
  const command = group
    .command('update')
    .description(
      'one AdamW step: rows {"tokens", "mask", "oldLogprobs", "advantages"} → a new adapter, and {"loss", "gradNorm", "approxKl", "clipFraction", …}',
    );
  withEngine(command)
    .requiredOption('--adapter <folder>', 'adapter in PEFT format; continues with its optimizer state, if it has one')
    .addOption(inputOption('-b, --batch <file>'))
    .requiredOption(
      '-c, --config <file>',
      'JSON file: learningRate, weightDecay, clip, maxGradNorm, betas, eps and more',
    )
    .addOption(
      new Option('--loss <name>', 'ppo: clipped surrogate; sft: cross entropy of rows {"tokens", "mask"}')
        .choices(LOSSES)
        .default('ppo'),
    )
    .requiredOption('-o, --out <folder>', 'folder for the new adapter and its optimizer state')
    .option('--overwrite', 'replace an existing adapter')
    .addOption(checkpointingOption())
    .addOption(jsonOption())
    .action(async (flags: Flags) => {
      checkAdapterTarget(flags.out, flags.overwrite);
      const config = await readUpdateConfig(flags.config);
      await withModel(flags, async ({ engine, adapter, signal }) => {
        const state = await readOptimizer(engine, adapter!, flags.adapter);
        if (config.valueCoefficient > 0 && !adapter!.valueHead) {
          throw new GauntletError('BAD_ADAPTER', `${flags.adapter}: no value head, which valueCoefficient needs`);
        }
        const rows = await readBatch(flags.batch, READERS[flags.loss](config), engine.info);
        const objective = { ...lossOf(config, state.step), supervised: flags.loss === 'sft' };
        const sums = await engine.gradients(rows, { adapter: adapter!, loss: objective, signal });
        const next = await engine.applyUpdate(adapter!, state, sums, adamwOf(config));
        await writeAdapterFolder(engine, flags.out, next.adapter, next.state);
        const { loss, gradNorm, approxKl, clipFraction, ...further } = next.stats;
        const result = { loss, gradNorm, approxKl, clipFraction, ...further, step: next.state.step };
        createOutput(true).result(result, () => '');
      });
    });
}

/** @throws {GauntletError} BAD_CONFIG naming the field */
async function readUpdateConfig(path: string): Promise<UpdateConfig> {
  const value = await readJsonFile(path);
  try {
    return parseAs(updateConfigSchema, value, 'BAD_CONFIG');
  } catch (error) {
    if (error instanceof GauntletError) throw new GauntletError(error.code, `${path}: ${error.message}`);
    throw error;
  }
}

/** Reads a row. @throws {GauntletError} BAD_INPUT */
type RowReader = (value: unknown) => Trajectory;

const READERS: Record<Loss, (config: UpdateConfig) => RowReader> = {
  ppo: (config) => (value) => {
    const row: Trajectory = { ...parseAs(updateRowSchema, value), advantage: 0 };
    const fault = missing(row, config);
    if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
    return row;
  },
  sft: () => (value) => {
    const { tokens, mask } = parseAs(supervisedRowSchema, value);
    return { tokens, mask, oldLogprobs: tokens.map(() => 0), advantage: 1 };
  },
};

/** Rows of one step. @throws {GauntletError} BAD_INPUT naming the line, or that nothing is trained */
async function readBatch(path: string, read: RowReader, limits: RowLimits): Promise<Trajectory[]> {
  const rows = await openRows(path, (value) => {
    const row = read(value);
    const fault = trajectoryFault(row, limits);
    if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
    return row;
  });
  try {
    const batch: Trajectory[] = [];
    for await (const part of rows.batches()) batch.push(...part);
    if (batch.some(({ mask }) => mask.includes(1))) return batch;
    throw new GauntletError('BAD_INPUT', `${path}: mask is 0 everywhere, so there is nothing to train on`);
  } finally {
    await rows.close();
  }
}

/** What the configuration makes use of and the row lacks. */
function missing(row: Trajectory, { klCoefficient, valueCoefficient, valueClip }: UpdateConfig): string | undefined {
  if (klCoefficient > 0 && !row.referenceLogprobs) return 'referenceLogprobs: missing, klCoefficient needs them';
  if (valueCoefficient > 0 && !row.returns) return 'returns: missing, valueCoefficient needs them';
  if (valueCoefficient > 0 && valueClip !== undefined && !row.oldValues)
    return 'oldValues: missing, valueClip needs them';
  return undefined;
}

function lossOf(config: UpdateConfig, step: number): LossConfig {
  const { clip, clipHigh, temperature, average, entropyBonus, klCoefficient, valueCoefficient, valueClip } = config;
  return {
    clip,
    temperature,
    average,
    clipHigh,
    entropyBonus,
    klCoefficient,
    valueCoefficient,
    valueClip,
    dropout: { rate: config.dropout, key: deriveKey(config.seed, 'dropout', step) },
  };
}

const adamwOf = ({ learningRate, betas, eps, weightDecay, maxGradNorm }: UpdateConfig): AdamWConfig => ({
  learningRate,
  betas,
  eps,
  weightDecay,
  maxGradNorm: maxGradNorm ?? Number.POSITIVE_INFINITY,
});
