// Server-sent events: names the runs that recorded something. Other processes write the store, so it is polled.
import type { ServerResponse } from 'node:http';
import type { Resources } from './data/resources.js';

const POLL_MS = 10_000; // a reader of the page needs no more, and the run keeps the machine

export async function streamChanges(response: ServerResponse, resources: Pick<Resources, 'versions'>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  let known = await resources.versions();
  let isPolling = false;
  const poll = async (): Promise<void> => {
    if (isPolling) return;
    isPolling = true;
    try {
      const now = await resources.versions();
      const changed = Object.keys({ ...known, ...now }).filter((run) => known[run] !== now[run]);
      known = now;
      // a comment finds out whether the page is still there
      response.write(changed.length > 0 ? `data: ${JSON.stringify({ changed })}\n\n` : ': nothing new\n\n');
    } catch {
      response.end(); // the page connects again
    } finally {
      isPolling = false;
    }
  };
  const timer = setInterval(() => void poll(), POLL_MS);
  response.on('close', () => clearInterval(timer));
}
