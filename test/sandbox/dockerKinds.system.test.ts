// Runs the whole shared suite in strict isolation and on gVisor. docker.test.ts runs it with one uid per program, and the
// essential parts everywhere.
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { details } from './conformance.js';
import { requireDocker, requireGvisor } from './docker.js';

for (const [name, options, require] of [
  ['isolation strict', { isolation: 'strict' }, requireDocker],
  ['gVisor', { runtime: 'runsc' }, requireGvisor],
] as const)
  describe(`the Docker sandbox in detail, ${name}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      await require(this);
      sandbox = await openDocker({ size: 2, ...options });
    });
    after(() => sandbox?.close());

    details(() => sandbox);
  });
