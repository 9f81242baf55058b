// How many activities of one workflow may be pending at once. More than 2,000 block a workflow for good, so whatever
// steps ask for at the same time waits here for its turn.
import { FAN_OUT } from '../core/queues.js';

export class FanOut {
  private pending = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly limit: number = FAN_OUT) {}

  /** In the order of asking. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.pending >= this.limit) await new Promise<void>((turn) => this.waiting.push(turn));
    else this.pending++;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift(); // its place is handed on
      if (next === undefined) this.pending--;
      else next();
    }
  }
}
