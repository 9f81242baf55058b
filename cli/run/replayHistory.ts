// Replays the history of an execution with the current workflow code, as a worker does.
import type { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { dataConverter } from '../../infra/payloadCodec.js';
import { workflowBundle } from '../../workers/bundle.js';
import { createLogger } from '../../workers/logger.js';
import { installRuntime } from '../../workers/start.js';

type History = temporal.api.history.v1.IHistory;

/** The first line of the determinism error; undefined if the history replays. */
export async function replayError(history: History, workflowId: string): Promise<string | undefined> {
  installRuntime(createLogger('fatal'));
  const options = { workflowBundle: { codePath: await workflowBundle() }, dataConverter: dataConverter(process.env) };
  try {
    await Worker.runReplayHistory(options, history, workflowId);
    return undefined;
  } catch (error) {
    if (error instanceof DeterminismViolationError) return error.message.split('\n')[0]!;
    throw error;
  }
}
