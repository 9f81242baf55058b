// The device for tests off the CPU. GAUNTLET_TEST_DEVICE names it, and GAUNTLET_TEST_VULKAN_DRIVER the JSON file of a Vulkan
// driver that only these tests use. infra/ci/software-gpu.sh provides one; .ci/run sets both.
import type { Context } from 'mocha';
import type { Provider } from '../../ml/device/providers.js';

/** Skips the test without a device. */
export function testDevice(test: Context): Provider {
  const { GAUNTLET_TEST_DEVICE: device, GAUNTLET_TEST_VULKAN_DRIVER: driver } = process.env;
  if (!device) test.skip();
  if (driver) process.env.VK_DRIVER_FILES = driver;
  return device as Provider;
}
