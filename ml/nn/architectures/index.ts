// The families of models that can be loaded.
import type { Architecture } from './architecture.js';
import { llama } from './llama.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';

export const ARCHITECTURES: readonly Architecture[] = [qwen2, qwen3, llama];
