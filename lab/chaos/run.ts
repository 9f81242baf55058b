// The run of a chaos test: makes it once undisturbed, and follows its progress on a server.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { createCall } from '../../activities/index.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { kindOfRow } from '../../store/memo.js';
import { openDeps } from '../../workers/deps/deps.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { localHost } from '../../workflows/runState.js';
import { instrumented } from './instrument.js';

export const RUN = 'run';
const STANDSTILL_MS = 300_000; // the run is lost if there is no new result for this time

export interface Calm {
  seconds: number;
  tokens: number;
  results: number;
}

/** Makes the run on one machine, in this process and without a server. */
export async function undisturbed(
  store: string,
  { config, sandbox }: { config: RunConfigInput; sandbox: 'wasm' | 'docker' },
  dockerHost?: string,
): Promise<Calm> {
  const before = process.env.DOCKER_HOST;
  if (dockerHost !== undefined) process.env.DOCKER_HOST = dockerHost;
  const started = performance.now();
  let tokens = 0;
  const { deps, close } = await openDeps({ store, sandbox, say: () => undefined });
  const heard = instrumented(deps, (notice) => {
    if (notice.kind === 'tokens') tokens += notice.amount;
  });
  try {
    await runPipeline(localHost(createCall(heard)), RUN, config);
  } finally {
    await close();
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
  }
  return { seconds: (performance.now() - started) / 1000, tokens, results: resultsIn(store) };
}

/** The progress of the run on a server. */
export class Run {
  over = false;
  readonly ended: Promise<void>;

  constructor(
    private readonly client: () => Promise<Client>,
    private readonly countResults: () => number | Promise<number>,
    private readonly signal?: AbortSignal,
  ) {
    this.ended = this.result().finally(() => {
      this.over = true;
    });
    this.ended.catch(() => undefined); // avoids an unhandled rejection; `until` awaits it
  }

  /** Waits until the run has `results` results or has completed. @throws if the run fails or makes no progress */
  async until(results: number): Promise<void> {
    let seen = -1;
    for (let since = Date.now(); !this.over; await Promise.race([this.ended, sleep(20)])) {
      this.signal?.throwIfAborted();
      const now = await this.countResults();
      if (now >= results) return;
      if (now !== seen) since = Date.now();
      seen = now;
      if (Date.now() - since > STANDSTILL_MS)
        throw new Error(`the run is lost: it has had no new result for ${STANDSTILL_MS / 1000} s`);
    }
    await this.ended;
  }

  /** Tries again while the server does not answer. */
  private async result(): Promise<void> {
    for (;;) {
      try {
        await (await this.client()).workflow.getHandle(RUN).result();
        return;
      } catch (error) {
        if (error instanceof WorkflowFailedError) throw error;
        await sleep(200);
      }
    }
  }
}

/** The number of completed activities in a store that is a folder. */
export function resultsIn(store: string): number {
  try {
    return readdirSync(join(store, 'memo')).filter((key) => kindOfRow(key).kind === 'result').length;
  } catch {
    return 0; // the folder does not exist yet
  }
}
