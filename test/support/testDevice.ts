// The device for tests that do not run on the CPU: GAUNTLET_TEST_DEVICE=cuda.
import type { Context } from 'mocha';
import type { Provider } from '../../ml/device/providers.js';

/** Skips the test if there is no device. */
export function testDevice(test: Context): Provider {
  const device = process.env.GAUNTLET_TEST_DEVICE;
  if (!device) test.skip();
  return device as Provider;
}
