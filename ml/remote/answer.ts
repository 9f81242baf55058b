// Checks the answer of a server to a completion request. The server is not trusted: an answer that does not fit the request is
// refused, so that the server is asked again.
import { z } from 'zod';
import type { Generated } from '../engine/engine.js';

/** The request that an answer must fit. */
export interface AskedCompletion {
  model: string; // contains the digest of the adapter
  prompt: readonly number[];
  maxTokens: number;
  stopTokens: readonly number[];
  vocabSize: number;
}

/** The answer cannot be used. The message says why, and contains no text of the server. */
export class BadAnswer extends Error {}

const ROUNDING = 1e-3; // a log-prob of 0 may come out slightly above
const LOWEST = -9999; // vLLM's log-prob of a token without probability

const answerSchema = z.object({
  model: z.string(),
  choices: z.tuple([
    z.object({
      finish_reason: z.string(),
      prompt_token_ids: z.array(z.int()).nullish(),
      token_ids: z.array(z.int()),
      logprobs: z.object({ token_logprobs: z.array(z.number()) }),
    }),
  ]),
});

/** @throws BadAnswer */
export function readCompletion(body: string, asked: AskedCompletion): Required<Generated> {
  const parsed = answerSchema.safeParse(parseJson(body));
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    throw new BadAnswer(`it has an unexpected form: ${path.join('.') || 'answer'}: ${message}`);
  }
  const { model, choices } = parsed.data;
  const [{ finish_reason: reason, prompt_token_ids: prompt, token_ids: tokens, logprobs }] = choices;
  const own = logprobs.token_logprobs;
  const count = tokens.length;
  const isStop = (token: number | undefined): boolean => asked.stopTokens.includes(token!);
  const require = (holds: boolean, why: string): void => {
    if (!holds) throw new BadAnswer(why);
  };
  require(model === asked.model, 'it comes from another model or adapter than the one asked for');
  require(!prompt || prompt.join() === asked.prompt.join(), 'it continues another prompt than the one sent');
  require(count > 0, 'it has no token');
  require(count <= asked.maxTokens, `it has ${count} tokens; at most ${asked.maxTokens} were asked for`);
  const isKnown = tokens.every((token) => token >= 0 && token < asked.vocabSize);
  require(isKnown, `it has a token outside of the vocabulary of ${asked.vocabSize}`);
  require(!tokens.slice(0, -1).some(isStop), 'it goes on after a stop token');
  const finished = isStop(tokens.at(-1));
  // earlier versions of vLLM look at the length first
  const isRight = reason === (finished ? 'stop' : 'length') || (finished && count === asked.maxTokens);
  require(isRight, 'its finish_reason contradicts its last token');
  const isWhole = finished || count === asked.maxTokens;
  require(isWhole, `it ends after ${count} of ${asked.maxTokens} tokens: is the context of the server shorter?`);
  require(own.length === count, 'it does not have one log-prob for each token');
  const isPossible = own.every((logprob) => logprob <= ROUNDING && logprob > LOWEST);
  require(isPossible, 'it has a log-prob that no sampled token can have');
  return { tokens, finished, logprobs: own };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new BadAnswer('it is not JSON');
  }
}
