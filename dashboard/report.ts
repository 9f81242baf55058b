// The report of a run: the pages of the dashboard and the data of the run in one HTML file, which opens from a disk and
// needs no network. Rollouts are untrusted text. All data is therefore JSON without `<`, and the content security policy
// of the file allows only the script and the style of the pages.
import { createHash } from 'node:crypto';
import type { StepMetrics } from '../core/schema/metrics.js';
import { unlessLost } from '../store/memo.js';
import type { ObjectStore } from '../store/objectStore.js';
import type { Store } from '../store/store.js';
import { CachedStore } from './data/cachedStore.js';
import { History } from './data/history.js';
import { MetricsReader } from './data/metricsReader.js';
import { stepsOf } from './data/records.js';
import { readGroup, readRollouts, stepView } from './data/rollouts.js';
import { readRunView } from './data/run.js';
import { pageFiles } from './pageFiles.js';

const ROLLOUT_BYTES = 2_000_000;

/**
 * Renders the report of a run, which may still be training.
 * @param rolloutBytes limits the size of the embedded rollouts
 * @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT
 */
export async function renderReport(files: ObjectStore, run: string, rolloutBytes = ROLLOUT_BYTES): Promise<string> {
  const store = new CachedStore(files);
  const metrics = new MetricsReader(store);
  const view = await readRunView(store, run, metrics);
  const steps = stepsOf({ metrics: await metrics.read(run) });
  const stages = await unlessLost(() => new History(store).stages(steps));
  const resources = [
    resource(pathOf(run), view),
    ...(stages ? [resource(`${pathOf(run)}/stages`, stages)] : []),
    ...(await newestRollouts(store, run, steps, rolloutBytes)),
  ];
  // this JSON has the type ReportContents
  return pageOf(`{"run":${json(run)},"rolloutBytes":${rolloutBytes},"resources":{${resources.join(',')}}}`);
}

/**
 * Adds steps and their groups, the newest first, until one does not fit. Leaves out rollouts that the store has lost. Reads
 * one step at a time, so that memory is bounded.
 */
async function newestRollouts(
  store: Store,
  run: string,
  steps: readonly StepMetrics[],
  limit: number,
): Promise<string[]> {
  const resources: string[] = [];
  let free = limit;
  const add = (path: string, value: unknown): boolean => {
    const text = resource(path, value);
    const bytes = Buffer.byteLength(text);
    if (bytes > free) return false;
    free -= bytes;
    resources.push(text);
    return true;
  };
  let isFull = false;
  const addStep = async (record: StepMetrics): Promise<void> => {
    const rollouts = await readRollouts(store, record);
    const path = `${pathOf(run)}/steps/${record.step}`;
    isFull = !add(path, stepView(run, steps, rollouts));
    if (isFull) return;
    for (const index of rollouts.judged.keys()) {
      const isAdded = add(`${path}/groups/${index}`, await readGroup(store, run, rollouts, index));
      isFull ||= !isAdded;
    }
  };
  for (const record of steps.toReversed()) {
    if (isFull) break;
    await unlessLost(() => addStep(record));
  }
  return resources;
}

const pathOf = (run: string): string => `runs/${encodeURIComponent(run)}`;
const resource = (path: string, value: unknown): string => `${json(path)}:${json(value)}`;

/** JSON without `<`, so that no text can end the HTML element around it. */
const json = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

async function pageOf(contents: string): Promise<string> {
  const files = await pageFiles();
  const [page, script, style] = ['index.html', 'main.js', 'main.css'].map((name) => files.get(name)!.toString());
  const policy = `default-src 'none'; script-src ${hashOf(script!)}; style-src ${hashOf(style!)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const parts = {
    '<meta charset="utf-8">': `<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="${policy}">`,
    '<link rel="stylesheet" href="main.css">': `<style>${style}</style>`,
    '<script src="main.js"></script>': `<script type="application/json" id="report">${contents}</script>\n<script>${script}</script>`,
  };
  return Object.entries(parts).reduce((text, [place, part]) => text.replace(place, () => part), page!);
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
