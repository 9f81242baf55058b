import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { hostileJudges } from './hostileJudges.js';

const BACKENDS = [
  { name: 'Docker, a uid per program', open: () => openDocker({ size: 1 }) },
  { name: 'Docker, a container per program', open: () => openDocker({ size: 1, isolation: 'strict' }) },
  { name: 'WebAssembly', open: () => openWasm({ size: 1 }) },
];

for (const { name, open } of BACKENDS)
  describe(`judging with hostile validators, checkers and test source: ${name}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      if (name !== 'WebAssembly') await requireDocker(this);
      sandbox = await open();
    });
    after(() => sandbox?.close());

    hostileJudges(() => sandbox, 1);
  });
