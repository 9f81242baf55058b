// Checks whether a problem fits into the models' context. A model cannot answer a longer problem, which would look like a failure.
import { setImmediate } from 'node:timers/promises';
import { promptOf } from '../../core/rl/trajectories.js';
import type { Role, Turn } from '../../core/schema/chain.js';
import { modelOf, type RunConfig } from '../../core/schema/config.js';
import type { Rejected } from '../../core/schema/problem.js';
import type { Chat, Engine } from '../../ml/engine/engine.js';
import type { Scope } from '../scope.js';
import { stagePrompt, testPrompt } from './sampling.js';

type Problem = Parameters<typeof stagePrompt>[2];

/** A model that reads the prompts of a role. */
export interface Reader {
  engine: Pick<Engine, 'info'>;
  chat: Chat;
}

export interface Readers {
  generator: Reader;
  discriminator?: Reader | undefined; // absent: no model writes tests
}

/** Opens the models that a configuration names. */
export async function openReaders(scope: Scope, config: RunConfig): Promise<Readers> {
  const { enabled, writer } = config.discriminator;
  const open = async (role: Role): Promise<Reader> => {
    const engine = await scope.deps.engine(modelOf(config, role), config.engine);
    return { engine, chat: engine.chat(config.templateArguments) };
  };
  const [generator, discriminator] = [await open('generator'), await open('discriminator')];
  return { generator, discriminator: enabled && writer === 'model' ? discriminator : undefined };
}

/** Why the models cannot read a problem. Undefined if each prompt leaves room for an answer after the shortest earlier answers. */
export function misfitOf(
  { generator, discriminator }: Readers,
  config: RunConfig,
  problem: Problem,
): string | undefined {
  const { contextLength, eosTokens } = generator.engine.info;
  const turns: Turn[] = [];
  for (const stage of config.stages) {
    const { prompt: promptTokens } = stagePrompt(generator.chat, config, problem, turns, stage);
    const { length } = promptOf(turns, promptTokens);
    if (length >= contextLength) {
      const which = turns.length === 0 ? 'prompt has' : `prompts up to stage ${stage} have`;
      return `the ${which} ${length} tokens, the model reads fewer than ${contextLength}: shorten the problem`;
    }
    turns.push({ stage, promptTokens, answerTokens: eosTokens.slice(0, 1), text: '', truncated: false });
  }
  if (discriminator === undefined) return undefined;
  const limit = discriminator.engine.info.contextLength;
  const { chat } = discriminator;
  const lengths = config.stages.map((stage) => testPrompt(chat, config, problem, [], stage).prompt.length);
  const longest = Math.max(...lengths);
  if (longest < limit) return undefined;
  return `the prompt for tests has ${longest} tokens, the model reads fewer than ${limit}: shorten the problem`;
}

/** Separates problems that fit from others. Lets other work run in between. @param most stops after this many that fit */
export async function partByFit<P extends Problem & { id: string }>(
  problems: readonly P[],
  { readers, config, most = Infinity, onProgress }: PartOptions,
): Promise<{ fitting: P[]; unfit: Rejected[] }> {
  const fitting: P[] = [];
  const unfit: Rejected[] = [];
  for (const problem of problems) {
    if (fitting.length >= most) break;
    const reason = misfitOf(readers, config, problem);
    if (reason === undefined) fitting.push(problem);
    else unfit.push({ id: problem.id, reason });
    onProgress?.(fitting.length + unfit.length);
    await setImmediate();
  }
  return { fitting, unfit };
}

interface PartOptions {
  readers: Readers;
  config: RunConfig;
  most?: number | undefined;
  onProgress?: (done: number) => void;
}
