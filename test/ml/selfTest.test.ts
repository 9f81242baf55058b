// The self-test of devices, on the CPU with operations that are made wrong. `device.test.ts` runs it on a real device.
import assert from 'node:assert/strict';
import type { Replacements } from '../../ml/ir/replace.js';
import { selfTest } from '../../ml/selfTest/selfTest.js';

describe('the self-test of a device', function () {
  this.timeout(60_000);

  it('passes on the CPU', async () => {
    assert.equal(await selfTest('cpu'), undefined);
  });

  const wrong: [name: string, Replacements, fault: RegExp][] = [
    [
      'scores and gradients',
      { QuickGelu: (g, { inputs, attrs }) => g.apply('QuickGelu', inputs, { alpha: 1.01 * attrs.alpha }) },
      /^scoring differs from the CPU by 0\.\d+ of its largest number; wrong operators: QuickGelu$/,
    ],
    [
      'the second output of a norm, which only gradients read',
      {
        SimplifiedLayerNormalization(g, { inputs, attrs }) {
          const [y, r] = g.apply('SimplifiedLayerNormalization', inputs, attrs);
          return [y!, g.scale(r!, 0)];
        },
      },
      /^the gradient of PPO differs .*; wrong operators: SimplifiedLayerNormalization$/,
    ],
    [
      'full-parameter training',
      {
        ScatterND: (g, { inputs }) => [
          g.sub(inputs[0]!, g.scatterND(g.sub(inputs[0]!, inputs[0]!), inputs[1]!, inputs[2]!)),
        ],
      },
      /^the gradient of .* differs .*; wrong operators: ScatterND$/,
    ],
    [
      'attention over caches',
      {
        GroupQueryAttention: (g, { inputs, attrs }) =>
          g.apply('GroupQueryAttention', inputs, { ...attrs, scale: 1.1 * attrs.scale }),
      },
      /^reading prompts differs .*; wrong operators: GroupQueryAttention$/,
    ],
    [
      'quantized weights',
      { MatMulNBits: (g, { inputs, attrs }) => [g.scale(g.apply('MatMulNBits', inputs, attrs)[0]!, 1.2)] },
      /^(reading prompts|decoding) with int8 weights differs .*; wrong operators: MatMulNBits$/,
    ],
    [
      'an operation that fails',
      { RotaryEmbedding: (g, { inputs: [x, ...rest] }) => [g.rotary(x!, g.indices([99]), rest[1]!, rest[2]!)] },
      /^scoring fails: .*; wrong operators: RotaryEmbedding$/,
    ],
  ];
  for (const [name, replacements, fault] of wrong)
    it(`names the operator that computes ${name} wrongly`, async () => {
      assert.match((await selfTest('cpu', replacements)) ?? 'none', fault);
    });
});
