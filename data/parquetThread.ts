// The thread that unpacks a Parquet file for parquet.ts. It sends the next rows when it is asked to, so that memory holds
// one row group and some rows of it twice. Errors lose their class between threads, so a fault is a message.
import { parentPort, workerData } from 'node:worker_threads';
import { ParquetFault, type ParquetLimits, readGroups, type SomeRows } from './parquetGroups.js';

export interface GroupsTask {
  file: string;
  limits: ParquetLimits;
  wanted?: ReadonlySet<string> | undefined;
}
export type GroupMessage = SomeRows | { fault: string } | { end: true };

const { file, limits, wanted } = workerData as GroupsTask;
const groups = readGroups(file, limits, wanted);

async function next(): Promise<GroupMessage> {
  try {
    const { done, value } = await groups.next();
    return done ? { end: true } : value;
  } catch (error) {
    if (error instanceof ParquetFault) return { fault: error.message };
    throw error;
  }
}

parentPort!.on('message', async () => parentPort!.postMessage(await next()));
