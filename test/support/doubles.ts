// Exact and fast doubles for the dependencies of activities: an engine whose "policy" is one number, and a sandbox that
// runs one kind of program.
import type { Deps } from '../../chains/scope.js';
import { uniformAt } from '../../core/base/random.js';
import { textOf } from '../../core/prompts/prompts.js';
import { isIn } from '../../core/run/shards.js';
import type { CallResult, ExecutionJob, ExecutionResult, TestJob, TestRun } from '../../core/schema/execution.js';
import type { Problem, ProblemSet } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type {
  Adapter,
  Chat,
  Engine,
  GenerateRequest,
  GradientPart,
  GradientSums,
  LossConfig,
} from '../../ml/engine/engine.js';
import type { GenerationDefaults } from '../../ml/hf/config.js';
import { GradientTotal } from '../../ml/train/statistics.js';
import { reduceCall } from '../../sandbox/answers.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { temporaryFolder } from '../infra/support.js';
import { MEMORY_FOLDER } from './memoryFolder.js';
import { openMemoryStore } from './memoryStore.js';

const EOS = 0;
const SIZE = 4; // the values of an adapter; the first one is the log-odds of a good answer
/** New adapters with this rank give only good answers. */
export const SKILLED_RANK = 1;

/** solve(x) = x + n. Baseline inputs are small; hidden inputs detect a program that is correct only for small x. */
export function addProblem(n: number): Problem {
  const test = (x: number) => ({ args: [x], expected: x + n });
  return {
    id: `add-${n}`,
    description: `add ${n}`,
    functionSignature: 'def solve(x):',
    entry: 'solve',
    baselineTests: [test(0), test(1)],
    hiddenTests: [test(0), test(2), test(7)],
    referenceSolution: `def solve(x):\n    return x + ${n}`,
    difficulty: 'easy',
    tags: [],
    comparison: 'lenient',
  };
}

export const addProblems = (from: number, count: number): Problem[] =>
  Array.from({ length: count }, (_, i) => addProblem(from + i));

export const problemSet = (): ProblemSet => ({
  train: addProblems(1, 12),
  validation: addProblems(20, 4),
  test: addProblems(30, 6),
});

const PROGRAM = /return x \+ (\d+)( if x < 3 else 0)?$/;

/** Interprets the programs `x + n`, `x + n if x < 3 else 0` and `while True`. Other text does not parse. */
export function runAddProgram(code: string, x: unknown): CallResult {
  if (code.includes('while True')) return { kind: 'timeout', message: 'endless' };
  const match = PROGRAM.exec(code);
  if (!match || typeof x !== 'number') return { kind: 'error', message: 'SyntaxError' };
  return { kind: 'value', value: match[2] && x >= 3 ? 0 : x + Number(match[1]) };
}

/** Two mutants: `x + n + 1`, and one that is correct only for small x. */
function mutantsOfAddProgram(code: unknown): CallResult {
  const n = Number(PROGRAM.exec(String(code))?.[1]);
  const bodies = [`x + ${n + 1}`, `x + ${n} if x < 3 else 0`];
  return { kind: 'value', value: bodies.map((body) => `def solve(x):\n    return ${body}`) };
}

/** What every search for inputs finds. */
export const SEARCHED: Value[][] = [[901], [902]];

/** The `run` of a sandbox in which `call` answers every call. */
export const answerWith =
  (call: (job: ExecutionJob<unknown>, args: Value[], index: number) => CallResult): Sandbox['run'] =>
  async (jobs) =>
    jobs.map((job) => ({
      id: job.id,
      ms: 1,
      calls: job.inputs.map((args, i) => reduceCall(job, call(job, args, i), i)),
    }));

export class FakeSandbox implements Sandbox {
  readonly info = { kind: 'wasm', description: 'double', boundary: false } as const;
  readonly jobs: ExecutionJob[] = [];
  async run<Kept = Value>(jobs: ExecutionJob<Kept>[]): Promise<ExecutionResult<Kept>[]> {
    this.jobs.push(...(jobs as ExecutionJob[]));
    return answerWith(({ code, entry }, [x]) => {
      if (entry === 'search') return { kind: 'value', value: SEARCHED };
      return entry === 'mutants' ? mutantsOfAddProgram(x) : runAddProgram(code, x);
    })(jobs);
  }
  readonly testJobs: TestJob[] = [];
  /** Reads test source, in which each line `assert solve(x) == y` is a test. */
  async runTests(jobs: TestJob[]): Promise<TestRun[]> {
    this.testJobs.push(...jobs);
    return jobs.map(({ id, code, files, only }) => {
      const lines = Object.values(files).join('\n').split('\n');
      const tests = lines.flatMap((line, i): TestRun['tests'] => {
        const [, x, y] = /^assert solve\((\d+)\) == (\d+)$/.exec(line) ?? [];
        const name = `line ${i + 1}`;
        if (x === undefined || !(only?.includes(name) ?? true)) return [];
        const call = runAddProgram(code, Number(x));
        if (call.kind !== 'value') return [{ name, outcome: call.kind, message: call.message }];
        return [{ name, outcome: call.value === Number(y) ? 'pass' : 'fail', message: null }];
      });
      return { id, tests, ms: 1 };
    });
  }
  async close(): Promise<void> {}
}

/** Each character is a token. A better adapter writes better programs and better tests. */
export class FakeEngine implements Engine {
  readonly info = {
    path: 'double',
    architecture: 'Double',
    digest: `sha256:${'d'.repeat(64)}`,
    parameters: 0,
    vocabSize: 256,
    contextLength: 1000,
    eosTokens: [EOS],
    generation: {} as GenerationDefaults,
  };
  calls: string[] = [];
  /** The number of rows that were computed, by the kind of work. */
  rows = { generate: 0, logprobs: 0, values: 0, gradients: 0 };
  losses: LossConfig[] = [];
  /** A tokenizer that knows the markers of the style 'tiny': `<gen>` alone is one token. */
  encode = (text: string): number[] => (text === '<gen>' ? [1] : [...text].map((char) => char.charCodeAt(0)));
  decode = (tokens: number[]): string => String.fromCharCode(...tokens.filter((token) => token !== EOS));
  chat = (): Chat => ({
    thinks: () => false,
    openingTokens: (messages, begun = '') =>
      this.encode(messages.map(({ content }) => textOf(content)).join('\n') + begun),
    endTokens: () => [EOS],
    answerTokens: (text) => [...this.encode(text), EOS],
    continuationTokens: (content, endToken, begun = '') =>
      this.encode((endToken === EOS ? '' : '!') + textOf(content) + begun),
    thinkingRange: () => undefined,
  });

  initAdapter(config: Parameters<Engine['initAdapter']>[0], seed: number): Adapter {
    const values = Array.from({ length: SIZE }, (_, i) => (i === 0 ? 0 : (seed % 97) / 97 + i));
    if (config.rank === SKILLED_RANK) values[0] = 20;
    return { ...config, values: Float32Array.from(values) };
  }
  newOptimizerState = ({ values }: Adapter) => ({
    step: 0,
    m: new Float32Array(values.length),
    v: new Float32Array(values.length),
  });

  async generate(rows: GenerateRequest[], options: Parameters<Engine['generate']>[1]) {
    this.count('generate', rows.length);
    options.signal?.throwIfAborted();
    const skill = 1 / (1 + Math.exp(-(options.adapter?.values[0] ?? 0)));
    return rows.map(({ prompt, key }) => {
      const draw = options.temperature === 0 ? 0.4 : uniformAt(key, 0);
      const tokens = [...this.encode(answer(this.decode(prompt), draw, skill)), EOS];
      const finished = tokens.length <= options.maxNewTokens;
      return { tokens: finished ? tokens : tokens.slice(0, options.maxNewTokens), finished };
    });
  }

  stats = () => ({ prefilled: 0, redecoded: 0, reused: 0, sampled: 0 });

  async logprobs(rows: { tokens: number[] }[], { adapter }: Parameters<Engine['logprobs']>[1]) {
    this.count('logprobs', rows.length);
    const shift = adapter?.values[0] ?? 0;
    return rows.map(({ tokens }) => tokens.map((token, t) => (t === 0 ? 0 : -((token % 7) + 1) / 10 + shift / 100)));
  }

  async scores(...args: Parameters<Engine['scores']>) {
    const logprobs = await this.logprobs(...args);
    return logprobs.map((own) => ({ logprobs: own, entropies: own.map((logprob) => logprob / -2) }));
  }

  async scoreShard(rows: { tokens: number[] }[], options: Parameters<Engine['scoreShard']>[1]) {
    const own = rows.map((_, i) => isIn(i, options.shard));
    const scores = await this.scores(
      rows.filter((_, i) => own[i]),
      options,
    );
    return own.map((isOwn) => (isOwn ? scores.shift()! : null));
  }

  async gradients(rows: Parameters<Engine['gradients']>[0], options: Parameters<Engine['gradients']>[1]) {
    return this.sumGradients(rows, options, await this.gradientShard(rows, { ...options, shard: { index: 0, of: 1 } }));
  }

  /** Divides a batch into one part per row. */
  async gradientShard(rows: Parameters<Engine['gradients']>[0], options: Parameters<Engine['gradientShard']>[1]) {
    const parts = rows.flatMap((row, index) =>
      isIn(index, options.shard) ? [{ index, sums: partOf(row, index, options) }] : [],
    );
    this.count('gradients', parts.length);
    this.losses.push(options.loss);
    return parts;
  }

  private count(kind: keyof FakeEngine['rows'], rows: number): void {
    this.calls.push(kind);
    this.rows[kind] += rows;
  }

  sumGradients(_: unknown, { adapter }: Parameters<Engine['sumGradients']>[1], parts: readonly GradientPart[]) {
    const total = new GradientTotal(adapter.values.length);
    const ordered = [...parts].sort((a, b) => a.index - b.index);
    for (const { sums } of ordered) total.add(sums);
    return { ...total.sums, loss: -1, ratios: ordered.flatMap(({ sums }) => sums.ratios!) };
  }

  async applyUpdate(
    adapter: Adapter,
    state: ReturnType<FakeEngine['newOptimizerState']>,
    sums: Awaited<ReturnType<FakeEngine['gradients']>>,
    config: { learningRate: number },
  ) {
    this.calls.push('applyUpdate');
    const values = adapter.values.map(
      (value, i) => value - (1000 * config.learningRate * sums.gradients[i]!) / sums.tokens,
    );
    return {
      adapter: { ...adapter, values },
      state: { step: state.step + 1, m: sums.gradients, v: state.v },
      stats: {
        loss: -1,
        ratio: 1,
        approxKl: 0,
        clipFraction: 0,
        entropy: 1,
        gradNorm: 1,
        tokens: sums.tokens,
      },
    };
  }

  exportAdapter({ rank, alpha, values }: Adapter) {
    return new Map([
      ['adapter_config.json', new TextEncoder().encode(JSON.stringify({ r: rank, lora_alpha: alpha }))],
      ['adapter_model.safetensors', new Uint8Array(values.slice().buffer)],
    ]);
  }
  importAdapter(files: Map<string, Uint8Array>): Adapter {
    const config = JSON.parse(new TextDecoder().decode(files.get('adapter_config.json')));
    const { r: rank, lora_alpha: alpha } = config as { r: number; lora_alpha: number };
    return { rank, alpha, values: new Float32Array(files.get('adapter_model.safetensors')!.slice().buffer) };
  }
  async close(): Promise<void> {}
}

/** A positive advantage raises the first value; the second counts trained tokens. */
function partOf(
  row: Parameters<Engine['gradients']>[0][number],
  index: number,
  { adapter }: Parameters<Engine['gradients']>[1],
): GradientSums {
  const gradients = new Float32Array(adapter.values.length);
  const tokens = row.mask.reduce((sum, m) => sum + m, 0);
  const text = String.fromCharCode(...row.tokens.filter((token) => token !== EOS)).trim();
  const good = /x \+ (\d+)$|\), /.test(text) ? 1 : -1;
  const advantage = row.advantages?.reduce((sum, a) => sum + a, 0) ?? row.advantage * tokens;
  gradients[0]! -= advantage * good;
  gradients[1]! += row.oldLogprobs.reduce((sum, p) => sum + p, 0);
  // different for every row, from 0.7 to 1.3
  const ratios = row.tokens.map((token, t) => row.mask[t]! * (0.7 + (token % 7) / 10 + index / 1e4));
  const means = { ratio: tokens, approxKl: 0, clipped: 0, entropy: tokens };
  return { gradients, loss: 0, divisor: tokens, ...means, tokens, ratios: [ratios] };
}

/** The answer of the double to a prompt in the tiny style. */
export function answer(prompt: string, draw: number, skill: number): string {
  const n = Number(/add (\d+)/.exec(prompt)?.[1]);
  if (prompt.startsWith('<disc>')) {
    if (draw < skill / 2) return `((7,), ${7 + n})\n((4,), ${4 + n})`;
    return draw < 0.8 ? `((2,), ${2 + n})\n((3,), ${n})` : 'no tests';
  }
  const stage = /<s(\d)>(?![\s\S]*<s\d>)/.exec(prompt)?.[1];
  if (stage !== '5') return `stage ${stage} of ${n}`;
  const body =
    draw < skill ? `x + ${n}` : draw < 0.8 ? `x + ${n} if x < 3 else 0` : draw < 0.95 ? `x + ${n + 1}` : null;
  return body === null ? 'def solve(x):\n    while True: pass' : `def solve(x):\n    return ${body}`;
}

export interface Doubles {
  deps: Deps;
  engine: FakeEngine;
  sandbox: FakeSandbox;
  folder: string;
}

/** Dependencies with a new store in a temporary folder. */
export async function doubles(changes: Partial<Deps> = {}): Promise<Doubles> {
  return around(await openStore(temporaryFolder({}, MEMORY_FOLDER)), changes);
}

/** Like `doubles`, but with a store in memory, which is several times as fast. `folder` does not exist. */
export async function memoryDoubles(changes: Partial<Deps> = {}): Promise<Doubles> {
  return around(openMemoryStore(), changes);
}

function around(store: ObjectStore, changes: Partial<Deps>): Doubles {
  const engine = new FakeEngine();
  const sandbox = new FakeSandbox();
  const deps: Deps = {
    store,
    engine: async () => engine,
    sandbox: async () => sandbox,
    loadProblems: async () => problemSet(),
    codeVersion: 'test',
    ...changes,
  };
  return { deps, engine, sandbox, folder: store.locate('') };
}

/** Two stages, each with one step of each kind. */
export const SMALL_RUN = {
  preset: 'tiny',
  seed: 3,
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 1 },
  batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 3, samples: 4 } },
  evaluation: { problems: 4, testProblems: 6 },
  // set here, so that a change of the preset does not change expected digests
  sampling: { temperature: 0.8, maxNewTokens: 96, maxTestTokens: 128 },
  testTurns: 1,
  ppo: { learningRate: 1e-3, schedule: 'constant', epochs: 2, minibatch: 32 },
  credit: 'stage',
  reward: { scheme: 'shifted' },
} as const;

/** One stage with answers in one turn, which leaves few files of every kind. */
export const TINIEST_RUN = {
  ...SMALL_RUN,
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 1 },
} as const;
