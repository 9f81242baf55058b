// Samples training rollouts on a server, if the configuration names one. The engine scores every answer again before anything
// depends on it: a server that has another adapter, another base or another temperature, or that makes up tokens, is found
// here. Evaluations use the engine, so that every policy is measured with the same random draws.
import { measureMismatch, type ScoredTokens } from '../../core/rl/importance.js';
import { isEnded } from '../../ml/decode/decodeSession.js';
import type { Engine, Generated, GenerateOptions } from '../../ml/engine/engine.js';
import type { RemoteBatch, RolloutServer } from '../../ml/remote/rolloutServer.js';
import type { Digest } from '../../store/store.js';
import type { OpenRole } from '../artifacts.js';
import type { Scope } from '../scope.js';

/** What samples: the engine, or a server. */
export type Sampler = Pick<Engine, 'generate'>;

/** No rounding makes a sampled token this much more or less likely (in nats), so the answer is sampled again. */
const MAX_TOKEN_DIFFERENCE = 5;
const ROUNDS = 3;

/** The sampler of training rollouts with this adapter. */
export function rolloutSampler(scope: Scope, role: OpenRole, weights: Digest | undefined): Sampler {
  const { rollouts } = role.config;
  if (rollouts === undefined || weights === undefined) return role.engine;
  return {
    generate: async (requests, { adapter, ...options }) => {
      const server = scope.deps.rolloutServer!(rollouts);
      const { engine } = role;
      const batch = { ...options, model: engine.info, adapter: await role.served(weights) };
      const sampled: Required<Generated>[] = new Array(requests.length);
      let missing = requests.map((_, i) => i);
      for (let round = 0; missing.length > 0; round++) {
        const asked = missing.map((i) => requests[i]!);
        const answers = (await server.generate(asked, { ...batch, round })).map((answer) => ended(answer, options));
        const sequences = asked.map(({ prompt }, j) => trainedAnswer(prompt, answers[j]!));
        const { temperature, signal } = options;
        const engine_T = await engine.logprobs(sequences, { adapter, temperature, signal });
        const scored = sequences.map(({ mask, logprobs }, j) => ({
          engine_T: engine_T[j]!,
          server_T: logprobs,
          mask_T: mask,
        }));
        await requireSamePolicy(server, batch, scored, rollouts.maxKl);
        missing.forEach((i, j) => {
          sampled[i] = answers[j]!;
        });
        missing = missing.filter((_, j) => !isPlausible(scored[j]!));
        if (missing.length > 0 && round + 1 === ROUNDS)
          throw server.fault(`it made up tokens or log-probs of ${missing.length} of ${requests.length} answers`);
      }
      return sampled;
    },
  };
}

/** The answer up to the first text that ends it. A server knows only the tokens that do. */
function ended(answer: Required<Generated>, options: GenerateOptions): Required<Generated> {
  const { tokens, logprobs } = answer;
  const last = tokens.findIndex((_, i) => isEnded(tokens.slice(0, i + 1), 0, options));
  if (last < 0) return answer;
  return { tokens: tokens.slice(0, last + 1), logprobs: logprobs.slice(0, last + 1), finished: true };
}

/** A row that scores the answer only. */
function trainedAnswer(prompt: number[], { tokens, logprobs }: Required<Generated>) {
  const zeros = prompt.map(() => 0);
  return {
    tokens: [...prompt, ...tokens],
    mask: [...zeros, ...tokens.map(() => 1)],
    logprobs: [...zeros, ...logprobs],
  };
}

/** If the server has another policy, it unloads the adapter: the next attempt loads it again. */
async function requireSamePolicy(
  server: RolloutServer,
  { adapter }: Pick<RemoteBatch, 'adapter'>,
  scored: ScoredTokens[],
  maxKl: number,
): Promise<void> {
  const { rolloutKl } = measureMismatch(scored);
  if (rolloutKl <= maxKl) return;
  await server.forget(adapter.name).catch(() => undefined);
  const kl = rolloutKl < 1e3 ? rolloutKl.toFixed(3) : 'more than 1000';
  const causes = 'another base model, an adapter that is not applied, or log-probs without the temperature';
  throw server.fault(
    `its samples differ from the policy by ${kl} nats per token (rollouts.maxKl: ${maxKl}): likely causes are ${causes}`,
  );
}

const isPlausible = ({ engine_T, server_T, mask_T }: ScoredTokens): boolean =>
  mask_T.every((mask, t) => mask === 0 || Math.abs(engine_T[t]! - server_T[t]!) <= MAX_TOKEN_DIFFERENCE);
