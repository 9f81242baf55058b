import { open } from 'node:fs/promises';

/** Makes the names of a folder durable, for example after a rename. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
