// One viewer: asks for what the pages ask for, in their order, as a browser does.
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from '../options.js';

const THINK_MS = 100; // between two clicks, which is less than a person needs

export interface Answer {
  kind: string; // of the request
  ms: number;
  bytes: number;
}

export interface Visit {
  run: string;
  step: number;
  group: number;
  other: string; // run to compare with
}

export class Viewer {
  readonly answers: Answer[] = [];

  constructor(private readonly url: string) {}

  /** The first view: files of the pages, then the list of runs. @returns its milliseconds */
  async first(): Promise<number> {
    const started = performance.now();
    await this.ask('page', '');
    await Promise.all([this.ask('page', 'main.css'), this.ask('page', 'main.js')]);
    await this.list();
    return performance.now() - started;
  }

  /** Each view, with the requests that it makes. */
  async list(): Promise<void> {
    await Promise.all([this.ask('run list', 'api/runs'), this.ask('live', 'api/live')]);
  }

  async run(run: string): Promise<void> {
    await Promise.all([this.ask('run', `api/runs/${run}`), this.ask('live', `api/live/${run}`)]);
    await this.ask('stages', `api/runs/${run}/stages`);
  }

  async problems(run: string): Promise<void> {
    await this.ask('problems', `api/runs/${run}/problems`);
  }

  async click({ run, step, group, other }: Visit): Promise<void> {
    const path = `api/runs/${run}/steps/${step}`;
    const views = [
      () => this.list(),
      () => this.run(run),
      () => this.problems(run),
      () => this.ask('step', path),
      () => this.ask('group', `${path}/groups/${group}`),
      () => this.ask('tokens', `${path}/groups/${group}/tokens`),
      () => this.ask('comparison', `api/diff/${run}/${other}`),
    ];
    for (const view of views) {
      await view();
      await sleep(THINK_MS);
    }
  }

  /** Keeps a page open: loads it again whenever the server names a run that it shows. */
  async follow(load: () => Promise<void>, run: string | undefined, signal: AbortSignal): Promise<void> {
    try {
      const { body } = await fetch(`${this.url}api/events`, { signal });
      for await (const part of body!.pipeThrough(new TextDecoderStream()))
        for (const [, text] of part.matchAll(/^data: (.*)$/gm))
          if (run === undefined || (JSON.parse(text!) as { changed: string[] }).changed.includes(run)) await load();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async ask(kind: string, path: string): Promise<void> {
    const started = performance.now();
    const response = await fetch(this.url + path);
    const { byteLength: bytes } = await response.arrayBuffer();
    this.answers.push({ kind, ms: performance.now() - started, bytes });
    if (!response.ok) throw new BenchError(`${path}: status ${response.status}`);
  }
}
