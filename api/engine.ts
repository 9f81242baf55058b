// The entry `gauntlet/engine` of the package: sampling, scoring and training of one model, without Temporal and sandbox.
import { modelFolder } from '../data/modelFolder.js';
import type { Adapter, Engine, EngineOptions } from '../ml/engine/engine.js';
import { openEngine as openFolder } from '../ml/engine/ortEngine.js';
import { MergedModel, mergedFolder } from '../ml/hf/mergedModel.js';
import { describeModel } from '../ml/hf/model.js';

export type { PolicyStats, Trajectory } from '../core/schema/trajectory.js';
export type {
  AdamWConfig,
  Adapter,
  Chat,
  Device,
  Engine,
  EngineOptions,
  GenerateCounts,
  Generated,
  GenerateOptions,
  GenerateRequest,
  GradientSums,
  LossConfig,
  ModelInfo,
  OptimizerState,
} from '../ml/engine/engine.js';
export { readAdapterFolder } from '../ml/hf/peft.js';

/**
 * Opens a model: 'tiny' or 'nested' (shipped), a folder in Hugging Face layout, or an id of the Hugging Face hub, which is
 * downloaded on first use. Its worker threads keep the process alive until `close`.
 * @throws GauntletError BAD_MODEL | HUB_FAULT | OUT_OF_MEMORY | DEVICE_UNAVAILABLE
 */
export async function openEngine(model: string, options: EngineOptions = {}): Promise<Engine> {
  return openFolder(await modelFolder(model), options);
}

/** The files of the engine's model, with the adapter added to its unquantized weights: path in a model folder, and content. */
export const mergeAdapter = ({ info }: Engine, adapter: Adapter): ReturnType<typeof mergedFolder> =>
  mergedFolder(new MergedModel(describeModel(info.path), adapter));
