// Skips a suite if there is no Docker daemon, or fails it if GAUNTLET_REQUIRE_DOCKER=1.
import type Docker from 'dockerode';
import { connectDocker } from '../../sandbox/docker/daemon.js';

export async function requireDocker(suite: Mocha.Context): Promise<Docker> {
  try {
    return (await connectDocker()).docker;
  } catch (error) {
    if (process.env.GAUNTLET_REQUIRE_DOCKER === '1') throw error;
    console.log('      skipped: no Docker daemon answers (GAUNTLET_REQUIRE_DOCKER=1 makes that a failure)');
    return suite.skip();
  }
}

/** Skips a suite if the daemon does not have gVisor. */
export async function requireGvisor(suite: Mocha.Context): Promise<void> {
  await requireDocker(suite);
  if ((await connectDocker()).runtimes.includes('runsc')) return;
  console.log(
    "      skipped: the Docker daemon has no runtime 'runsc' (infra/ci/docker-engine.sh starts one that has it)",
  );
  suite.skip();
}
