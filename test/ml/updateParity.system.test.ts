import { testUpdates } from './updates.js';

describe('an update on random shapes', () => {
  testUpdates(() => true);
});
