// Samples one turn for every row of a batch. A prompt that fills the context gives a truncated, empty answer.
import { extendKey } from '../../core/base/random.js';
import { PROMPTS, type PromptProblem, testRequest } from '../../core/prompts/prompts.js';
import { promptOf, sampledRanges, type TokenTurn } from '../../core/rl/trajectories.js';
import type { Chain, SampledTurn, Stage, Turn } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Chat, Engine, GenerateOptions, GenerateRequest, ModelInfo } from '../../ml/engine/engine.js';
import type { Scope } from '../scope.js';
import type { Sampler } from './remoteRollouts.js';

export interface SamplingRow {
  turns: readonly TokenTurn[]; // the sequence so far
  prompt: number[]; // appended to it before sampling
  begun?: string | undefined; // the text of the answer that the prompt already has
  key: readonly [number, number];
}

/** Replaces null in the sampling settings by the model's recommendation, or without one by temperature 1 and no filter. */
export function withModelDefaults(config: RunConfig, { generation }: ModelInfo): RunConfig {
  const { sampling } = config;
  return {
    ...config,
    sampling: {
      ...sampling,
      temperature: sampling.temperature ?? generation.temperature ?? 1,
      topP: sampling.topP ?? generation.topP ?? 1,
      topK: sampling.topK ?? generation.topK ?? 0,
      repetitionPenalty: sampling.repetitionPenalty ?? generation.repetitionPenalty ?? 1,
    },
  };
}

/** The temperature of training samples. `prepareRun` has replaced null. */
export const trainingTemperature = ({ sampling }: RunConfig): number => sampling.temperature ?? 1;

/** The filters of evaluation and solving. Disabled filters are absent. */
export function samplingFilters({ sampling }: RunConfig): Pick<GenerateOptions, 'topP' | 'topK' | 'repetitionPenalty'> {
  const { topP, topK, repetitionPenalty } = sampling;
  return {
    ...(topP !== null && topP < 1 ? { topP } : {}),
    ...(topK ? { topK } : {}),
    ...(repetitionPenalty !== null && repetitionPenalty > 1 ? { repetitionPenalty } : {}),
  };
}

type Asked = Pick<SamplingRow, 'prompt' | 'begun'>;
type Asker = Pick<Chat, 'openingTokens' | 'continuationTokens' | 'thinks'>;

/** The tokens that ask for the next stage of a chain. @param isCodeOnly see `opening` of the prompts */
export function stagePrompt(
  chat: Asker,
  { prompts }: RunConfig,
  problem: PromptProblem,
  turns: readonly (Pick<Turn, 'answerTokens'> & { truncated?: boolean })[],
  stage: Stage,
  isCodeOnly?: boolean,
): Asked {
  const last = turns.at(-1);
  const { opening, answer, continuation } = PROMPTS[prompts];
  const begun = chat.thinks() ? undefined : answer?.(stage).begun;
  if (!last) return { prompt: chat.openingTokens(opening(problem, stage, isCodeOnly), begun), begun };
  return { prompt: chat.continuationTokens(continuation(problem, stage), endTokenOf(last), begun), begun };
}

/** The input for sampling the next turn of each chain: its prompt and its random key. */
export const stageRows = (
  { config, chat }: { config: RunConfig; chat: Chat },
  problemOf: (id: string) => PromptProblem,
  chains: readonly Chain[],
  stage: Stage,
  batchKey: readonly [number, number],
): SamplingRow[] =>
  chains.map(({ turns, problemId, sample }) => ({
    turns,
    ...stagePrompt(chat, config, problemOf(problemId), turns, stage),
    key: extendKey(batchKey, problemId, sample, stage),
  }));

const endTokenOf = ({ truncated, answerTokens }: Parameters<typeof stagePrompt>[3][number]): number | undefined =>
  truncated ? undefined : answerTokens.at(-1);

/** The tokens that ask for tests of one stage of a chain. */
export function testPrompt(
  chat: Asker,
  config: RunConfig,
  problem: PromptProblem,
  turns: readonly Pick<Turn, 'stage' | 'text'>[],
  stage: Stage,
): Asked {
  const work = turns.findLast((turn) => turn.stage === stage)?.text ?? '';
  const { discriminator, tests } = PROMPTS[config.prompts];
  const request = testRequest(config);
  const begun = chat.thinks() ? undefined : tests?.(problem.entry, request).begun;
  return { prompt: chat.openingTokens(discriminator(problem, stage, work, request), begun), begun };
}

/** Where an answer ends. The texts of the prompts do not end the answer of a model that thinks: its thoughts may have them. */
export function answerLimits(
  config: RunConfig,
  { engine, chat }: { engine: Engine; chat: Chat },
  answer: Stage | 'tests',
): Pick<GenerateOptions, 'maxNewTokens' | 'stopSequences'> {
  const { answer: ofStage, tests } = PROMPTS[config.prompts];
  const limits = answer === 'tests' ? tests?.('', testRequest(config)) : ofStage?.(answer);
  const { maxNewTokens, maxTestTokens } = config.sampling;
  return {
    maxNewTokens: answer === 'tests' ? maxTestTokens : maxNewTokens,
    ...(limits && !chat.thinks() && { stopSequences: limits.stops.map((stop) => engine.encode(stop)) }),
  };
}

type Sampled = { turns: SampledTurn[]; tokens: number };

/** Samples the rows of each adapter together. @param adapters by row. @returns turns by row */
export async function sampleByAdapter<A>(
  rows: readonly SamplingRow[],
  adapters: readonly A[],
  sample: (rows: SamplingRow[], adapter: A) => Promise<Sampled>,
): Promise<Sampled> {
  const turns: SampledTurn[] = [];
  let tokens = 0;
  for (const adapter of new Set(adapters)) {
    const places = rows.flatMap((_, i) => (adapters[i] === adapter ? [i] : []));
    const own = places.map((i) => rows[i]!);
    const sampled = await sample(own, adapter);
    for (const [j, i] of places.entries()) turns[i] = sampled.turns[j]!;
    tokens += sampled.tokens;
  }
  return { turns, tokens };
}

export async function sampleTurns(
  scope: Pick<Scope, 'signal' | 'heartbeat'>,
  { engine, chat, sampler = engine }: { engine: Engine; chat: Chat; sampler?: Sampler },
  rows: SamplingRow[],
  options: Omit<GenerateOptions, 'stopTokens' | 'signal' | 'onProgress'>,
): Promise<Sampled> {
  const { contextLength } = engine.info;
  const asked = rows.map(({ turns, prompt, key }): GenerateRequest => {
    const sampled = sampledRanges(turns);
    const whole = promptOf(turns, prompt);
    return { prompt: whole, key, ...(sampled.length > 0 ? { sampled } : {}) };
  });
  const room = ({ prompt }: GenerateRequest): boolean => prompt.length < contextLength;
  const sampled = asked.filter(room);
  const stopTokens = chat.endTokens();
  const answers =
    sampled.length === 0
      ? []
      : await sampler.generate(sampled, {
          ...options,
          stopTokens,
          signal: scope.signal,
          onProgress: (tokens) => scope.heartbeat({ tokens }),
        });
  let next = 0;
  let tokens = 0;
  const turns = rows.map((row, i): SampledTurn => {
    if (!room(asked[i]!)) return { promptTokens: row.prompt, answerTokens: [], text: '', truncated: true };
    const { tokens: answerTokens, finished, logprobs } = answers[next++]!;
    tokens += answerTokens.length;
    const thinking = chat.thinkingRange(row.prompt, answerTokens);
    const start = Math.max(0, (thinking?.[1] ?? 0) - row.prompt.length);
    const isThinking = !finished && thinks(engine.decode(row.prompt.slice(-8)), engine.decode(answerTokens));
    const hasEnd = finished && stopTokens.includes(answerTokens.at(-1)!); // not a stop sequence
    const written = engine.decode(answerTokens.slice(start, hasEnd ? -1 : undefined));
    const text = isThinking ? '' : (row.begun ?? '') + written;
    const turn = { promptTokens: row.prompt, answerTokens, thinking, text, truncated: !finished };
    return { ...turn, logprobs };
  });
  return { turns, tokens };
}

/** Whether a cut answer ends within its thinking, which the answer or its prompt began. Such an answer has nothing to judge. */
const thinks = (promptEnd: string, answer: string): boolean =>
  !answer.includes('</think>') && (/^\s*<think>/.test(answer) || /<think>\s*$/.test(promptEnd));
