// The thread that unpacks a Parquet file for parquet.ts. It sends the next rows when it is asked to, so that memory holds
// one row group and some rows of it twice. Errors lose their class between threads, so a fault is a message.
import { parentPort, workerData } from 'node:worker_threads';
import { type GroupsTask, ParquetFault, readGroups, type SomeRows } from './parquetGroups.js';
export type GroupMessage = SomeRows | { fault: string } | { end: true };

const groups = readGroups(workerData as GroupsTask);

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
