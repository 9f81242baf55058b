// The requests that the pages can send to a run. The CLI implements them, so that a button does the same as a command; the
// rest of the dashboard only reads.
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { parseAs } from '../core/base/issues.js';
import type { ControlAnswer, ControlRequest, LiveStates, LiveView } from './api.js';

export interface Controls {
  states(): Promise<LiveStates>;
  live(run: string): Promise<LiveView>;
  /** @throws GauntletError if the run refuses it or no server answers */
  request(run: string, request: ControlRequest): Promise<ControlAnswer>;
}

const MAX_BYTES = 1024;

const controlRequestSchema: z.ZodType<ControlRequest> = z.strictObject({
  action: z.enum(['pause', 'resume', 'stop', 'retry', 'skip', 'abort']),
});

/**
 * Requires the content type `application/json`: a browser then asks the server before it sends a request of another site,
 * and this server refuses.
 * @throws GauntletError BAD_INPUT
 */
export async function readControlRequest(request: IncomingMessage): Promise<ControlRequest> {
  const { 'content-type': type = '', 'content-length': length } = request.headers;
  const refuse = (why: string): never => {
    throw new GauntletError('BAD_INPUT', `control request: ${why}`);
  };
  if (!/^application\/json\s*(;|$)/.test(type)) refuse('the content type must be application/json');
  if (!(Number(length) <= MAX_BYTES)) refuse(`the content must have a length of at most ${MAX_BYTES} bytes`);
  const body = await json(request).catch(() => refuse('the content is not JSON'));
  return parseAs(controlRequestSchema, body, 'BAD_INPUT', 'control request: ');
}
