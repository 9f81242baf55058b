// Prepares a run on the GPU of this machine: chooses the settings for its card, and prints how much memory the run needs.
import { join } from 'node:path';
import { CARDS, DEFAULT_GIGABYTES, type PresetName, resolveConfig } from '../../core/config/presets.js';
import { modelOf, type RunConfigInput } from '../../core/schema/config.js';
import { describeGpu, findGpu, type Gpu } from '../../ml/device/gpuMemory.js';
import { checkCard, describePlan, planCard, sumOf } from '../../ml/engine/cardPlan.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { readJson } from '../../ml/hf/tokenizer.js';
import { engineOptions } from '../../workers/deps/deps.js';
import { provideModel } from '../input/provideModel.js';

/** The nominal size of a card in GB: 24 for 24,564 MiB, and also for 23,028 MiB, because ECC takes up to 8 %. */
export function gigabytesOf({ bytes }: Gpu): number {
  const gib = bytes / 2 ** 30;
  const sizes = Object.values(CARDS).flatMap((card) => Object.keys(card).map(Number));
  return sizes.find((size) => size >= gib && size <= 1.08 * gib) ?? Math.round(gib);
}

/**
 * With device cuda, adds the size of this machine's card to the input, unless the input names one. Workers do not choose again,
 * so it does not matter which card computes a step.
 * @param find finds the card of this machine; tests replace it
 * @throws {GauntletError} BAD_CONFIG if the preset needs a larger card, OUT_OF_MEMORY if the models do not fit this one
 */
export async function forCard(
  input: RunConfigInput,
  note: (line: string) => void,
  find: () => Promise<Gpu | undefined> = findGpu,
): Promise<RunConfigInput> {
  const { preset = '', engine } = input;
  if (engine?.device !== 'cuda') return input;
  const gpu = await find();
  const chooses = CARDS[preset as PresetName] !== undefined && engine.gpuGigabytes === undefined;
  if (gpu === undefined) {
    if (chooses)
      note(`no card answers here: the settings are those for ${DEFAULT_GIGABYTES} GB, see engine.gpuGigabytes`);
    return input;
  }
  const chosen = chooses ? { ...input, engine: { ...engine, gpuGigabytes: gigabytesOf(gpu) } } : input;
  const config = resolveConfig(chosen);
  const models = [...new Set([modelOf(config, 'generator'), modelOf(config, 'discriminator')])];
  const use = { ...engineOptions(config.engine, {}), rank: config.lora.rank };
  const plans = await Promise.all(
    models.map(async (model) => {
      const path = join(await provideModel(model), 'config.json');
      return planCard(parseModelConfig(readJson(path), path), use);
    }),
  );
  const plan = sumOf(plans);
  note(`device: ${describeGpu(gpu)}; ${config.engine.precision ?? 'f32'}; ${describePlan(plan)} (computed)`);
  checkCard(models.join(' and '), plan, gpu.bytes);
  return chosen;
}
