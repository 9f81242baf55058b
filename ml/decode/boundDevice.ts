// Runs the slots of slots.ts in memory that stays bound, on a CUDA device or on the host: caches, state and weights stay where
// they are, and the steps of a chunk run without a copy. stepGraph.ts describes the buffers.
import type { Tensors } from '../device/baseWeights.js';
import { type Binding, DeviceSession, type DeviceSessionOptions, DeviceTensor } from '../device/deviceSession.js';
import { dtypeOf, type Graph } from '../ir/graph.js';
import type { DType } from '../ir/op.js';
import { attentionFor, type CacheAttention, type CacheType } from '../nn/cacheAttention.js';
import type { DecoderConfig } from '../nn/config.js';
import type { WeightsOf } from '../nn/decodeGraph.js';
import { buildPromptGraph } from '../nn/promptGraph.js';
import type { GraphSampling } from '../nn/samplingGraph.js';
import { buildSamplingStep, STATE } from '../nn/stepGraph.js';
import { encodeModel } from '../onnx/encode.js';
import type { DecodeOptions } from './decodeSession.js';
import { graphSampling } from './sampler.js';
import { promptRows, type RowStart, type RowStates, type SlotDevice } from './slots.js';
import { cacheShapes, callInputs, type Inputs, promptInputs } from './stepInputs.js';

export interface BoundDeviceOptions {
  rows: number;
  positions: number; // length of a row, at most the model's context
  steps: number; // length of a chunk
  attention?: CacheAttention; // default: what suits the device
  type?: CacheType; // the type of weights and caches; default float32
  session: DeviceSessionOptions; // `recorded` applies to steps only: the lengths of prompts vary
  weights?: Tensors; // needed if weights are inputs; the caller disposes of them
}

/** The session for one kind of sampling, bound in two ways. Step k of a chunk runs binding k mod 2. */
type Steps = [Binding, Binding];

export class BoundDevice implements SlotDevice {
  readonly rows: number;
  readonly positions: number;
  readonly steps: number;
  private readonly attention: CacheAttention;
  private readonly prompts: DeviceSession;
  private readonly promptWeights: Tensors;
  private readonly opened = new Map<string, Steps>();
  private current: Steps | undefined;
  private readonly caches: Tensors = {}; // the caches with a spare row, to which padding is written
  private readonly views: Tensors = {}; // the caches without the spare row
  private readonly state: [Tensors, Tensors];
  private readonly inputs: Tensors; // the inputs that are the same in every step of a call
  private readonly emitted: DeviceTensor;
  private readonly releases: (() => void)[] = []; // functions that free everything above

  /** @throws {GauntletError} ENGINE_FAULT, DEVICE_UNAVAILABLE */
  constructor(
    private readonly c: DecoderConfig,
    private readonly weightsOf: WeightsOf,
    private readonly options: BoundDeviceOptions,
  ) {
    const { type = 'float32', session, rows, positions, steps } = options;
    [this.rows, this.positions, this.steps] = [rows, positions, steps];
    this.attention = options.attention ?? attentionFor(c, session.memory, type);
    const { memory } = session;
    const make = (of: DType, dims: readonly number[]) => this.hold(DeviceTensor.empty(memory, of, dims));
    try {
      const graph = buildPromptGraph(c, weightsOf, { positions, type, attention: this.attention });
      this.promptWeights = inputsOf(graph, options.weights);
      this.prompts = this.openSession(graph, { ...session, recorded: false });
      for (const [name, dims] of cacheShapes(c, rows + 1, positions)) {
        const cache = zeroed(make(type, dims));
        this.caches[name] = cache;
        this.views[name] = this.hold(cache.rows(0, rows));
      }
      const state = (): Tensors =>
        Object.fromEntries(STATE.map((name) => [name, make('int64', [name === 'step' ? 1 : rows])]));
      this.state = [state(), state()];
      this.inputs = {
        ends: make('int64', [c.vocab]),
        uniforms: make('float64', [steps, rows]),
        scale: make('float32', [1]),
        topP: make('float64', [1]),
      };
      this.emitted = make('int64', [steps, rows]);
    } catch (error) {
      this.close(); // frees what was allocated before the device had no more room
      throw error;
    }
  }

  /** @throws {RangeError} for options that `graphSampling` does not support */
  begin(options: DecodeOptions): void {
    const sampling = graphSampling(options, this.c.vocab);
    if (!sampling) throw new RangeError('a graph cannot sample with a repetition penalty or return log-probs');
    const key = JSON.stringify(sampling);
    this.current = this.opened.get(key) ?? this.open(sampling);
    this.opened.set(key, this.current);
    for (const [name, { data }] of Object.entries(callInputs(this.c, options))) this.inputs[name]!.write(data);
  }

  readStarts(starts: readonly RowStart[], length: number): void {
    const { memory } = this.options.session;
    // the sizes of products on a GPU decide how they are rounded, so they are always the same there
    const rows = memory === 'cpu' ? starts.length : promptRows(length);
    const host = hostTensors(promptInputs(this.c, this.attention, starts, { length, rows, spare: this.rows }));
    const inputs = { ...this.promptWeights, ...host, ...this.caches };
    const binding = this.prompts.bind(inputs, outputNames(this.caches));
    try {
      binding.run();
    } finally {
      binding.dispose();
      dispose(host);
    }
  }

  runSteps(states: RowStates, count: number): BigInt64Array {
    const [first] = this.state;
    for (const name of ['token', 'position', 'limit'] as const) first[name]!.write(states[name]);
    first.step!.write(new BigInt64Array(1));
    this.inputs.uniforms!.write(states.uniforms);
    for (let k = 0; k < count; k++) this.current![k % 2]!.run();
    return this.emitted.read() as BigInt64Array;
  }

  close(): void {
    for (const release of this.releases.splice(0).reverse()) release();
  }

  private hold<T extends { dispose(): void }>(made: T): T {
    this.releases.push(() => made.dispose());
    return made;
  }

  private openSession(graph: Graph, options: DeviceSessionOptions): DeviceSession {
    const session = DeviceSession.open(encodeModel(graph), options);
    this.releases.push(() => session.close());
    return session;
  }

  private open(sampling: GraphSampling): Steps {
    const graph = buildSamplingStep(this.c, this.weightsOf, { ...this.options, attention: this.attention, sampling });
    const session = this.openSession(graph, this.options.session);
    const used = { ...this.options.weights, ...inputsOf(graph, this.inputs) };
    const both = { ...this.views, emitted: this.emitted };
    const bind = (from: Tensors, to: Tensors): Binding =>
      this.hold(session.bind({ ...used, ...both, ...from }, outputNames({ ...both, ...to })));
    const [a, b] = this.state;
    return [bind(a, b), bind(b, a)];
  }
}

/** Fills a cache with zeros: attention multiplies positions that nobody wrote by 0, so they must be numbers. */
function zeroed(tensor: DeviceTensor): DeviceTensor {
  const Type = tensor.type === 'float32' ? Float32Array : Uint16Array;
  tensor.write(new Type(tensor.size));
  return tensor;
}

/** The tensors that the graph has as inputs. */
function inputsOf(graph: Graph, tensors: Tensors = {}): Tensors {
  const names = new Set(graph.inputs.map(({ name }) => name));
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => names.has(name)));
}

const outputNames = (tensors: Tensors): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${name}.out`, tensor]));

const hostTensors = (inputs: Inputs): Tensors =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, { data, dims }]) => [name, DeviceTensor.of(dtypeOf(data), data, dims)]),
  );

function dispose(tensors: Tensors): void {
  for (const tensor of Object.values(tensors)) tensor.dispose();
}
