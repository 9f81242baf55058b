// Server-sent events: names the runs that recorded something. Other processes write the store, so it is polled, once for all
// open pages.
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { GauntletError } from '../core/errors.js';
import type { Resources } from './data/resources.js';

const POLL_MS = 10_000; // a reader of the page needs no more, and the run keeps the machine
const MAX_PAGES = 100;
const MAX_BACKLOG = 2 ** 20; // bytes that a page has not read

export class Changes {
  private readonly pages = new Set<ServerResponse>();
  private polling: AbortController | undefined; // while a page is open

  constructor(
    private readonly resources: Pick<Resources, 'versions'>,
    private readonly pollMs = POLL_MS,
  ) {}

  /** Tells the page from now on. If the store cannot be read, the answer ends, and the page connects again. */
  tell(page: ServerResponse): void {
    if (this.pages.size >= MAX_PAGES)
      throw new GauntletError('SERVER_UNAVAILABLE', `${MAX_PAGES} pages are open: close some`);
    page.on('close', () => {
      this.pages.delete(page);
      if (this.pages.size > 0) return;
      this.polling?.abort();
      this.polling = undefined;
    });
    this.pages.add(page);
    page.writeHead(200, { 'content-type': 'text/event-stream' });
    page.write('retry: 2000\n\n');
    if (this.polling !== undefined) return;
    this.polling = new AbortController();
    void this.poll(this.polling.signal);
  }

  private async poll(signal: AbortSignal): Promise<void> {
    try {
      for (let known = await this.resources.versions(); ; ) {
        await wait(this.pollMs, undefined, { signal });
        const now = await this.resources.versions();
        signal.throwIfAborted();
        const changed = Object.keys({ ...known, ...now }).filter((run) => known[run] !== now[run]);
        known = now;
        // a comment finds out whether the page is still there
        const event = changed.length > 0 ? `data: ${JSON.stringify({ changed })}\n\n` : ': nothing new\n\n';
        for (const page of this.pages) {
          page.write(event);
          if (page.writableLength > MAX_BACKLOG) page.destroy();
        }
      }
    } catch {
      if (!signal.aborted) for (const page of this.pages) page.destroy();
    }
  }
}
