// The daemon's own stream of events: whether it is there without a break, and how each container ended. A container
// that ends while the daemon stays is its program's doing; one that ends with the daemon, or by somebody's kill, is not.
import type Docker from 'dockerode';
import { within } from './daemon.js';

/** What the daemon said about a container. */
interface Fate {
  killed: boolean; // somebody asked the daemon to
  oom: boolean;
  died: boolean;
  gone: boolean;
}
interface Event {
  Action?: string;
  Actor?: { ID?: string };
}

const RECONNECT_MS = 500;
const SETTLE_MS = 2000; // that a container's end may take to be told
const STEP_MS = 20;
const PING_MS = 3000;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export class DaemonWatch {
  /** Raised by every break of the connection. */
  epoch = 0;
  connected = false;
  #fates = new Map<string, Fate>();
  #stream: (NodeJS.ReadableStream & { destroy(): void }) | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #text = '';

  constructor(
    readonly docker: Docker,
    readonly label: string,
    readonly onBack: () => void, // the connection stands again after a break
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
    stream.socket?.unref(); // it alone keeps no process alive
    this.#stream = stream;
    this.#text = '';
    this.connected = true;
    stream.on('data', (data: Buffer) => this.#read(data));
    let over = false;
    const ended = () => {
      if (over) return;
      over = true;
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
        // not an event: nothing hangs on one line of it
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

  /** From now on this container's events are kept, until `forget`. */
  follow(id: string): void {
    this.#fates.set(id, { killed: false, oom: false, died: false, gone: false });
  }

  forget(id: string): void {
    this.#fates.delete(id);
  }

  /** Waits up to `ms` for the daemon to say that the container is removed. */
  async isGone(id: string, ms: number): Promise<boolean> {
    for (const until = performance.now() + ms; performance.now() < until && this.connected; await pause(STEP_MS)) {
      if (this.#fates.get(id)?.gone) return true;
    }
    return false;
  }

  /** The daemon was there all the while since `epoch`, and is there now. */
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
   * Who ended this container, whose stream broke: its program only where the daemon was there all the while since
   * `epoch`, says itself that the container died, and was not told to kill it.
   */
  async blame(id: string, epoch: number): Promise<'program' | 'program, memory' | 'infrastructure'> {
    const fate = this.#fates.get(id);
    const until = performance.now() + SETTLE_MS;
    while (this.connected && this.epoch === epoch && !fate?.died && performance.now() < until) await pause(STEP_MS);
    if (!fate?.died || fate.killed || !(await this.isSteady(epoch))) return 'infrastructure';
    return fate.oom ? 'program, memory' : 'program';
  }
}
