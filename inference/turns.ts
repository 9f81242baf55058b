// Requests take turns, because a model call uses the whole machine. A bounded number of requests waits, in order.

export class QueueFull extends Error {}

export class Turns {
  private running = false;
  private readonly queue: (() => void)[] = [];

  /** @param limit most requests that wait */
  constructor(private readonly limit: number) {}

  get waiting(): number {
    return this.queue.length;
  }

  /** @throws QueueFull at once; the reason of `signal` if it aborts before the turn */
  async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.running) await this.wait(signal);
    this.running = true;
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next();
      else this.running = false;
    }
  }

  private wait(signal: AbortSignal): Promise<void> {
    if (this.queue.length >= this.limit) throw new QueueFull();
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.queue.splice(this.queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      this.queue.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
