// The device for tests off the CPU: GAUNTLET_TEST_DEVICE=cuda.
import type { Context } from 'mocha';
import type { Provider } from '../../ml/device/providers.js';

/** Skips the test without a device. */
export function testDevice(test: Context): Provider {
  const device = process.env.GAUNTLET_TEST_DEVICE;
  if (!device) test.skip();
  return device as Provider;
}
