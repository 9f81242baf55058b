// Follows the daemon's event stream, to know whether the daemon was there all the time and how each container ended. A
// program is to blame if its container ended while the daemon was there and nobody asked the daemon to kill it.
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { within } from './daemon.js';

/** What the daemon reported about a container. */
interface Fate {
  killed: boolean; // somebody asked the daemon to kill it
  oom: boolean;
  died: boolean;
  gone: boolean;
}
interface Event {
  Action?: string;
  Actor?: { ID?: string };
}

const RECONNECT_MS = 500;
const SETTLE_MS = 2000; // how long the event of a container's end may take to arrive
const STEP_MS = 20;
const PING_MS = 3000;

export class DaemonWatch {
  epoch = 0; // how often the connection broke
  connected = false;
  #fates = new Map<string, Fate>();
  #stream: (NodeJS.ReadableStream & { destroy(): void }) | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #text = '';

  constructor(
    readonly docker: Docker,
    readonly label: string,
    readonly onBack: () => void, // called after a reconnection
  ) {}

  async open(): Promise<void> {
    const filters = JSON.stringify({ type: ['container'], label: [this.label] });
    const stream = (await this.docker.getEvents({ filters })) as NodeJS.ReadableStream & {
      destroy(): void;
      socket?: { unref(): void };
    };
    if (this.#closed) {
      stream.destroy();
      return;
    }
    stream.socket?.unref(); // the stream does not keep this process alive
    this.#stream = stream;
    this.#text = '';
    this.connected = true;
    stream.on('data', (data: Buffer) => this.#read(data));
    let hasEnded = false;
    const ended = () => {
      if (hasEnded) return;
      hasEnded = true;
      this.epoch++;
      this.connected = false;
      this.#reopen();
    };
    stream.on('end', ended).on('close', ended).on('error', ended);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#stream?.destroy();
  }

  #reopen(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      try {
        await this.open();
        this.onBack();
      } catch {
        this.#reopen();
      }
    }, RECONNECT_MS);
    this.#timer.unref();
  }

  #read(data: Buffer): void {
    this.#text += data.toString('utf8');
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      try {
        this.#take(JSON.parse(line) as Event);
      } catch {
        // a line that is not an event is ignored
      }
    }
  }

  #take({ Action: action = '', Actor: actor }: Event): void {
    const fate = actor?.ID ? this.#fates.get(actor.ID) : undefined;
    if (!fate) return;
    if (action === 'kill' && !fate.died) fate.killed = true;
    if (action === 'oom') fate.oom = true;
    if (action === 'die') fate.died = true;
    if (action === 'destroy') fate.gone = true;
  }

  /** Records this container's events until `forget`. */
  follow(id: string): void {
    this.#fates.set(id, { killed: false, oom: false, died: false, gone: false });
  }

  forget(id: string): void {
    this.#fates.delete(id);
  }

  /** Waits up to `ms` for the event that the container is removed. */
  async isGone(id: string, ms: number): Promise<boolean> {
    for (const until = performance.now() + ms; performance.now() < until && this.connected; await sleep(STEP_MS)) {
      if (this.#fates.get(id)?.gone) return true;
    }
    return false;
  }

  /** Whether the connection to the daemon has not broken since `epoch`. */
  async isSteady(epoch: number): Promise<boolean> {
    if (!this.connected || this.epoch !== epoch) return false;
    try {
      await within(PING_MS, 'ping', this.docker.ping());
    } catch {
      return false;
    }
    return this.connected && this.epoch === epoch;
  }

  /**
   * Who ended this container. The program did, if the daemon saw the container die without a request to kill it, and if the
   * connection to the daemon has not broken since `epoch`.
   */
  async blame(id: string, epoch: number): Promise<'program' | 'program, memory' | 'infrastructure'> {
    const fate = this.#fates.get(id);
    const until = performance.now() + SETTLE_MS;
    while (this.connected && this.epoch === epoch && !fate?.died && performance.now() < until) await sleep(STEP_MS);
    if (!fate?.died || fate.killed || !(await this.isSteady(epoch))) return 'infrastructure';
    return fate.oom ? 'program, memory' : 'program';
  }
}
