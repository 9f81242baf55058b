// Writes the result of a run, one example chain and the HTML report to the run's folder.
import type { RenderReportInput } from '../../method/records.js';
import { writeReport, writeResult } from '../../store/runs.js';
import type { Scope } from '../scope.js';

export async function renderReport(
  { deps, store, signal }: Scope,
  { runId, result, example }: RenderReportInput,
): Promise<{ path?: string }> {
  const chain = example === undefined ? undefined : (await store.getJson(example))[0];
  await writeResult(store, runId, result, chain);
  if (!deps.renderReport) return {};
  await writeReport(store, runId, await deps.renderReport(runId, signal));
  return { path: store.locate(`runs/${runId}/report.html`) };
}
