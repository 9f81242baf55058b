// Killed and concurrent writers; crash.system.test.ts kills at more moments.
import assert from 'node:assert/strict';
import { testKills } from './kills.js';
import { startChild, withStore } from './support.js';

describe('store: killed and concurrent processes', () => {
  testKills(6);

  it('gives two processes that write the same sixty memo keys the same results', () =>
    withStore(async (_store, root) => {
      const twins = [startChild('memos', root, 'a'), startChild('memos', root, 'b')];
      assert.deepEqual(await Promise.all(twins.map((twin) => twin.done)), [0, 0]);
      assert.equal(twins[0]!.lines().length, 60);
      assert.deepEqual(twins[0]!.lines(), twins[1]!.lines());
    }));

  it('gives each of thirty run ids to exactly one of two competing processes', () =>
    withStore(async (_store, root) => {
      const twins = [startChild('claim', root, '1'), startChild('claim', root, '2')];
      assert.deepEqual(await Promise.all(twins.map((twin) => twin.done)), [0, 0]);
      const [a, b] = [twins[0]!.lines(), twins[1]!.lines()];
      assert.equal(a.length, 30);
      for (let i = 0; i < 30; i++) {
        assert.deepEqual([a[i], b[i]].sort(), [`${i} RUN_EXISTS`, `${i} won`]);
      }
    }));
});
