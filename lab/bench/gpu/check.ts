// Checks whether the card computes what the CPU computes: runs the self-test, and compares tokens of the shipped model.
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { BoundDevice } from '../../../ml/decode/boundDevice.js';
import { DecodeSession } from '../../../ml/decode/decodeSession.js';
import { DeviceWeights } from '../../../ml/decode/deviceWeights.js';
import { Slots } from '../../../ml/decode/slots.js';
import { BaseWeights } from '../../../ml/device/baseWeights.js';
import type { MemoryKind } from '../../../ml/device/deviceSession.js';
import { checkHere } from '../../../ml/device/providers.js';
import { deviceOf } from '../../../ml/device/runtime.js';
import type { GenerateRequest } from '../../../ml/engine/engine.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import { describeModel, readWeights, type Weights } from '../../../ml/hf/model.js';
import type { CacheType } from '../../../ml/nn/cacheAttention.js';
import { FusedWeights } from '../../../ml/nn/fusedWeights.js';
import type { Recorder, SectionOptions } from './measure.js';

const REQUESTS = 24;
const SAME_NEIGHBOURS = 8; // the number of requests that are asked again among other requests
const SIZES = { rows: 16, positions: 128, steps: 16 }; // rows < requests, so new requests replace ended ones
const OPTIONS = { maxNewTokens: 40, temperature: 0.9, stopTokens: [1, 17] };
/** The share of rows that must equal those of the CPU in f32. In f16 on a CPU, 21 of 24 rows are equal. */
const LEAST_EQUAL = { float32: 0.95, float16: 0.5 };

type Answers = number[][];

export async function check(record: Recorder, { device }: SectionOptions): Promise<void> {
  for (const half of [undefined, 'float16'] as const)
    await record(`self-test, ${half ?? 'float32'}`, async () => {
      const fault = await checkHere(device, half);
      return { holds: fault === undefined, fault };
    });
  const { config, stored } = describeModel(join(ROOT, 'data', 'tiny-model'));
  const model = { config, weights: readWeights(stored) };
  const requests = (name: string): GenerateRequest[] =>
    Array.from({ length: REQUESTS }, (_, i) => {
      const random = new RandomStream('gpu', name, i);
      const prompt = Array.from({ length: random.int(5, 60) }, () => random.int(2, config.vocab - 1));
      return { prompt, key: deriveKey('gpu', name, i) };
    });
  const asked = requests('asked');

  const ofSession = async (provider: 'cpu' | 'cuda'): Promise<Answers> => {
    const session = new DecodeSession(model, config.contextLength, deviceOf(provider));
    const { answers } = await session.generate(asked, OPTIONS);
    await session.close();
    return answers.map(({ tokens }) => tokens);
  };
  const expected = await ofSession('cpu');
  await record('tokens, float32, DecodeSession', async () => {
    const equal = equalRows(await ofSession(device), expected);
    return { holds: equal >= LEAST_EQUAL.float32 * REQUESTS, equalToCpu: `${equal} of ${REQUESTS}` };
  });

  for (const type of ['float32', 'float16'] as const) {
    let unrecorded: Answers = [];
    for (const recorded of device === 'cuda' ? [false, true] : [false])
      await record(`tokens, ${type}, ${recorded ? 'recorded steps' : 'steps'}`, async () => {
        const decoder = open(model, type, { memory: device, recorded });
        try {
          const own = await decoder.generate(asked);
          const again = await decoder.generate(asked);
          const others = await decoder.generate([
            ...asked.slice(0, SAME_NEIGHBOURS),
            ...requests('others').slice(SAME_NEIGHBOURS),
          ]);
          if (!recorded) unrecorded = own;
          const equal = equalRows(own, expected);
          const repeats = equalRows(again, own) === REQUESTS;
          const independent = equalRows(others.slice(0, SAME_NEIGHBOURS), own) === SAME_NEIGHBOURS;
          const asUnrecorded = equalRows(own, unrecorded) === REQUESTS;
          const holds = equal >= LEAST_EQUAL[type] * REQUESTS && repeats && independent && asUnrecorded;
          return { holds, equalToCpu: `${equal} of ${REQUESTS}`, repeats, independent, asUnrecorded };
        } finally {
          decoder.close();
        }
      });
  }
}

/** Opens the decoder whose steps stay on the device. */
function open(
  { config: c, weights }: { config: ModelConfig; weights: Weights },
  type: CacheType,
  session: { memory: MemoryKind; recorded: boolean },
) {
  const { memory } = session;
  const base = new BaseWeights({ config: c, weights }, memory, type);
  const own = new DeviceWeights(c, base, 'merged');
  const device = new BoundDevice(c, (g) => new FusedWeights(g, c, { type }), {
    ...{ ...SIZES, type, session },
    weights: own.tensors,
  });
  return {
    async generate(requests: GenerateRequest[]): Promise<Answers> {
      const { answers } = await new Slots(device, c.contextLength).generate(requests, OPTIONS);
      return answers.map(({ tokens }) => tokens);
    },
    close() {
      device.close();
      own.close();
      base.close();
    },
  };
}

const equalRows = (rows: Answers, others: Answers): number =>
  rows.filter((row, i) => row.join() === others[i]?.join()).length;
