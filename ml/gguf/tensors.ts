// The parameters of a model in a GGUF file.
import { GauntletError } from '../../core/base/errors.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import type { ModelConfig } from '../hf/config.js';
import { elements, parameterLayout } from '../nn/layout.js';
import { BLOCKS } from './blocks.js';
import { GgufFile } from './file.js';
import { ggufName, isTurned, ROPE_FACTORS } from './names.js';

/** @throws {GauntletError} BAD_MODEL naming the tensor that is missing, unknown or of another shape */
export function checkTensors(file: GgufFile, c: ModelConfig): void {
  const left = new Set(file.tensors.keys());
  left.delete(ROPE_FACTORS);
  for (const { name, shape } of parameterLayout(c)) {
    const own = ggufName(name);
    const found = file.tensors.get(own);
    if (found?.shape.join() !== shape.join())
      throw new GauntletError(
        'BAD_MODEL',
        `${file.path}: ${found ? `tensor ${own} has shape [${found.shape}]` : `no tensor ${own}`}, [${shape}] is needed`,
      );
    left.delete(own);
  }
  if (left.size > 0)
    throw new GauntletError('BAD_MODEL', `${file.path}: tensor ${[...left][0]} belongs to no ${c.architecture}`);
}

/** Every parameter of parameterLayout, by name. @throws {GauntletError} BAD_MODEL naming the tensor */
export function tensorsOf(path: string, c: ModelConfig): Map<string, StoredParameter> {
  const file = new GgufFile(path);
  try {
    checkTensors(file, c);
    return new Map(
      parameterLayout(c).map(({ name }) => {
        if (isTurned(c, name)) {
          const way = `npx gauntlet model import ${path} --out FOLDER`;
          throw new GauntletError('BAD_MODEL', `${path}: llama.cpp turns the rows of ${name}: turn them with ${way}`);
        }
        const { type, shape, begin } = file.tensors.get(ggufName(name))!;
        const [weights, bytes] = BLOCKS[type];
        return [name, { path, dtype: type, shape, offset: begin, length: (elements(shape) / weights) * bytes }];
      }),
    );
  } finally {
    file.close();
  }
}
