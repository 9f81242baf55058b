// Where tests keep small files: in memory if the system has such a folder, because syncing costs nothing there.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';

export const MEMORY_FOLDER = existsSync(MEMORY) ? MEMORY : tmpdir();
