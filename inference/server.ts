// The server of `gauntlet serve`: OpenAI's chat completions for one checkpoint. Models run in worker threads, programs in
// the sandbox; here requests are checked and wait for their turn. A client that leaves cancels its request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GauntletError } from '../core/base/errors.js';
import {
  createAccess,
  limitConnections,
  patience,
  readBody,
  requestSignal,
  sendJson,
  urlOf,
} from '../infra/httpServer.js';
import { Turns } from '../infra/turns.js';
import { ApiError, Completion, otherModel, parseRequest } from './completions.js';
import type { Solver } from './policies.js';
import { solveTask } from './solver.js';

export interface InferenceOptions {
  solver: Solver;
  model: string; // the name that clients use
  host: string;
  samples: number; // programs to choose from, unless a request says how many
  queue: number; // how many requests may wait
  timeoutSeconds: number; // the longest time of a request, its wait included
  log: (line: string) => void;
}

const MAX_BODY = 256 * 1024;
const BODY_SECONDS = 30; // the longest time in which a client may send a request
const MAX_CONNECTIONS = 256; // each may hold a body
const RETRY_AFTER_S = 5;
const HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

/** Creates the server for `host`. It has a token unless `host` is loopback. */
export function inferenceServer(options: InferenceOptions): { server: Server; token?: string } {
  const { model } = options;
  const access = createAccess(options.host, 'serve');
  const turns = new Turns();
  const server = createServer(patience(BODY_SECONDS * 1000), (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => {
      if (!response.destroyed) sendError(response, apiError(error, options.log)); // otherwise the client left
    });
  });
  limitConnections(server, MAX_CONNECTIONS);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = access.refusal(request);
    if (refused) {
      const type = refused.status === 401 ? 'authentication_error' : 'permission_error';
      throw new ApiError(refused.status, refused.message, { type });
    }
    const method = request.method!.replace('HEAD', 'GET'); // Node leaves out the body
    const route = `${method} ${decodeURIComponent(urlOf(request).pathname)}`;
    if (route === 'GET /health') return sendJson(response, 200, { status: 'ok', model, waiting: turns.waiting });
    const described = { id: model, object: 'model', created: 0, owned_by: 'gauntlet' };
    if (route === 'GET /v1/models') return sendJson(response, 200, { object: 'list', data: [described] });
    if (route === `GET /v1/models/${model}`) return sendJson(response, 200, described);
    if (route.startsWith('GET /v1/models/')) throw otherModel(model);
    if (route !== 'POST /v1/chat/completions') throw new ApiError(404, `there is no ${route}`);
    await complete(request, response, options, turns);
  }

  return { server, token: access.token };
}

async function complete(
  request: IncomingMessage,
  response: ServerResponse,
  { solver, model, samples, queue, timeoutSeconds }: InferenceOptions,
  turns: Turns,
): Promise<void> {
  const signal = requestSignal(response, timeoutSeconds);
  const body = await readBody(request, MAX_BODY);
  if (body === undefined) throw new ApiError(413, `the body has more than ${MAX_BODY} bytes`);
  const asked = parseRequest(body, model, samples);
  if (turns.busy && turns.waiting >= queue)
    throw new ApiError(503, 'too many requests wait: try again', { code: 'queue_full' });
  const events = solveTask(solver, asked.task, { ...asked.options, signal });
  if (asked.stream) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const sign = (): boolean => response.writableEnded || response.write(': waiting\n\n');
    sign();
    const timer = setInterval(sign, 5_000); // proxies and clients give up on a silent stream
    response.once('close', () => clearInterval(timer));
  }
  await turns.take(async () => {
    const completion = new Completion(model, asked);
    for await (const event of events) {
      const chunk = completion.add(event);
      if (asked.stream) sendEvent(response, JSON.stringify(chunk));
    }
    if (!asked.stream) return sendJson(response, 200, completion.whole());
    for (const chunk of completion.end()) sendEvent(response, JSON.stringify(chunk));
    sendEvent(response, '[DONE]');
    response.end();
  }, signal);
}

function apiError(error: unknown, log: (line: string) => void): ApiError {
  if (error instanceof ApiError) return error;
  const { name, message } = error as Error;
  if (error instanceof URIError) return new ApiError(400, 'the path is not one of a URL');
  if (name === 'TimeoutError') return new ApiError(504, 'the request took too long', { code: 'timeout' });
  if (!(error instanceof GauntletError)) {
    log(`a request failed: ${message}`);
    return new ApiError(500, 'the server failed; its output says why');
  }
  if (error.code === 'BAD_INPUT') return new ApiError(400, message, { code: error.code });
  log(`a request failed: ${message} [${error.code}]`);
  return new ApiError(error.retryable ? 503 : 500, message, { code: error.code });
}

/** Sends an error. If a stream has begun, the error is its last event. */
function sendError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent) {
    sendEvent(response, JSON.stringify(error.body));
    response.end();
    return;
  }
  if (error.status === 503) response.setHeader('retry-after', RETRY_AFTER_S);
  if (error.status === 413) response.setHeader('connection', 'close'); // the rest of the body is not read
  sendJson(response, error.status, error.body);
}

const sendEvent = (response: ServerResponse, data: string): boolean => response.write(`data: ${data}\n\n`);
