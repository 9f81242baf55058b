// The compiled graphs that a thread keeps open, for generation and for training. Before it opens one that does not fit into
// its share of the memory budget, it closes the least recently used ones.
import { Lru } from '../engine/budget.js';

interface Closable {
  close(): Promise<void>;
}

export class OpenGraphs {
  private readonly opened: Lru<Promise<Closable>>;
  private closing: Promise<void>[] = [];

  /** @param limit the most bytes that graphs take; 0: one graph is open at a time */
  constructor(limit: number) {
    this.opened = new Lru(limit, (graph) => {
      // a graph that did not open has nothing to close, and its caller gets the error
      const closed = graph.then(
        (one) => one.close(),
        () => undefined,
      );
      this.closing.push(closed);
    });
  }

  /** @param prepare is called if the graph is not open; `bytes` is an estimate of what the graph takes */
  async open<T extends Closable>(key: string, prepare: () => { bytes: number; open: () => Promise<T> }): Promise<T> {
    const known = this.opened.get(key) as Promise<T> | undefined;
    if (known) return known;
    const { bytes, open } = prepare();
    this.opened.makeRoom(bytes);
    const opening = this.closed().then(open); // opens after the others have closed, because the new graph needs their memory
    this.opened.set(key, opening, bytes);
    opening.catch(() => this.opened.delete(key)); // a retry opens the graph again
    return opening;
  }

  /** Closes all graphs whose key starts with `prefix`. */
  async close(prefix = ''): Promise<void> {
    this.opened.deleteWhere((_, key) => key.startsWith(prefix));
    await this.closed();
  }

  private async closed(): Promise<void> {
    await Promise.all(this.closing.splice(0));
  }
}
