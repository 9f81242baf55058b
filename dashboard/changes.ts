// Server-sent events: names the runs that recorded something. Other processes write the store, so it is polled.
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Resources } from './data/resources.js';

const POLL_MS = 10_000; // a reader of the page needs no more, and the run keeps the machine

/** Ends only by throwing: the page has gone, or the store cannot be read. The page connects again. */
export async function streamChanges(
  response: ServerResponse,
  resources: Pick<Resources, 'versions'>,
  pollMs = POLL_MS,
): Promise<never> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  for (let known = await resources.versions(); ; ) {
    await wait(pollMs, undefined, { signal: gone.signal });
    const now = await resources.versions();
    const changed = Object.keys({ ...known, ...now }).filter((run) => known[run] !== now[run]);
    known = now;
    // a comment finds out whether the page is still there
    response.write(changed.length > 0 ? `data: ${JSON.stringify({ changed })}\n\n` : ': nothing new\n\n');
  }
}
