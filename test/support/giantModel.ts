// A model folder with half a trillion parameters that takes a few kilobytes of disk: the weight file has a real header
// and a sparse body. For tests of errors that occur before any weight is read.
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseModelConfig } from '../../ml/hf/config.js';
import { parameterLayout } from '../../ml/nn/layout.js';

const CONFIG = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  hidden_size: 16384,
  intermediate_size: 65536,
  num_hidden_layers: 126,
  num_attention_heads: 128,
  num_key_value_heads: 16,
  vocab_size: 151936,
  max_position_embeddings: 32768,
  rms_norm_eps: 1e-6,
  rope_theta: 1e6,
  tie_word_embeddings: true,
};

export async function writeGiant(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG));
  let at = 0;
  const header: Record<string, object> = {};
  for (const { name, shape } of parameterLayout(parseModelConfig(CONFIG, folder))) {
    const end = at + 2 * shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: 'BF16', shape, data_offsets: [at, end] };
    at = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(json.length));
  const file = await open(join(folder, 'model.safetensors'), 'w');
  try {
    await file.write(Buffer.concat([prefix, json]));
    await file.truncate(8 + json.length + at);
  } finally {
    await file.close();
  }
  return folder;
}
