// A rollout server on loopback with the answers of an engine. A fault changes, delays or breaks single answers.
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { listen } from '../../infra/httpServer.js';
import type { Adapter, Engine, GenerateRequest } from '../../ml/engine/engine.js';

export interface CompletionBody {
  model: string;
  prompt: number[];
  max_tokens: number;
  temperature: number;
  stop_token_ids: number[];
  seed: number;
}
export interface Completion {
  model: string;
  choices: {
    finish_reason: string;
    prompt_token_ids?: number[];
    token_ids: number[];
    logprobs: { token_logprobs: number[] };
  }[];
}

/** Returns an answer to send, or sends something else itself and returns nothing. */
export type Fault = (answer: Completion, response: ServerResponse, body: CompletionBody) => Completion | undefined;

export interface RolloutDouble {
  url: string;
  completions: number; // the number of requests
  most: number; // the largest number of concurrent requests
  loaded: Map<string, Adapter>;
  paths: string[]; // all requests except completions
  authorization?: string;
  fault?: Fault;
  /** The adapter that really gives an answer. By default, it is the requested one. */
  applies?: (asked: Adapter) => Adapter;
  close(): Promise<void>;
}

/** @param request finds the engine's request for a prompt and its seed; by default, the seed is the key */
export async function startRolloutDouble(
  engine: Engine,
  request: (body: CompletionBody) => GenerateRequest = ({ prompt, seed }) => ({ prompt, key: [seed, 0] }),
): Promise<RolloutDouble> {
  let running = 0;
  const double = { completions: 0, most: 0, loaded: new Map(), paths: [] } as unknown as RolloutDouble;
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  const listener = await listen(server, '127.0.0.1', 0);

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString('utf8'));
    if (incoming.headers.authorization) double.authorization = incoming.headers.authorization;
    if (incoming.url === '/v1/completions') return complete(body, response);
    double.paths.push(incoming.url!);
    const { lora_name: name, lora_path: path } = body as { lora_name: string; lora_path: string };
    if (incoming.url === '/v1/unload_lora_adapter') {
      response.statusCode = double.loaded.delete(name) ? 200 : 404;
    } else if (double.loaded.has(name)) {
      response.statusCode = 400;
      response.write(`The lora adapter '${name}' has already been loaded.`);
    } else {
      const names = ['adapter_config.json', 'adapter_model.safetensors'];
      const files = await Promise.all(names.map((file) => readFile(join(path, file))));
      double.loaded.set(name, engine.importAdapter(new Map(names.map((file, i) => [file, new Uint8Array(files[i]!)]))));
    }
    response.end();
  }

  async function complete(body: CompletionBody, response: ServerResponse): Promise<void> {
    double.completions++;
    double.most = Math.max(double.most, ++running);
    try {
      const asked = double.loaded.get(body.model);
      if (!asked) {
        response.statusCode = 404;
        response.end(`The model \`${body.model}\` does not exist.`);
        return;
      }
      const adapter = double.applies?.(asked) ?? asked;
      const { temperature, max_tokens: maxNewTokens, stop_token_ids: stopTokens, prompt } = body;
      const [generated] = await engine.generate([request(body)], { adapter, temperature, maxNewTokens, stopTokens });
      const { tokens, finished } = generated!;
      const [logprobs] = await engine.logprobs([{ tokens: [...prompt, ...tokens] }], { adapter, temperature });
      const whole: Completion = {
        model: body.model,
        choices: [
          {
            finish_reason: finished ? 'stop' : 'length',
            prompt_token_ids: prompt,
            token_ids: tokens,
            logprobs: { token_logprobs: logprobs!.slice(prompt.length) },
          },
        ],
      };
      const sent = double.fault ? double.fault(whole, response, body) : whole;
      if (sent) response.setHeader('content-type', 'application/json').end(JSON.stringify(sent));
    } finally {
      running--;
    }
  }

  return Object.assign(double, { url: listener.origin, close: listener.close });
}
