// Tests that graphs which share the weights on a device give the results of graphs with weights of their own, in host memory here.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { DeviceDecoder } from '../../../ml/decode/deviceDecoder.js';
import { BaseWeights } from '../../../ml/device/baseWeights.js';
import { countOwned } from '../../../ml/device/owned.js';
import { CPU, type SessionDevice } from '../../../ml/device/runtime.js';
import { SharedConstants } from '../../../ml/device/sharedConstants.js';
import { locateWeights, locationOf } from '../../../ml/device/weightLocations.js';
import type { SessionModel } from '../../../ml/engine/base.js';
import { describeModel, readWeights } from '../../../ml/hf/model.js';
import { Graph } from '../../../ml/ir/graph.js';
import { type IdentifiedAdapter, layoutSize, loraLayout, parameterLayout } from '../../../ml/nn/layout.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { temporaryFolder } from '../../infra/support.js';
import { cosine, trajectoryOf } from '../../support/halfPrecision.js';

const files = describeModel(join(ROOT, 'data', 'tiny-model'));
const { config } = files;
const fed: SessionModel = { config, weights: readWeights(files.stored) };
const mapped: SessionModel = { config, locations: locateWeights(files.stored) };
const random = new RandomStream('shared weights');
const values = new Float32Array(layoutSize(loraLayout(config, 4))).map(() => 0.05 * random.normal());
const adapter: IdentifiedAdapter = { rank: 4, alpha: 8, values, digest: 'a' };
const rows = [50, 70].map((length) => Array.from({ length }, () => random.int(2, 389)));

describe('weights that graphs on a device share', () => {
  const device: SessionDevice = { ...CPU, memory: 'cpu' };
  afterEach(() => assert.equal(countOwned(), 0));

  /** The log-probs and the gradient of a session. */
  async function trained(session: TrainSession): Promise<number[]> {
    const scores = await session.score(
      rows.map((tokens) => ({ tokens })),
      adapter,
      1,
    );
    const parts = rows.map((tokens, i) => trajectoryOf(tokens, scores[i]!));
    const { gradients } = await session.ppo(parts, adapter, { clip: 0.2, temperature: 1 });
    assert.ok(gradients.some((x) => x !== 0));
    return [...scores.flat(), ...gradients];
  }

  for (const type of ['float16', 'float32'] as const)
    it(`give the gradients of weights that each graph is fed, while a decoder uses them, too: ${type}`, async () => {
      const queryBlock = { activationBytes: 1e9 };
      const half = type === 'float32' ? undefined : type;
      const alone = new TrainSession(fed, { device, half, ...queryBlock });
      const fedResults = await trained(alone);
      await alone.close();
      for (const model of [fed, mapped]) {
        const base = new BaseWeights(model, 'cpu', type);
        const decoder = new DeviceDecoder(model, 128, { memory: 'cpu', type, rows: 2, base });
        const session = new TrainSession(model, { device, half, base, ...queryBlock });
        const tokens = async (): Promise<string> => {
          const { answers } = await decoder.generate(
            rows.map((prompt, i) => ({ prompt, key: [0, i] as const })),
            { maxNewTokens: 8, temperature: 0, stopTokens: [] },
          );
          return JSON.stringify(answers);
        };
        decoder.use(adapter);
        const sampled = await tokens();
        const results = await trained(session);
        if (model === fed) assert.deepEqual(results, fedResults);
        // graphs of models in files are not optimized, so the last bits differ
        else assert.ok(cosine(Float32Array.from(results), Float32Array.from(fedResults)) > 0.99999);
        assert.equal(await tokens(), sampled);
        decoder.close();
        assert.deepEqual(await trained(session), results, 'they are copied again');
        await session.close();
      }
    });

  it('have all parts of a model as views of the matrices that decoding multiplies', () => {
    const base = new BaseWeights(mapped, 'cpu', 'float32');
    for (const { name, shape } of parameterLayout(config)) {
      assert.deepEqual(base.tensors.parts[name]!.dims, shape);
      assert.deepEqual(base.tensors.parts[name]!.read(), fed.weights!.get(name)!.data, name);
    }
    assert.ok(Object.keys(base.tensors.fused).length < Object.keys(base.tensors.parts).length);
    base.close();
  });

  it('are read once for all graphs, and again after the last one closes', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'weights');
    const fill = (x: number): void => writeFileSync(path, new Float32Array(4).fill(x));
    const open = (): { constants: SharedConstants; graph: Graph; numbers: number[] } => {
      const graph = new Graph();
      const w = graph.external('w', 'float32', [2, 2], locationOf(path), 0);
      graph.output('y', graph.neg(w));
      const constants = new SharedConstants(graph, 'cpu');
      return { constants, graph, numbers: [...(constants.feeds.w!.read() as Float32Array)] };
    };
    fill(1);
    const first = open();
    fill(2);
    const second = open();
    assert.deepEqual([first.numbers, second.numbers], [new Array(4).fill(1), new Array(4).fill(1)]);
    assert.deepEqual(
      [first.graph.inputs.map(({ name }) => name), first.graph.constants.size],
      [['w'], 0],
      'the graph takes it as an input',
    );
    first.constants.release();
    second.constants.release();
    second.constants.release(); // a second release does nothing
    const third = open();
    assert.deepEqual(third.numbers, new Array(4).fill(2));
    third.constants.release();
  });
});
