// Sends one request to a server that may be slow, broken or hostile. The body of its answer is read up to a limit, and a redirect is
// not followed, because the request may contain a key.

export interface HttpAnswer {
  status: number;
  body: string;
  retryAfterMs?: number; // how long the server asks to wait
}

interface PostOptions {
  headers: Record<string, string>;
  maxBytes: number; // limit for the answer
  signal: AbortSignal;
}

export async function postJson(
  url: string,
  value: object,
  { headers, maxBytes, signal }: PostOptions,
): Promise<HttpAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
    redirect: 'error',
    signal,
  });
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > maxBytes) throw new Error(`its answer has more than ${maxBytes} bytes`); // ends the transfer
    parts.push(part);
  }
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'));
  return { status: response.status, body: Buffer.concat(parts).toString('utf8'), retryAfterMs };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1; // a longer timer of Node.js ends at once

/** Reads seconds or a date. */
function parseRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), LONGEST_TIMER_MS) : undefined;
}

/** Text of the server for an error message: one short line without control characters. */
export const excerpt = (text: string): string =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 160); // \p{C}: control, format and unassigned characters
