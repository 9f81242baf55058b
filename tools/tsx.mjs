// Lets Node load TypeScript. Mocha requires it for tests from source, and their threads and processes get it as a flag:
// `--import tsx` alone does nothing in a thread of Node 20.
import { register } from 'tsx/esm/api';

register();
