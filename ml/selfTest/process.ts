// A program that providers.ts starts. Its last line is the result of the self-test as JSON.
import type { Provider } from '../device/providers.js';
import type { Half } from '../ir/half.js';
import { selfTest } from './selfTest.js';

const [, , provider, half] = process.argv as [string, string, Provider, Half?];
const fault = await selfTest(provider, { half });
process.stdout.write(`${JSON.stringify({ fault })}\n`);
