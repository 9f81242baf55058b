// Slots against the engine with the weights of SmolLM2-135M-Instruct, on real prompts. With CI set, the model is downloaded;
// else the test skips without it.
import { deriveKey } from '../../../core/base/random.js';
import { BoundDevice } from '../../../ml/decode/boundDevice.js';
import { DeviceWeights } from '../../../ml/decode/deviceWeights.js';
import { Slots } from '../../../ml/decode/slots.js';
import { BaseWeights } from '../../../ml/device/baseWeights.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { FusedWeights } from '../../../ml/nn/fusedWeights.js';
import { loadModel } from '../../support/loadModel.js';
import { assertSameAnswers } from '../../support/sameAnswers.js';
import { provideSmolLM2 } from '../../support/smollm2.js';

const QUESTIONS = [
  'Write a haiku about rain.',
  'What is 7 times 8?',
  'Write a function in Python that reverses a list.',
  'Name three colours.',
  'Explain in one sentence why the sky is blue, and then say what colour it has at night.',
  'Why?',
];

it('slots give the tokens of the engine for SmolLM2', async function () {
  const folder = provideSmolLM2();
  if (folder === undefined) {
    console.log('      skipped: npm run real-model fetches the model');
    return this.skip();
  }
  const { config: c, weights, eosTokens } = loadModel(folder);
  const engine = await openEngine(folder, { kvCacheBytes: 0 });
  const chat = engine.chat();
  const requests = QUESTIONS.map((content, i) => {
    return { prompt: chat.openingTokens([{ role: 'user', content }]), key: deriveKey('smollm2', i) };
  });
  const session = { memory: 'cpu', threads: 2 } as const;
  // the adapter of zeros is beside the weights, because merged weights would be in memory twice
  const base = new BaseWeights({ config: c, weights }, 'cpu', 'float32');
  const shared = new DeviceWeights(c, base, { beside: 1 });
  for (const options of [{ temperature: 0 }, { temperature: 1, topK: 50, topP: 0.9 }]) {
    const more = { ...options, maxNewTokens: 24, stopTokens: eosTokens };
    const expected = await engine.generate(requests, more);
    for (const attention of ['grouped', 'scattered'] as const) {
      const device = new BoundDevice(c, (g) => new FusedWeights(g, c, { type: 'float32', rank: 1 }), {
        ...{ rows: 4, positions: 128, steps: 8, attention },
        session,
        weights: shared.tensors,
      });
      const { answers } = await new Slots(device, engine.info.contextLength).generate(requests, more);
      await assertSameAnswers({ config: c, weights }, requests, more, answers, expected);
      device.close();
    }
  }
  shared.close();
  base.close();
  await engine.close();
});
