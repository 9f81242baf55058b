// The benchmark cases as data. Each case names its work, its shape, its contenders and the ratios to reach.
import type { ShapeName } from './shapes.js';

/** `torch-trained` is torch with the output projection only at trained positions, as in our graphs. */
export const CONTENDERS = ['ours', 'torch', 'torch-trained', 'llama'] as const;
export type Contender = (typeof CONTENDERS)[number];

/** The work of a case, with lengths in tokens. Decoding is greedy, includes the prefill, and has no adapter by default. */
export type Work =
  | { kind: 'train'; rows: number; length: number } // one PPO update: forward, backward, and AdamW with rank 8 in every layer
  | { kind: 'ragged'; problems: number; samples: number } // the same update on chains of five answers that differ in length
  | { kind: 'score'; rows: number; length: number } // computes log-probs of given tokens, with the adapter
  | DecodeWork
  | StepWork;

export type Quantized = 'int8' | 'int4';

export interface DecodeWork {
  kind: 'decode';
  rows: number;
  prompt: number;
  newTokens: number;
  samples?: number; // the number of rows per prompt
  adapter?: true;
}
/** One training step: samples chains of five stages and tests of one chain per problem, then makes a PPO update. */
export interface StepWork {
  kind: 'step';
  problems: number;
  samples: number;
  newTokens: number; // the length limit of an answer
  testTokens: number;
}

/** A goal for the ratio of medians, theirs / ours: the required minimum and the aim. */
export interface Goal {
  least?: number;
  aim?: number;
}

export interface Case {
  id: string;
  group: 'step' | 'training' | 'decoding' | 'prefill' | 'scoring' | 'memory' | 'growth';
  shape: ShapeName;
  work: Work;
  quantization?: Quantized; // the quantization of our weights
  contenders: readonly Contender[];
  goals?: Partial<Record<Contender, Goal>>;
  series?: { name: string; at: number }; // a growth case is the point `at` of this series
  /** For large work: no other contender is in memory, and this smaller work warms up each new process. */
  alone?: Work;
  quick?: true; // the option --quick includes this case
}

/** The tokens that the speed of a case counts: the generated tokens, or the given tokens if none are generated. */
export function tokensOf(work: Extract<Work, { rows: number }>): number {
  if (work.kind !== 'decode') return work.rows * work.length;
  return work.rows * (work.newTokens === 1 ? work.prompt : work.newTokens);
}

const BOTH = ['ours', 'torch'] as const;
const DECODERS = ['ours', 'torch', 'llama'] as const;
const ALL_TORCH = ['ours', 'torch', 'torch-trained'] as const;
type Extra = Partial<Case>;
const train = (shape: ShapeName, rows: number, length: number, extra: Extra = {}): Case => {
  const work = { kind: 'train', rows, length } as const;
  return { id: `train ${shape} ${rows}x${length}`, group: 'training', shape, work, contenders: BOTH, ...extra };
};
const score = (shape: ShapeName, rows: number, length: number): Case => {
  const work = { kind: 'score', rows, length } as const;
  return { id: `score ${shape} ${rows}x${length}`, group: 'scoring', shape, work, contenders: BOTH };
};
const decode = (shape: ShapeName, rows: number, newTokens: number, extra: Extra = {}): Case => {
  const work = { kind: 'decode', rows, prompt: 32, newTokens } as const;
  return { id: `decode ${shape} batch ${rows}`, group: 'decoding', shape, work, contenders: DECODERS, ...extra };
};
const prefill = (shape: ShapeName, rows: number, prompt: number, extra: Extra = {}): Case => {
  const work = { kind: 'decode', rows, prompt, newTokens: 1 } as const;
  return { id: `prefill ${shape} ${rows}x${prompt}`, group: 'prefill', shape, work, contenders: DECODERS, ...extra };
};
const memory = (timed: Case, extra: Extra = {}): Case => {
  return { ...timed, id: `memory ${timed.id}`, group: 'memory', goals: undefined, quick: undefined, ...extra };
};
const growth = (timed: Case, name: string, at: number, extra: Extra = {}): Case => {
  return { ...timed, id: `growth ${name} ${at}`, group: 'growth', series: { name, at }, contenders: BOTH, ...extra };
};

/** The tiny shape with another number of layers than 4. */
const layered = (layers: 2 | 4 | 8 | 12): ShapeName => (layers === 4 ? 'tiny' : `tiny-${layers}l`);

export const CASES: readonly Case[] = [
  train('embedded', 128, 120),
  train('tiny', 16, 256, { goals: { torch: { least: 1.25, aim: 1.5 } }, quick: true }),
  train('0.5b-6l', 1, 256, { goals: { torch: { least: 1.5, aim: 2 } }, contenders: ALL_TORCH, quick: true }),
  train('1.5b-2l', 1, 256, { contenders: ALL_TORCH }),
  decode('embedded', 128, 60),
  decode('embedded', 128, 60, {
    id: 'decode embedded 32 prompts x 4',
    work: { kind: 'decode', rows: 128, prompt: 60, newTokens: 60, samples: 4 },
    contenders: ['ours'],
  }),
  decode('tiny', 1, 64, { goals: { llama: { aim: 1 } }, quick: true }),
  decode('tiny', 8, 64, { goals: { torch: { least: 3, aim: 5 }, llama: { aim: 1 } }, quick: true }),
  decode('tiny', 32, 64, { goals: { torch: { least: 2.2, aim: 3 }, llama: { least: 1.3 } }, quick: true }),
  decode('0.5b-6l', 1, 64),
  decode('0.5b-6l', 8, 64, { goals: { torch: { least: 2.7, aim: 3.5 }, llama: { least: 1.3 } } }),
  decode('0.5b-6l', 32, 64),
  decode('1.5b-2l', 1, 64),
  decode('1.5b-2l', 8, 64),
  decode('1.5b-2l', 32, 16),
  prefill('tiny', 8, 256, { quick: true }),
  prefill('0.5b-6l', 1, 512),
  prefill('0.5b-6l', 8, 256),
  prefill('1.5b-2l', 1, 512),
  score('embedded', 128, 120),
  score('tiny', 16, 256),
  score('0.5b-6l', 1, 512),
  memory(train('tiny', 16, 256), { quick: true }),
  memory(train('0.5b-6l', 1, 256)),
  memory(train('1.5b-2l', 1, 256)),
  memory(decode('tiny', 8, 64)),
  memory(decode('0.5b-6l', 8, 64)),
  memory(decode('1.5b-2l', 8, 16)),
  ...[64, 128, 256, 512, 1024].map((length) => growth(train('tiny', 4, length), 'train, 4 rows, by length', length)),
  ...[1, 2, 4, 8, 16, 32].map((rows) => growth(train('tiny', rows, 128), 'train, 128 tokens, by rows', rows)),
  ...([2, 4, 8, 12] as const).map((n) => growth(train(layered(n), 8, 128), 'train, 8 x 128, by layers', n)),
  ...[64, 128, 256, 512, 1024].map((prompt) =>
    growth(decode('tiny', 4, 64), 'decode, 4 rows, by prompt', prompt, {
      work: { kind: 'decode', rows: 4, prompt, newTokens: 64 },
    }),
  ),
  ...[1, 2, 4, 8, 16, 32].map((rows) => growth(decode('tiny', rows, 64), 'decode, 64 new, by rows', rows)),
  ...([2, 4, 8, 12] as const).map((n) => growth(decode(layered(n), 8, 64), 'decode, 8 rows, by layers', n)),
];

const realDecode = (rows: number, extra: Extra): Case => {
  const work = { kind: 'decode', rows, prompt: 64, newTokens: 128, adapter: true } as const;
  const id = `decode smollm2 ${rows} rows`;
  return { id, group: 'decoding', shape: 'smollm2', work, contenders: BOTH, ...extra };
};
const realQuantized = (rows: number, quantization: Quantized, goal?: Goal): Case =>
  realDecode(rows, {
    id: `decode smollm2 ${rows} rows, ${quantization}`,
    quantization,
    contenders: ['ours', 'llama'],
    ...(goal && { goals: { llama: goal } }),
  });

/** The cases of `npm run bench -- real`, which uses SmolLM2-135M-Instruct. */
export const REAL_CASES: readonly Case[] = [
  realDecode(8, { goals: { torch: { least: 2.5 } }, quick: true }),
  realDecode(32, { goals: { torch: { least: 3 } }, quick: true }),
  realQuantized(8, 'int4', { least: 1.5 }),
  realQuantized(32, 'int4', { least: 2 }),
  realQuantized(8, 'int8'),
  realQuantized(32, 'int8'),
  {
    id: 'train smollm2 16 x 4 chains',
    group: 'training',
    shape: 'smollm2',
    work: { kind: 'ragged', problems: 16, samples: 4 },
    alone: { kind: 'ragged', problems: 2, samples: 4 },
    contenders: ALL_TORCH,
    goals: { 'torch-trained': { least: 1.4 } },
  },
  {
    id: 'step smollm2 16 x 4 chains',
    group: 'step',
    shape: 'smollm2',
    work: { kind: 'step', problems: 16, samples: 4, newTokens: 48, testTokens: 48 },
    alone: { kind: 'step', problems: 2, samples: 4, newTokens: 48, testTokens: 48 },
    contenders: ['ours', 'torch-trained'],
    goals: { 'torch-trained': { least: 2.5 } },
  },
];

/**
 * Groups the cases by shape, so that every model is opened once. Memory is measured first, while no model is open.
 * @param only parts of ids, one of which must match; an empty list selects all cases
 */
export function selectCases(all: readonly Case[], only: readonly string[], quick: boolean): Case[] {
  const wanted = all.filter(
    ({ id, quick: short }) =>
      (!quick || short === true || only.length > 0) &&
      (only.length === 0 || only.some((part) => id.toLowerCase().includes(part.toLowerCase()))),
  );
  const rank = (c: Case): number =>
    all.findIndex(({ shape }) => shape === c.shape) * 2 + (c.group === 'memory' ? 0 : 1);
  return [...wanted].sort((a, b) => rank(a) - rank(b) || all.indexOf(a) - all.indexOf(b));
}
