// Started as a process by providers.ts. Prints the result of the self-test as JSON in its last line.
import type { Provider } from '../device/providers.js';
import { selfTest } from './selfTest.js';

const fault = await selfTest(process.argv[2] as Provider);
process.stdout.write(`${JSON.stringify({ fault })}\n`);
