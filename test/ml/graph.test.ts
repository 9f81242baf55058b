// Tests how graphs are built and verified, and the errors of encoder and interpreter.
import assert from 'node:assert/strict';
import { Graph } from '../../ml/ir/graph.js';
import type { Node, Op, OpAttributes, Shape, Value } from '../../ml/ir/op.js';
import { END, sizeOf, staticShape } from '../../ml/ir/op.js';
import { replaceOperations } from '../../ml/ir/replace.js';
import { verify } from '../../ml/ir/verify.js';
import { encodeModel } from '../../ml/onnx/encode.js';
import { EXTERNAL, ModelProto } from '../../ml/onnx/schema.js';
import { pluck } from '../support/pluck.js';
import { interpret, ndarray } from './reference/interpret.js';

type Type = [dtype: Value['dtype'], shape: Shape];
const f = (...shape: (number | string)[]): Type => ['float32', shape];
const i = (...shape: number[]): Type => ['int64', shape];
const h = (...shape: number[]): Type => ['float16', shape];
const b = (...shape: number[]): Type => ['bool', shape];
const u = (...shape: number[]): Type => ['uint8', shape];

function apply<K extends Op>(op: K, inputs: Type[], attrs: OpAttributes[K]): readonly Value[] {
  const g = new Graph();
  return g.apply(
    op,
    inputs.map(([dtype, shape], k) => g.input(`x${k}`, dtype, shape)),
    attrs,
  );
}

const ATTENTION = { scale: 1, causal: false };

/** Invalid calls, each with a pattern of the expected error. */
const REFUSED: [why: RegExp, op: Op, inputs: Type[], attrs: OpAttributes[Op]][] = [
  [/cannot broadcast \[2, 3\] with \[2\]/, 'Add', [f(2, 3), f(2)], {}],
  [/takes 2 inputs, got 1/, 'Mul', [f(2)], {}],
  [/takes floats of one type, got int64\[2\]/, 'Exp', [i(2)], {}],
  [/takes floats of one type, got float32\[2\], int64\[2\]/, 'Add', [f(2), i(2)], {}],
  [/takes floats of one type, got float16\[2, 3\], float32\[3, 4\]/, 'MatMul', [h(2, 3), f(3, 4)], {}],
  [/takes a bool as condition/, 'Where', [f(2), f(2), f(2)], {}],
  [/takes two of one type, got float32\[2\] and int64\[2\]/, 'Where', [b(2), f(2), i(2)], {}],
  [/axis 2 is outside/, 'CumSum', [f(2, 3)], { axis: 2 }],
  [/cannot take 4 of float32\[2, 3\]/, 'TopK', [f(2, 3)], { k: 4, largest: true }],
  [/float32\[2, 3, 1, 4\] does not fit into/, 'TensorScatter', [f(2, 2, 9, 4), f(2, 3, 1, 4), i(2)], {}],
  [/takes one start a row/, 'TensorScatter', [f(2, 2, 9, 4), f(2, 2, 1, 4), i(1)], {}],
  [/do not fit float32\[2, 4, 1, 8\]/, 'Attention', [f(2, 4, 1, 8), f(2, 2, 9, 4), f(2, 2, 9, 4)], ATTENTION],
  [/3 key heads do not divide 4/, 'Attention', [f(2, 4, 1, 8), f(2, 3, 9, 8), f(2, 3, 9, 8)], ATTENTION],
  [/takes one length a row/, 'Attention', [f(2, 4, 1, 8), f(2, 2, 9, 8), f(2, 2, 9, 8), i(1)], ATTENTION],
  [/inner sizes 3 and 4 differ/, 'MatMul', [f(2, 3), f(4, 5)], {}],
  [/leading sizes differ/, 'MatMul', [f(2, 2, 3), f(3, 3, 4)], {}],
  [/takes matrices/, 'MatMul', [f(3), f(3, 2)], {}],
  [/leading sizes differ/, 'FusedMatMul', [f(2, 2, 3), f(3, 4)], { transA: false, transB: false, alpha: 1 }],
  [/two-dimensional/, 'Gemm', [f(2, 2, 3), f(3, 4)], { transA: false, transB: false, alpha: 1 }],
  [/c float32\[3\] does not fit/, 'Gemm', [f(2, 3), f(3, 1), f(3)], { transA: false, transB: false, alpha: 1 }],
  [/takes 2 or 3 inputs/, 'Gemm', [f(2, 3)], { transA: false, transB: false, alpha: 1 }],
  [/scale \[4\] does not fit/, 'SimplifiedLayerNormalization', [f(2, 3), f(4)], { epsilon: 1 }],
  [/takes \[B, 3, T, hd\]/, 'RotaryEmbedding', [f(1, 2, 4, 6), i(1), f(9, 3), f(9, 3)], { heads: 3 }],
  [/even head size/, 'RotaryEmbedding', [f(1, 2, 4, 5), i(1), f(9, 3), f(9, 3)], { heads: 2 }],
  [/must be \[max, hd\/2\]/, 'RotaryEmbedding', [f(1, 2, 4, 6), i(1), f(9, 6), f(9, 6)], { heads: 2 }],
  [/neither \[1\] nor \[B, T\]/, 'RotaryEmbedding', [f(1, 2, 4, 6), i(4), f(9, 3), f(9, 3)], { heads: 2 }],
  [/does not fill \[4\]/, 'Reshape', [f(2, 3)], { shape: [4] }],
  [/does not fill/, 'Reshape', [f('B', 6)], { shape: ['P', 6] }],
  [/does not fill/, 'Reshape', [f('B', 6, 'T')], { shape: ['3·B·T', 3] }],
  [
    /8 heads do not divide 20/,
    'GroupQueryAttention',
    [f(1, 2, 20), i(1), i(1)],
    { heads: 4, kvHeads: 2, scale: 1, past: false },
  ],
  [/does not permute/, 'Transpose', [f(2, 3)], { perm: [0, 0] }],
  [/2\.\.9 is not inside 3/, 'Slice', [f(2, 3)], { axis: 1, start: 2, end: 9 }],
  [/is not inside B/, 'Slice', [f('B', 3)], { axis: 0, start: 0, end: 1 }],
  [/groups of 16 do not divide 24/, 'DequantizeLinear', [u(2, 24), f(2, 2), u(2, 2)], { blockSize: 16 }],
  [/do not fit uint8\[2, 32\]/, 'DequantizeLinear', [u(2, 32), f(2, 1), u(2, 2)], { blockSize: 16 }],
  [/takes uint4 or uint8/, 'DequantizeLinear', [f(2, 32), f(2, 2), f(2, 2)], { blockSize: 16 }],
  [
    /packed weights uint8\[3, 2, 4\] do not fit/,
    'MatMulNBits',
    [f(2, 32), u(3, 2, 4), f(3, 2)],
    { bits: 4, blockSize: 16 },
  ],
  [/scale float32\[3, 1\] does not fit/, 'MatMulNBits', [f(2, 32), u(3, 2, 8), f(3, 1)], { bits: 4, blockSize: 16 }],
  [/4 parts do not divide 6/, 'Split', [f(2, 6)], { axis: 1, parts: 4 }],
  [/axis 2 is outside a rank of 2/, 'Concat', [f(2, 3)], { axis: 2 }],
  [/does not join/, 'Concat', [f(2, 3), f(3, 4)], { axis: 1 }],
  [/at least one input/, 'Concat', [], { axis: 0 }],
  [/does not expand/, 'Expand', [f(2)], { shape: [3, 1] }],
  [/must be static/, 'Expand', [f(1)], { shape: ['B'] }],
  [/integer indices/, 'Gather', [f(2), f(1)], { axis: 0 }],
  [/do not fit/, 'GatherElements', [f(2, 3), i(3, 1)], { axis: 1 }],
  [/must be \[n, w\]/, 'GatherND', [f(2, 3), i(2)], {}],
  [/do not fit/, 'ScatterElements', [f(2, 3), i(2, 1), f(2, 2)], { axis: 1 }],
  [/must be \[n, w\]/, 'ScatterND', [f(2, 3), i(2), f(2, 3)], { add: true }],
  [/updates float32\[1, 3\] do not fit/, 'ScatterND', [f(2, 3), i(2, 1), f(1, 3)], { add: true }],
  [/takes floats of one type/, 'ScatterND', [i(2, 3), i(2, 1), i(2, 3)], { add: true }],
];

interface DecodedModel {
  irVersion: unknown;
  opsetImport: { domain: string; version: unknown }[];
  graph: {
    node: { opType: string; input: string[]; output: string[] }[];
    initializer: { externalData: { key: string; value: string }[]; dataLocation: number; rawData?: Uint8Array }[];
  };
}
const decoded = (bytes: Uint8Array) => ModelProto.decode(bytes) as unknown as DecodedModel;

describe('shape rules', () => {
  for (const [why, op, inputs, attrs] of REFUSED) {
    it(`${op} refuses ${inputs.map(([, s]) => `[${s}]`).join(', ')}: ${why.source}`, () => {
      assert.throws(() => apply(op, inputs, attrs), why);
    });
  }

  it('keep symbolic sizes', () => {
    assert.deepEqual(apply('Gather', [f(9, 4), ['int64', ['B']]], { axis: 0 })[0]!.shape, ['B', 4]);
    assert.deepEqual(apply('Add', [f('B', 1), f(1, 3)], {})[0]!.shape, ['B', 3]);
    assert.deepEqual(apply('Concat', [f('B', 'P'), f('B', 1)], { axis: 1 })[0]!.shape, ['B', 'P+1']);
    assert.deepEqual(apply('ArgMax', [f('B', 5)], { axis: -1, keepDims: false })[0], {
      name: 'ArgMax_0',
      dtype: 'int64',
      shape: ['B'],
    });
    assert.deepEqual(apply('Reshape', [f('B', 6, 'T')], { shape: ['2·B·T', 3] })[0]!.shape, ['2·B·T', 3]);
    assert.throws(() => sizeOf(['B', 2]), /symbolic/);
    assert.deepEqual(staticShape([2, 3]), [2, 3]);
  });
});

describe('a graph', () => {
  const small = (): { g: Graph; x: Value; y: Value } => {
    const g = new Graph();
    const x = g.input('x', 'float32', [2, 3]);
    const y = g.add(x, g.scalar(1));
    g.output('y', y);
    return { g, x, y };
  };

  it('is valid after it is built', () => verify(small().g));

  it('shares equal constants', () => {
    const g = new Graph();
    assert.equal(g.scalar(2), g.scalar(2));
    assert.equal(g.indices([1, 2]), g.indices([1, 2]));
    assert.notEqual(g.scalar(2), g.scalar(3));
    const x = g.input('x', 'float32', [1]);
    assert.equal(g.cast(x, 'float32'), x);
    assert.equal(g.scale(x, 1), x);
  });

  it('is changed in place when operations are replaced', () => {
    const { g, x } = small();
    g.output('twice', g.exp(g.exp(x)));
    replaceOperations(g, { Exp: (h, { inputs }) => [h.sigmoid(h.neg(inputs[0]!))] });
    verify(g);
    assert.deepEqual(pluck(g.nodes, 'op'), ['Add', 'Neg', 'Sigmoid', 'Neg', 'Sigmoid']);
    assert.equal(g.outputs[1]!.value, g.nodes.at(-1)!.outputs[0]);
    const narrow = { Add: (h: Graph, { inputs }: { inputs: readonly Value[] }) => [h.slice(inputs[0]!, 0, 0, 1)] };
    assert.throws(() => replaceOperations(g, narrow), /the replacement of Add has no output 0 of the same type/);
  });

  it('refuses a name twice, a constant of the wrong size and two outputs of one name', () => {
    const { g, y } = small();
    assert.throws(() => g.input('x', 'float32', [1]), /the name x is taken/);
    assert.throws(() => g.constant('c', [3], new Float32Array(2)), /2 values do not fill \[3\]/);
    assert.throws(() => g.output('y', y), /two outputs y/);
  });

  it('is refused by the verifier if a shape has changed', () => {
    const { g } = small();
    const node = g.nodes[0]!;
    g.nodes[0] = { ...node, outputs: [{ ...node.outputs[0]!, shape: [3, 2] }] } as Node;
    assert.throws(() => verify(g), /Add_\d does not have the inferred type/);
  });

  it('is refused by the verifier for a use before definition, a double definition or an output that is not computed', () => {
    const early = small();
    early.g.nodes.reverse().unshift(...new Graph().nodes);
    early.g.output('z', early.g.exp(early.y));
    early.g.nodes.reverse();
    assert.throws(() => verify(early.g), /node 0 \(Exp\) uses Add_\d before it is defined/);
    const twice = small();
    twice.g.nodes.push(twice.g.nodes[0]!);
    assert.throws(() => verify(twice.g), /Add_\d is defined twice/);
    const foreign = small();
    foreign.g.output('z', small().y);
    assert.throws(() => verify(foreign.g), /the output z is not computed/);
  });

  it('encodes constants in a file as references without bytes', () => {
    const g = new Graph();
    g.output('y', g.cast(g.external('w', 'bfloat16', [2, 3], 'model.safetensors', 100), 'float32'));
    const { graph, irVersion, opsetImport } = decoded(encodeModel(g));
    const [tensor] = graph.initializer;
    assert.deepEqual(pluck(tensor!.externalData, 'key', 'value'), [
      ['location', 'model.safetensors'],
      ['offset', '100'],
      ['length', '12'],
    ]);
    assert.equal(tensor!.dataLocation, EXTERNAL);
    assert.equal(tensor!.rawData?.length ?? 0, 0);
    assert.deepEqual([irVersion, opsetImport.map((o) => [o.domain, o.version])].map(String), [
      '10',
      ',21,com.microsoft,1',
    ]);
  });

  it('needs opset 24 only for operations that opset 21 lacks', () => {
    const opsetOf = (build: (g: Graph) => Value): string => {
      const g = new Graph();
      g.output('y', build(g));
      return String(decoded(encodeModel(g)).opsetImport[0]!.version);
    };
    const heads = (g: Graph, name: string): Value => g.input(name, 'float32', [2, 1, 3, 8]);
    assert.equal(
      opsetOf((g) => g.exp(heads(g, 'x'))),
      '21',
    );
    assert.equal(
      opsetOf((g) => g.attention(heads(g, 'q'), heads(g, 'k'), heads(g, 'v'), 1, { causal: true })),
      '24',
    );
    assert.equal(
      opsetOf((g) => g.tensorScatter(heads(g, 'c'), heads(g, 'x'), g.input('at', 'int64', [2]))),
      '24',
    );
  });

  it('a direct output is written by its node, other outputs are copies', () => {
    const { g, x, y } = small();
    g.output('direct', g.exp(y), { direct: true });
    const last = g.neg(g.outputs[1]!.value);
    g.output('next', last);
    assert.deepEqual(
      decoded(encodeModel(g)).graph.node.map(({ opType, input, output }) => `${opType} ${input[0]} ${output[0]}`),
      [
        `Add x ${y.name}`,
        `Exp ${y.name} direct`,
        `Neg direct ${last.name}`,
        `Identity ${y.name} y`,
        `Identity ${last.name} next`,
      ],
    );
    assert.throws(() => g.output('again', x, { direct: true }), /x is an input or a constant/);
  });

  it('is not encoded if a Reshape has two unknown sizes', () => {
    const g = new Graph();
    g.output('y', g.reshape(g.input('x', 'float32', ['B', 2, 'P']), ['P', 2, 'B']));
    assert.throws(() => encodeModel(g), /two unknown sizes/);
    assert.throws(() => interpret(g, { x: ndarray([2, 2, 1], [1, 2, 3, 4]) }), /one symbolic size/);
  });
});

describe('the interpreter', () => {
  it('slices a symbolic size and the part appended to it', () => {
    const g = new Graph();
    const joined = g.concat([g.input('x', 'float32', [2, 'S']), g.input('y', 'float32', [2, 1])], 1);
    const [front, back] = [g.slice(joined, 1, 0, -1), g.slice(joined, 1, -1, END)];
    assert.deepEqual(
      [front.shape, back.shape],
      [
        [2, 'S'],
        [2, 1],
      ],
    );
    g.output('front', front);
    g.output('back', back);
    verify(g);
    const out = interpret(g, { x: ndarray([2, 3], [1, 2, 3, 4, 5, 6]), y: ndarray([2, 1], [7, 8]) });
    assert.deepEqual([...out.front!.data], [1, 2, 3, 4, 5, 6]);
    assert.deepEqual([...out.back!.data], [7, 8]);
    assert.throws(() => g.slice(joined, 1, 0, -2), /is not inside S\+1/);
  });

  it('refuses feeds that are missing or of the wrong shape, and constants in files', () => {
    const g = new Graph();
    g.output('y', g.exp(g.input('x', 'float32', ['B', 2])));
    assert.throws(() => interpret(g, {}), /no feed for the input x/);
    assert.throws(() => interpret(g, { x: ndarray([3], [1, 2, 3]) }), /x is \[3\], not \[B, 2\]/);
    assert.throws(() => ndarray([2], [1]), /1 values do not fill \[2\]/);
    const external = new Graph();
    external.output('y', external.exp(external.external('w', 'float32', [1], 'file', 0)));
    assert.throws(() => interpret(external, {}), /w has no value here/);
  });
});
