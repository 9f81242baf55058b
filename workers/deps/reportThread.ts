// The thread that renders the report of a run: reading and drawing a long run would block the event loop of a worker. Errors
// lose their class between threads, so an error is part of the answer.
import { parentPort, workerData } from 'node:worker_threads';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { renderReport } from '../../dashboard/report.js';
import { openStore } from '../../store/openStore.js';

export interface ReportTask {
  store: string;
  run: string;
}
export type ReportAnswer = { page: string } | { code: ErrorCode; message: string; artifact?: string | undefined };

async function answer({ store, run }: ReportTask): Promise<ReportAnswer> {
  try {
    return { page: await renderReport(await openStore(store), run) };
  } catch (error) {
    if (!(error instanceof GauntletError)) throw error;
    const { code, message, artifact } = error;
    return { code, message, artifact };
  }
}

parentPort!.postMessage(await answer(workerData as ReportTask));
