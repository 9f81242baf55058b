import assert from 'node:assert/strict';
import { KvStore } from '../../../ml/decode/kvStore.js';
import { OpenGraphs } from '../../../ml/device/openGraphs.js';
import { allocatedMemory, Lru, memoryBudget, memoryLimit, sourceOf } from '../../../ml/engine/budget.js';

const GIB = 2 ** 30;

describe('the memory budget', () => {
  it('is the smallest of GAUNTLET_MEMORY, three quarters of the container and half of the machine', () => {
    const none = 2 ** 64;
    assert.deepEqual(memoryBudget('', none, 16 * GIB), { bytes: 8 * GIB, from: 'machine' });
    assert.deepEqual(memoryBudget('', 0, 16 * GIB), { bytes: 8 * GIB, from: 'machine' });
    assert.deepEqual(memoryBudget('', 4 * GIB, 16 * GIB), { bytes: 3 * GIB, from: 'container' });
    assert.deepEqual(memoryBudget('', 12 * GIB, 16 * GIB), { bytes: 8 * GIB, from: 'machine' });
    assert.deepEqual(memoryBudget('2GiB', 4 * GIB, 16 * GIB), { bytes: 2 * GIB, from: 'GAUNTLET_MEMORY' });
    assert.deepEqual(memoryBudget('6GiB', 4 * GIB, 16 * GIB), { bytes: 3 * GIB, from: 'container' });
  });

  it('reads bytes and units', () => {
    const values = {
      '500000000': 5e8,
      '500MB': 5e8,
      '500M': 5e8,
      ' 1.5 GB ': 1.5e9,
      '512Mi': 512 * 2 ** 20,
      '1GiB': GIB,
    };
    for (const [text, bytes] of Object.entries(values))
      assert.equal(memoryBudget(text, 0, 64 * GIB).bytes, bytes, text);
  });

  it('refuses other values in one line that names the variable', () => {
    for (const text of ['much', '-2GB', '2TB', '499MB', '0', '1e9', 'NaN', '2 GB 3'])
      assert.throws(() => memoryBudget(text, 0, 64 * GIB), {
        code: 'BAD_CONFIG',
        message: `GAUNTLET_MEMORY must be at least 500MB, as bytes or with MB, GB, MiB or GiB, is ${JSON.stringify(text)}`,
      });
  });

  it('has a hard limit, which does not depend on the machine', () => {
    assert.equal(memoryLimit('', 0), undefined);
    assert.equal(memoryLimit('', 4 * GIB), 4 * GIB);
    assert.equal(memoryLimit('1GiB', 4 * GIB), GIB);
  });

  it('is shown with its source, beside what the process has allocated', function () {
    assert.equal(sourceOf({ bytes: 1, from: 'machine' }), 'half of the machine');
    if (process.platform !== 'linux') this.skip(); // read from /proc
    assert.ok(allocatedMemory()! > 10e6);
    assert.equal(allocatedMemory('/proc/none'), undefined);
  });
});

describe('Lru', () => {
  it('removes the least recently used values until the sum is within the limit', () => {
    const removed: string[] = [];
    const lru = new Lru<number>(10, (_, key) => removed.push(key));
    lru.set('a', 1, 4);
    lru.set('b', 2, 4);
    assert.equal(lru.get('a'), 1);
    lru.set('c', 3, 4);
    assert.deepEqual([removed, lru.used, lru.size], [['b'], 8, 2]);
    lru.set('a', 5, 6); // the old size of a replaced value does not count
    assert.deepEqual([removed, lru.used, lru.get('a')], [['b', 'a'], 10, 5]);
    lru.deleteWhere((_, key) => key === 'a');
    assert.deepEqual([lru.used, lru.get('a')], [4, undefined]);
    lru.delete('unknown');
    assert.equal(lru.used, 4);
  });

  it('holds a single value that exceeds the limit', () => {
    const lru = new Lru<string>(10);
    lru.set('small', 'x', 3);
    lru.set('large', 'y', 30);
    assert.deepEqual([lru.get('small'), lru.get('large'), lru.used], [undefined, 'y', 30]);
    lru.set('next', 'z', 1);
    assert.deepEqual([lru.get('large'), lru.used], [undefined, 1]);
  });
});

describe('the open graphs of a thread', () => {
  const events: string[] = [];
  const graph = (name: string, bytes = 1) => ({
    bytes,
    open: async () => {
      events.push(`open ${name}`);
      return { close: async () => void events.push(`close ${name}`) };
    },
  });
  beforeEach(() => void events.splice(0));

  it('close before another one opens that does not fit, the least recently used one first', async () => {
    const graphs = new OpenGraphs(2);
    for (const name of ['a', 'b', 'a', 'c', 'a']) await graphs.open(name, () => graph(name));
    assert.deepEqual(events, ['open a', 'open b', 'close b', 'open c']);
    await graphs.close();
    assert.deepEqual(events.slice(4).sort(), ['close a', 'close c']);
  });

  it('are open one at a time if there is no room', async () => {
    const graphs = new OpenGraphs(0);
    for (const name of ['a', 'a', 'b', 'a']) await graphs.open(name, () => graph(name));
    assert.deepEqual(events, ['open a', 'close a', 'open b', 'close b', 'open a']);
  });

  it('close in one call if their names have the same start', async () => {
    const graphs = new OpenGraphs(10);
    for (const name of ['train 1', 'generate 1', 'train 2']) await graphs.open(name, () => graph(name));
    await graphs.close('train');
    assert.deepEqual(events.slice(3), ['close train 1', 'close train 2']);
  });

  it('open again after a failure', async () => {
    const graphs = new OpenGraphs(10);
    const failing = () => ({ bytes: 1, open: () => Promise.reject(new Error('no')) });
    await assert.rejects(graphs.open('a', failing), /no/);
    await graphs.open('a', () => graph('a'));
    assert.deepEqual(events, ['open a']);
  });
});

describe('the KV store', () => {
  const segments = [
    { from: 0, to: 2, steps: false },
    { from: 2, to: 3, steps: true },
  ];
  const cacheOf = (bytes: number) => ({ length: 3, kv: new Float32Array(new SharedArrayBuffer(bytes)) });
  const holds = (store: KvStore, weights: string): boolean =>
    store.find(weights, [1, 2, 3, 4], [...segments, { from: 3, to: 4, steps: false }]) !== undefined;

  it('keeps the entries of the weights that were used last', () => {
    const store = new KvStore(1e6);
    for (const weights of ['base', 'a', 'b']) store.add(weights, [1, 2, 3], segments, cacheOf(400));
    assert.equal(store.used, 1200);
    assert.ok(holds(store, 'base')); // makes base the weights that were used last
    store.add('c', [1, 2, 3], segments, cacheOf(400));
    assert.equal(store.used, 1200);
    assert.deepEqual([holds(store, 'b'), holds(store, 'base'), holds(store, 'c')], [true, true, true]);
    assert.equal(holds(store, 'a'), false);
  });

  it('holds no more than its limit', () => {
    const store = new KvStore(1000);
    for (let i = 0; i < 5; i++) store.add('base', [i, 2, 3], segments, cacheOf(400));
    assert.equal(store.used, 800);
    store.add('base', [9, 2, 3], segments, cacheOf(2000));
    assert.equal(store.used, 800);
  });
});
