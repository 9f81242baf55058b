import { describeModel, type ModelFiles, readWeights, type Weights } from '../../ml/hf/model.js';

/** A model and its weights. @throws {GauntletError} BAD_MODEL */
export function loadModel(folder: string): ModelFiles & { weights: Weights } {
  const model = describeModel(folder);
  return { ...model, weights: readWeights(model.stored) };
}
