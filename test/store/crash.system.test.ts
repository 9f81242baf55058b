import { testKills } from './kills.js';

describe('store: killed processes', () => {
  testKills(20);
});
