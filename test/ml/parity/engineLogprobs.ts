// Prints results of the engine for check_transformers.py: log-probs of a few random rows for a base model and for
// an adapter folder. Run: node dist/test/ml/parity/engineLogprobs.js MODEL ADAPTER [make]. With `make`, it first writes
// an adapter with random values to ADAPTER.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { readAdapterFolder } from '../../../ml/hf/peft.js';

const [model, folder, make] = process.argv.slice(2) as [string, string, string?];
const engine = await openEngine(model, { workers: 1 });
const random = new RandomStream('parity');
if (make === 'make') {
  const adapter = engine.initAdapter({ rank: 8, alpha: 16 }, 1);
  adapter.values = adapter.values.map((x) => x + 0.05 * random.normal());
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of engine.exportAdapter(adapter)) writeFileSync(join(folder, name), bytes);
}
const adapter = engine.importAdapter(readAdapterFolder(folder));
const rows = [1, 20, 64, 100].map((extra) => ({
  tokens: Array.from({ length: 1 + extra }, () => random.int(0, engine.info.vocabSize - 1)),
}));
const base = await engine.logprobs(rows, { temperature: 1 });
const tuned = await engine.logprobs(rows, { adapter, temperature: 1 });
await engine.close();
console.log(JSON.stringify({ rows: rows.map((row) => row.tokens), base, tuned }));
