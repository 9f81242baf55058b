// Calls of a model take turns, because one call uses the whole machine. The others wait, in the order of their arrival.

export class Turns {
  protected fault: Error | undefined;
  private running = false;
  private readonly queue: (() => void)[] = [];

  get busy(): boolean {
    return this.running;
  }

  get waiting(): number {
    return this.queue.length;
  }

  /** Refuses calls that wait and calls that come later: they fail with this error. */
  close(fault: Error): void {
    this.fault = fault;
  }

  /** @throws the reason of `signal` if it aborts before the turn: a call that waits gives it up */
  async take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.running) await this.wait(signal);
    this.running = true;
    try {
      if (this.fault) throw this.fault;
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next();
      else this.running = false;
    }
  }

  private wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.queue.splice(this.queue.indexOf(enter), 1);
        reject(signal?.reason);
      };
      this.queue.push(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }
}
