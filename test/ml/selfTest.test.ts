// The self-test of devices, on the CPU with operations that are made wrong. `device.test.ts` runs it on a real device.
import assert from 'node:assert/strict';
import type { Replacements } from '../../ml/ir/replace.js';
import { relativeError, selfTest } from '../../ml/selfTest/selfTest.js';

describe('the self-test of a device', () => {
  it('passes on the CPU', async () => {
    assert.equal(await selfTest('cpu'), undefined);
    assert.equal(await selfTest('cpu', { half: 'float16' }), undefined);
  });

  it('accepts a sequence that differs from the expected one after an equally likely token', () => {
    const error = (...actual: number[]) => relativeError(actual, [-1, -2, -4, -1], 2);
    const errors = [
      error(-1, -2.5, -4, -1),
      error(-1.5, -9, -4, -1),
      error(-1, -2, -6, -9),
      error(-1, Number.NaN, -4, -1),
    ];
    assert.deepEqual(errors, [0.125, 0.125, 0.5, Number.POSITIVE_INFINITY]);
  });

  let sessions = 0;
  const wrong: [kernel: string, Replacements, fault: RegExp][] = [
    [
      'rounds the factors of a matrix product to ten bits',
      { MatMul: (g, { inputs }) => [g.scale(g.apply('MatMul', inputs, {})[0]!, 1.0001)] },
      /^a matrix product differs from the CPU by 0\.00010 of its largest number$/,
    ],
    [
      'computes an activation wrongly',
      { QuickGelu: (g, { inputs, attrs }) => g.apply('QuickGelu', inputs, { alpha: 1.01 * attrs.alpha }) },
      /^scoring differs from the CPU by 0\.\d+ of its largest number$/,
    ],
    [
      'is wrong for a batch of one row',
      {
        Softmax: (g, { inputs: [x] }) => {
          const y = g.apply('Softmax', [x!], {})[0]!;
          return [x!.shape[0] === 1 ? g.scale(y, 1.01) : y];
        },
      },
      /^scoring differs /,
    ],
    [
      'overflows in a softmax of large logits',
      {
        LogSoftmax: (g, { inputs: [x] }) => {
          const overflow = g.reduceSum(g.exp(x!), [-1], true);
          return [g.add(g.apply('LogSoftmax', [x!], {})[0]!, g.sub(overflow, overflow))];
        },
      },
      /^scoring with large logits gives numbers that are not finite$/,
    ],
    [
      'does not write the second output of a norm, which only gradients read',
      {
        SimplifiedLayerNormalization(g, { inputs, attrs }) {
          const [y, r] = g.apply('SimplifiedLayerNormalization', inputs, attrs);
          return [y!, g.scale(r!, 0)];
        },
      },
      /^the gradient of PPO differs /,
    ],
    [
      'converts 16-bit weights wrongly',
      {
        Cast: (g, { inputs: [x], attrs }) => {
          const y = g.apply('Cast', [x!], attrs)[0]!;
          return [x!.dtype === 'bfloat16' && x!.shape.length > 1 ? g.scale(y, 1.01) : y];
        },
      },
      /^the gradient of PPO with 16-bit weights differs /,
    ],
    [
      'unpacks int4 weights wrongly',
      { DequantizeLinear: (g, { inputs, attrs }) => [g.scale(g.apply('DequantizeLinear', inputs, attrs)[0]!, 1.01)] },
      /^the gradient of PPO with int4 weights differs /,
    ],
    [
      'adds rows of a gradient wrongly',
      {
        ScatterND: (g, { inputs }) => [
          g.sub(inputs[0]!, g.scatterND(g.sub(inputs[0]!, inputs[0]!), inputs[1]!, inputs[2]!)),
        ],
      },
      /^the gradient of all parameters differs /,
    ],
    [
      'is wrong in attention over caches',
      {
        GroupQueryAttention: (g, { inputs, attrs }) =>
          g.apply('GroupQueryAttention', inputs, { ...attrs, scale: 1.1 * attrs.scale }),
      },
      /^decoding differs /,
    ],
    [
      'is wrong in the attention of decoding steps',
      {
        Softmax: (g, { inputs: [x] }) => {
          const y = g.apply('Softmax', [x!], {})[0]!;
          return [x!.shape.length === 5 ? g.scale(y, 1.1) : y];
        },
      },
      /^decoding differs /,
    ],
    [
      'multiplies by packed weights wrongly',
      { MatMulNBits: (g, { inputs, attrs }) => [g.scale(g.apply('MatMulNBits', inputs, attrs)[0]!, 1.2)] },
      /^decoding with int4 weights differs /,
    ],
    [
      'gives other bits in every run',
      { Sigmoid: (g, { inputs }) => [g.scale(g.apply('Sigmoid', inputs, {})[0]!, 1 + 1e-6 * sessions++)] },
      /^the gradient of PPO gives other numbers in a second run$/,
    ],
    [
      'fails',
      { RotaryEmbedding: (g, { inputs: [x, ...rest] }) => [g.rotary(x!, g.indices([99]), rest[1]!, rest[2]!)] },
      /^scoring fails: ./,
    ],
  ];
  for (const [kernel, replacements, fault] of wrong)
    it(`refuses a device that ${kernel}`, async () => {
      // runs only the case that the fault names: the other cases pass, or fail in the same way
      const isNamed = (name: string): boolean => fault.source.startsWith(`^${name} `);
      assert.match((await selfTest('cpu', { replacements, isRun: isNamed })) ?? 'none', fault);
    });

  const wrongInHalf: typeof wrong = [
    [
      'computes the softmax of 16-bit numbers wrongly',
      {
        Softmax: (g, { inputs: [x] }) => {
          const y = g.apply('Softmax', [x!], {})[0]!;
          return [x!.dtype === 'float16' ? g.cast(g.scale(g.cast(y, 'float32'), 1.2), 'float16') : y];
        },
      },
      /^scoring differs /,
    ],
    [
      'multiplies 16-bit numbers wrongly',
      {
        Gemm: (g, { inputs: [a, b, c], attrs }) => [
          g.gemm(a!, b!, { ...attrs, alpha: a!.dtype === 'float16' ? 1.2 * attrs.alpha : attrs.alpha, c }),
        ],
      },
      /^the gradient of PPO with 16-bit weights differs /,
    ],
  ];
  for (const [kernel, replacements, fault] of wrongInHalf)
    it(`refuses 16 bits on a device that ${kernel}`, async () => {
      const isRun = (name: string): boolean => fault.source.startsWith(`^${name} `);
      assert.match((await selfTest('cpu', { half: 'float16', replacements, isRun })) ?? 'none', fault);
    });
});
