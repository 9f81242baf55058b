// Samples on a server with OpenAI's completions API and vLLM's extensions: prompts and answers are token ids, and adapters
// are loaded while it runs. Every answer is checked. A fault of the server is retried here for a while, and then ends the
// batch as an infrastructure fault, so nothing that the server says wrongly becomes a sample.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../../core/base/errors.js';
import type { RolloutsConfig } from '../../core/schema/config.js';
import type { Generated, GenerateOptions, GenerateRequest, ModelInfo } from '../engine/engine.js';
import { publishAdapter, type ServedAdapter } from './adapterFolder.js';
import { type AskedCompletion, BadAnswer, readCompletion } from './answer.js';
import { excerpt, type HttpAnswer, postJson } from './http.js';

export type { ServedAdapter } from './adapterFolder.js';

export interface RolloutServerOptions extends Pick<RolloutsConfig, 'endpoint' | 'adapters' | 'timeoutSeconds'> {
  concurrency?: number; // the most requests at a time; default 32
  key?: string | undefined; // sent as a bearer token
  retryMs?: number; // the pause before the second attempt, which doubles before each further one
}

export interface RemoteBatch
  extends Pick<GenerateOptions, 'maxNewTokens' | 'temperature' | 'stopTokens' | 'onProgress'> {
  model: Pick<ModelInfo, 'vocabSize' | 'contextLength'>;
  adapter: ServedAdapter;
  round: number; // how often this batch was refused: every round has other seeds
  signal?: AbortSignal | undefined;
}

/** Adapters that stay loaded: two of each role. */
const KEPT_ADAPTERS = 4;
const CONCURRENCY = 32;
const ATTEMPTS = 5; // for a request that fails; a busy server is asked until the batch's time is over
const RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const ANSWER_BYTES = 64 * 1024;
const TOKEN_BYTES = 1024; // what an answer may have per token: ids, log-probs and texts

/** The server asks to wait. */
class Busy extends Error {
  constructor(readonly retryAfterMs: number | undefined) {
    super('it is busy');
  }
}

/** Another attempt cannot help. */
class Refused extends Error {}

export class RolloutServer {
  /** The adapters by name, the least recently used first. */
  private readonly loaded = new Map<string, Promise<void>>();
  private readonly base: string;

  constructor(private readonly options: RolloutServerOptions) {
    this.base = options.endpoint.replace(/\/+$/, '').replace(/\/v1$/, '');
  }

  /** Answers in the order of the requests. @throws GauntletError ENDPOINT_FAULT */
  async generate(requests: readonly GenerateRequest[], batch: RemoteBatch): Promise<Required<Generated>[]> {
    const { concurrency = CONCURRENCY, timeoutSeconds } = this.options;
    const deadline = AbortSignal.timeout(1000 * timeoutSeconds);
    const failed = new AbortController();
    const signal = AbortSignal.any([deadline, failed.signal, ...(batch.signal ? [batch.signal] : [])]);
    const answers: Required<Generated>[] = new Array(requests.length);
    let [next, done] = [0, 0];
    const work = async (): Promise<void> => {
      while (next < requests.length) {
        const i = next++;
        answers[i] = await this.complete(requests[i]!, batch, signal);
        done++;
        batch.onProgress?.(answers[i]!.tokens.length);
      }
    };
    let fault: unknown;
    const stop = (error: unknown): void => {
      fault ??= error;
      failed.abort(); // ends the other requests
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, requests.length) }, () => work().catch(stop)));
    batch.signal?.throwIfAborted();
    if (fault === undefined) return answers;
    if (deadline.aborted)
      throw this.fault(`${done} of ${requests.length} answers after rollouts.timeoutSeconds: ${timeoutSeconds}`);
    throw fault;
  }

  /** Unloads an adapter, so that it is loaded again before it is used. */
  async forget(name: string): Promise<void> {
    this.loaded.delete(name);
    const signal = AbortSignal.timeout(MAX_RETRY_MS);
    await this.post('/v1/unload_lora_adapter', { lora_name: name }, signal);
    await rm(join(this.options.adapters, name), { recursive: true, force: true });
  }

  private async complete(
    request: GenerateRequest,
    batch: RemoteBatch,
    signal: AbortSignal,
  ): Promise<Required<Generated>> {
    const { adapter, model, stopTokens, temperature } = batch;
    const { prompt, key } = request;
    const maxTokens = Math.min(batch.maxNewTokens, model.contextLength - prompt.length);
    const asked: AskedCompletion = { model: adapter.name, prompt, maxTokens, stopTokens, vocabSize: model.vocabSize };
    return this.persist(signal, async () => {
      const loading = this.load(adapter, signal);
      await loading;
      const answer = await this.post(
        '/v1/completions',
        {
          model: adapter.name,
          prompt,
          max_tokens: maxTokens,
          temperature,
          // without these, vLLM takes the values of the model's generation_config.json
          top_p: 1,
          top_k: 0,
          min_p: 0,
          repetition_penalty: 1,
          presence_penalty: 0,
          frequency_penalty: 0,
          stop_token_ids: stopTokens,
          logprobs: 1,
          return_token_ids: true,
          skip_special_tokens: false,
          seed: (key[0] + batch.round) % 2 ** 31,
        },
        signal,
        ANSWER_BYTES + TOKEN_BYTES * (maxTokens + prompt.length),
      );
      const isLost = answer.status === 404 || answer.status === 500; // the server restarted, or cannot read the adapter again
      if (isLost && this.loaded.get(adapter.name) === loading) this.loaded.delete(adapter.name);
      requireSuccess(answer);
      return readCompletion(answer.body, asked);
    });
  }

  /** Loads an adapter once, and unloads the least recently used ones. */
  private load(adapter: ServedAdapter, signal: AbortSignal): Promise<void> {
    const { name } = adapter;
    const loading = this.loaded.get(name) ?? this.upload(adapter, signal);
    this.loaded.delete(name);
    this.loaded.set(name, loading);
    loading.catch(() => {
      if (this.loaded.get(name) === loading) this.loaded.delete(name);
    });
    while (this.loaded.size > KEPT_ADAPTERS) {
      const [oldest] = this.loaded.keys();
      this.forget(oldest!).catch(() => undefined); // a server that keeps the adapter loses memory, nothing else
    }
    return loading;
  }

  private async upload(adapter: ServedAdapter, signal: AbortSignal): Promise<void> {
    const { name } = adapter;
    const path = await publishAdapter(this.options.adapters, adapter);
    const answer = await this.post('/v1/load_lora_adapter', { lora_name: name, lora_path: path }, signal);
    if (!/already been loaded/.test(answer.body)) requireSuccess(answer, 'it did not load the adapter');
  }

  private post(path: string, body: object, signal: AbortSignal, maxBytes = ANSWER_BYTES): Promise<HttpAnswer> {
    const { key } = this.options;
    const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
    return postJson(`${this.base}${path}`, body, { headers, maxBytes, signal });
  }

  /** Repeats what fails, with growing pauses. */
  private async persist<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const first = this.options.retryMs ?? RETRY_MS;
    let failures = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof GauntletError) throw error;
        const isBusy = error instanceof Busy;
        if (!isBusy) failures++;
        if (failures === ATTEMPTS || error instanceof Refused) throw this.fault(reasonOf(error));
        const pause = Math.min(first * 2 ** Math.min(attempt, 10), MAX_RETRY_MS);
        await sleep((isBusy && error.retryAfterMs) || pause, undefined, { signal });
      }
    }
  }

  /** One line that names the server. */
  fault(what: string): GauntletError {
    return new GauntletError('ENDPOINT_FAULT', `rollout server ${this.base}: ${what}`);
  }
}

function requireSuccess({ status, body, retryAfterMs }: HttpAnswer, what = 'it refused a prompt'): void {
  if (status >= 200 && status < 300) return;
  if (status === 429 || status === 503) throw new Busy(retryAfterMs);
  const text = `${what} (HTTP ${status}: ${excerpt(body)})`;
  throw status >= 400 && status < 500 && status !== 404 && status !== 408 ? new Refused(text) : new Error(text);
}

function reasonOf(error: unknown): string {
  if (error instanceof BadAnswer) return `an answer is refused: ${error.message}`;
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message || (cause as NodeJS.ErrnoException).code})` : message;
}
