// Runs the suite for stores in a folder and in memory. s3.system.test.ts runs it for stores in a bucket.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { MEMORY_FOLDER } from '../support/memoryFolder.js';
import { MemoryObjects } from '../support/memoryStore.js';
import { describeStore } from './conformance.js';

describeStore('file', async () => {
  const root = await mkdtemp(join(MEMORY_FOLDER, 'gauntlet-store-'));
  return { open: () => openStore(root), remove: () => rm(root, { recursive: true, force: true }), tick: 20 };
});

describeStore('memory', async () => {
  let objects = new MemoryObjects();
  return {
    open: async () => new ObjectStore(objects),
    remove: async () => {
      objects = new MemoryObjects();
    },
    tick: 1,
  };
});
