// Skips a suite without a Docker daemon, or fails it if GAUNTLET_REQUIRE_DOCKER=1.
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
