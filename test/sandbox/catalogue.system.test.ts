// Runs the whole catalogue of hostile programs on every backend and isolation.
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker, requireGvisor } from './docker.js';
import { checkHostile, hostileRows } from './hostile.js';

const BACKENDS = {
  uid: () => openDocker({ size: 2, isolation: 'uid' }),
  strict: () => openDocker({ size: 2, isolation: 'strict' }),
  gvisor: () => openDocker({ size: 2, runtime: 'runsc' }),
  wasm: () => openWasm({ size: 1 }),
} as const;
const NAMES = {
  uid: 'Docker, a uid per program',
  strict: 'Docker, a container per program',
  gvisor: 'Docker on gVisor',
  wasm: 'WebAssembly',
};

describe('the catalogue of hostile programs', () => {
  for (const kind of ['uid', 'strict', 'gvisor', 'wasm'] as const)
    it(`ends as expected, and known programs run after it: ${NAMES[kind]}`, async function () {
      const rows = hostileRows();
      if (!rows) return this.skip(); // the catalogue needs GAUNTLET_SHARED
      if (kind === 'gvisor') await requireGvisor(this);
      else if (kind !== 'wasm') await requireDocker(this);
      const sandbox = await BACKENDS[kind]();
      try {
        await checkHostile(rows, sandbox, kind);
      } finally {
        await sandbox.close();
      }
    });
});
