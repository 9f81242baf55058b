import { testKills } from './kills.js';

describe('store: killed processes', function () {
  this.timeout(120_000);
  testKills(20);
});
