import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { MemoryObjects } from '../support/memoryStore.js';
import { requireS3, type S3Server } from '../support/s3Server.js';
import { describeStore } from './conformance.js';

const MEMORY = '/dev/shm'; // syncing costs nothing there

describeStore('file', async () => {
  const root = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'gauntlet-store-'));
  return { open: () => openStore(root), remove: () => rm(root, { recursive: true, force: true }) };
});

describeStore('memory', async () => {
  let objects = new MemoryObjects();
  return {
    open: async () => new ObjectStore(objects),
    remove: async () => {
      objects = new MemoryObjects();
    },
  };
});

describe('with an S3 server', () => {
  let server: S3Server | undefined;
  after(() => server?.close());

  describeStore('s3:', async (suite) => {
    const started = await requireS3(suite);
    server = started;
    let url = started.url('cache=0');
    return {
      open: () => openStore(url),
      remove: async () => {
        url = started.url('cache=0');
      },
    };
  });
});
