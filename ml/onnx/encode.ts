// Encodes a graph of the IR as an ONNX model (opset 21 or 24, com.microsoft 1) with the protobuf schema in schema.ts.
import type { Graph } from '../ir/graph.js';
import type { ConstantData, Dim, NodeOf, Op, Shape, Value } from '../ir/op.js';
import { verify } from '../ir/verify.js';
import { ATTRIBUTE, DATA_TYPE, EXTERNAL, ModelProto } from './schema.js';

const OPSET = 21;
const NEWER: ReadonlySet<Op> = new Set(['TensorScatter', 'Attention']); // a graph with one of these needs opset 24
const NEWER_OPSET = 24;
const IR_VERSION = 10;
const MICROSOFT = 'com.microsoft';

const int = (name: string, i: number): object => ({ name, type: ATTRIBUTE.int, i });
const flag = (name: string, on: boolean): object => int(name, on ? 1 : 0);
const float = (name: string, f: number): object => ({ name, type: ATTRIBUTE.float, f });
const ints = (name: string, list: readonly number[]): object => ({ name, type: ATTRIBUTE.ints, ints: [...list] });
const text = (name: string, s: string): object => ({
  name,
  type: ATTRIBUTE.string,
  s: new TextEncoder().encode(s),
});

/** The encoding of one operation: attributes, and constant operands that follow its inputs. */
interface Encoding {
  domain?: string;
  attributes?: object[];
  operands?: (number | readonly number[])[]; // number: a float32 scalar; list: int64
  inputs?: (Value | undefined)[]; // undefined: an optional input of ONNX that is absent
  outputs?: (Value | undefined)[];
}
type EncodeRule<K extends Op> = (node: NodeOf<K>) => Encoding;

const plain: EncodeRule<Op> = () => ({});
const lastAxis: EncodeRule<Op> = () => ({ attributes: [int('axis', -1)] });
const reduce: EncodeRule<'ReduceSum' | 'ReduceMean'> = ({ attrs }) => ({
  attributes: [flag('keepdims', attrs.keepDims)],
  operands: [attrs.axes],
});

/** The operand of Reshape: 0 copies a symbolic size that stays in place; at most one other size is inferred (−1). */
function reshapeTarget(from: Shape, to: Shape): number[] {
  const target = to.map((d, i) => (typeof d === 'number' ? d : from[i] === d ? 0 : -1));
  if (target.filter((d) => d < 0).length > 1)
    throw new TypeError(`Reshape to [${to.join(', ')}] has two unknown sizes`);
  return target;
}

const ENCODE_RULES: { readonly [K in Op]: EncodeRule<K> } = {
  Add: plain,
  Sub: plain,
  Mul: plain,
  Min: plain,
  Neg: plain,
  Exp: plain,
  Sigmoid: plain,
  LessOrEqual: plain,
  Where: plain,
  TensorScatter: plain, // ONNX scatters along the second axis from the end
  MatMul: plain,
  GatherND: plain,
  Softmax: lastAxis,
  LogSoftmax: lastAxis,
  ReduceSum: reduce,
  ReduceMean: reduce,
  CumSum: ({ attrs }) => ({ operands: [[attrs.axis]] }),
  TopK: ({ attrs }) => ({ attributes: [int('axis', -1), flag('largest', attrs.largest)], operands: [[attrs.k]] }),
  QuickGelu: ({ attrs }) => ({ domain: MICROSOFT, attributes: [float('alpha', attrs.alpha)] }),
  Clip: ({ attrs }) => ({ operands: [attrs.min, attrs.max] }),
  Cast: ({ attrs }) => ({ attributes: [int('to', DATA_TYPE[attrs.to])] }),
  FusedMatMul: ({ attrs }) => ({
    domain: MICROSOFT,
    attributes: [flag('transA', attrs.transA), flag('transB', attrs.transB), float('alpha', attrs.alpha)],
  }),
  Gemm: ({ attrs }) => ({
    attributes: [flag('transA', attrs.transA), flag('transB', attrs.transB), float('alpha', attrs.alpha)],
  }),
  DequantizeLinear: ({ inputs, attrs }) => ({
    attributes: [int('axis', inputs[0]!.shape.length - 1), int('block_size', attrs.blockSize)],
  }),
  MatMulNBits: ({ inputs, attrs }) => ({
    domain: MICROSOFT,
    attributes: [
      int('K', inputs[0]!.shape.at(-1) as number),
      int('N', inputs[1]!.shape[0] as number),
      int('bits', attrs.bits),
      int('block_size', attrs.blockSize),
      int('accuracy_level', 4), // rounds activations to eight bits: three times as fast for one row
    ],
  }),
  SimplifiedLayerNormalization: ({ attrs }) => ({
    attributes: [int('axis', -1), float('epsilon', attrs.epsilon), int('stash_type', 1)],
  }),
  SkipSimplifiedLayerNormalization: ({ outputs, attrs }) => ({
    domain: MICROSOFT,
    attributes: [float('epsilon', attrs.epsilon)],
    outputs: [outputs[0], undefined, undefined, outputs[1]],
  }),
  GroupQueryAttention: ({ inputs: [qkv, ...others], attrs: { past = true, ...attrs } }) => ({
    domain: MICROSOFT,
    attributes: [
      int('num_heads', attrs.heads),
      int('kv_num_heads', attrs.kvHeads),
      float('scale', attrs.scale),
      flag('do_rotary', others.length === (past ? 6 : 4)),
      int('rotary_interleaved', 0),
    ],
    inputs: [qkv, undefined, undefined, ...(past ? [] : [undefined, undefined]), ...others],
  }),
  Attention: ({ inputs: [q, k, v, filled], attrs }) => ({
    attributes: [flag('is_causal', attrs.causal), float('scale', attrs.scale)],
    inputs: filled ? [q, k, v, undefined, undefined, undefined, filled] : [q, k, v],
  }),
  RotaryEmbedding: ({ attrs }) => ({
    domain: MICROSOFT,
    attributes: [int('interleaved', 0), int('num_heads', attrs.heads)],
  }),
  Reshape: ({ inputs: [x, sizes], attrs }) => (sizes ? {} : { operands: [reshapeTarget(x!.shape, attrs.shape)] }),
  Transpose: ({ attrs }) => ({ attributes: [ints('perm', attrs.perm)] }),
  Slice: ({ attrs }) => ({ operands: [[attrs.start], [attrs.end], [attrs.axis]] }),
  Split: ({ attrs }) => ({ attributes: [int('axis', attrs.axis), int('num_outputs', attrs.parts)] }),
  Concat: ({ attrs }) => ({ attributes: [int('axis', attrs.axis)] }),
  Expand: ({ attrs }) => ({ operands: [attrs.shape as number[]] }),
  ArgMax: ({ attrs }) => ({ attributes: [int('axis', attrs.axis), flag('keepdims', attrs.keepDims)] }),
  Gather: ({ attrs }) => ({ attributes: [int('axis', attrs.axis)] }),
  GatherElements: ({ attrs }) => ({ attributes: [int('axis', attrs.axis)] }),
  ScatterElements: ({ attrs }) => ({ attributes: [int('axis', attrs.axis), text('reduction', 'add')] }),
  ScatterND: ({ attrs }) => ({ attributes: attrs.add ? [text('reduction', 'add')] : [] }),
};

const bytesOf = (data: ArrayBufferView): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
const dimension = (d: Dim): object => (typeof d === 'string' ? { dimParam: d } : { dimValue: d });

function valueInfo(name: string, { dtype, shape }: Value): object {
  return { name, type: { tensorType: { elemType: DATA_TYPE[dtype], shape: { dim: shape.map(dimension) } } } };
}

function initializer({ name, dtype, shape }: Value, constant: ConstantData): object {
  const tensor = { name, dataType: DATA_TYPE[dtype], dims: shape as number[] };
  if (constant.kind === 'inline') return { ...tensor, rawData: bytesOf(constant.data) };
  const { location, offset, length } = constant;
  const externalData = Object.entries({ location, offset, length }).map(([key, value]) => ({
    key,
    value: String(value),
  }));
  return { ...tensor, dataLocation: EXTERNAL, externalData };
}

/** Operands that ONNX takes as tensors. Equal operands are stored once. */
class Operands {
  readonly initializers: object[] = [];
  private readonly names = new Map<string, string>();
  name(operand: number | readonly number[]): string {
    const key = JSON.stringify(operand);
    const known = this.names.get(key);
    if (known) return known;
    const name = `operand_${this.names.size}`;
    this.names.set(key, name);
    const scalar = typeof operand === 'number';
    this.initializers.push({
      name,
      dataType: DATA_TYPE[scalar ? 'float32' : 'int64'],
      dims: scalar ? [] : [operand.length],
      rawData: bytesOf(scalar ? Float32Array.of(operand) : BigInt64Array.from(operand, BigInt)),
    });
    return name;
  }
}

/** The bytes of the model, after verifying the graph. `external` constants stay in their files. */
export function encodeModel(graph: Graph): Uint8Array {
  verify(graph);
  const operands = new Operands();
  const direct = new Map(graph.outputs.filter((o) => o.direct).map(({ name, value }) => [value, name]));
  const nameOf = (value: Value | undefined): string => (value ? (direct.get(value) ?? value.name) : '');
  const nodes = graph.nodes.map((node, i): object => {
    const rule = ENCODE_RULES[node.op] as EncodeRule<Op>;
    const encoding = rule(node);
    return {
      name: `${node.op}_${i}`,
      opType: node.op,
      domain: encoding.domain ?? '',
      input: [
        ...(encoding.inputs ?? node.inputs).map(nameOf),
        ...(encoding.operands ?? []).map((o) => operands.name(o)),
      ],
      output: (encoding.outputs ?? node.outputs).map(nameOf),
      attribute: encoding.attributes ?? [],
    };
  });
  // an Identity node per output, so that one value can be several outputs
  const copied = graph.outputs.filter((o) => !o.direct);
  const exits = copied.map((o): object => ({
    name: `exit_${o.name}`,
    opType: 'Identity',
    input: [nameOf(o.value)],
    output: [o.name],
  }));
  const constants = [...graph.constants].map(([value, constant]) => initializer(value, constant));
  return ModelProto.encode({
    irVersion: IR_VERSION,
    producerName: 'gauntlet',
    opsetImport: [
      { domain: '', version: graph.nodes.some(({ op }) => NEWER.has(op)) ? NEWER_OPSET : OPSET },
      { domain: MICROSOFT, version: 1 },
    ],
    graph: {
      name: 'gauntlet',
      node: [...nodes, ...exits],
      initializer: [...constants, ...operands.initializers],
      input: graph.inputs.map((v) => valueInfo(v.name, v)),
      output: graph.outputs.map((o) => valueInfo(o.name, o.value)),
    },
  }).finish();
}
