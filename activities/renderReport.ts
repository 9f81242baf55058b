// One self-contained page from the records of a run, written into the run's folder.
import { fileURLToPath } from 'node:url';
import type { Scope } from './scope.js';
import type { RenderReportInput } from './types.js';

export async function renderReport(scope: Scope, { runId, result }: RenderReportInput): Promise<{ path?: string }> {
  if (!scope.deps.renderReport) return {};
  const html = await scope.deps.renderReport(runId, result);
  await scope.store.writeRunFile(runId, 'report.html', html);
  const url = new URL(`runs/${encodeURIComponent(runId)}/report.html`, `${scope.store.url}/`);
  return { path: url.protocol === 'file:' ? fileURLToPath(url) : url.href };
}
