import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { canonicalJson, digestBytes, digestJson } from '../../store/canonicalJson.js';
import { kindOfRow, memoKey, readMemoRecord, recordKey, memoised as timed } from '../../store/memo.js';
import { checkRecord } from '../../store/records.js';
import {
  createRun,
  readInput,
  readMetrics,
  readResult,
  readRun,
  writeInput,
  writeMetrics,
  writeResult,
} from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { decodeTensors, encodeTensors } from '../../store/tensors.js';
import { sampleData, sampleStep } from '../support/sample.js';
import { DIGEST, refusal, sampleConfig, withStore } from './support.js';

describe('canonical JSON', () => {
  it('sorts keys at every depth and can be read by JSON.parse', () => {
    assert.equal(
      canonicalJson({ b: 1, a: [true, null, { z: '"\n', y: -0 }], é: 1e21 }),
      '{"a":[true,null,{"y":0,"z":"\\"\\n"}],"b":1,"é":1e+21}',
    );
    assert.equal(
      canonicalJson({ b: [], a: { c: [1] } }, 2),
      '{\n  "a": {\n    "c": [\n      1\n    ]\n  },\n  "b": []\n}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
        assert.equal(canonicalJson(JSON.parse(text)), text);
        assert.deepEqual(JSON.parse(canonicalJson(value, 2)), JSON.parse(text));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('does not depend on the order of keys', () => {
    const byHand = (value: unknown): string => {
      if (Array.isArray(value)) return `[${value.map(byHand).join(',')}]`;
      if (value === null || typeof value !== 'object') return JSON.stringify(value);
      const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${byHand(field)}`).join(',')}}`;
    };
    const key = fc.oneof(fc.string({ unit: 'binary', maxLength: 3 }), fc.nat(200).map(String)); // keys are sorted as text, so 10 comes before 9
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.oneof(fc.constantFrom(null, true), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), key),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(value, (value) => {
        const text = canonicalJson(value);
        assert.equal(text, byHand(value));
        assert.equal(byHand(JSON.parse(canonicalJson(value, 2))), text);
      }),
      { numRuns: 200 },
    );
    const nested = { b: { d: [{ z: [], y: 1 }], c: {} }, a: [] };
    const sorted = { a: [], b: { c: {}, d: [{ y: 1, z: [] }] } };
    assert.equal(canonicalJson(nested, 2), JSON.stringify(sorted, null, 2));
  });

  it('reports the first of several errors in the order of keys', () => {
    assert.throws(
      () => canonicalJson({ b: Number.NaN, a: [{}, { z: 1n, y: [Number.NaN] }] }),
      refusal('BAD_INPUT', '$.a[1].y[0]'),
    );
  });

  it('leaves out undefined fields', () => {
    assert.equal(canonicalJson({ a: 1, b: undefined, c: { d: undefined } }), '{"a":1,"c":{}}');
  });

  it('refuses other values that JSON would lose, with their path', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const cases: [unknown, string][] = [
      [{ a: [1, Number.NaN] }, '$.a[1]'],
      [{ a: Number.POSITIVE_INFINITY }, '$.a'],
      [{ a: { b: [undefined] } }, '$.a.b[0]'],
      [new Array(1), '$[0]'],
      [{ f: () => 1 }, 'function'],
      [{ n: 1n }, 'bigint'],
      [{ m: new Map() }, 'Map'],
      [{ t: new Float32Array(1) }, 'Float32Array'],
      [{ d: new Date(0) }, 'Date'],
      [cycle, 'cycle'],
    ];
    for (const [value, part] of cases) assert.throws(() => canonicalJson(value), refusal('BAD_INPUT', part));
    const shared = { x: 1 };
    assert.equal(canonicalJson([shared, shared]), '[{"x":1},{"x":1}]'); // the object is shared, but there is no cycle
  });

  it('has the SHA-256 of the text as digest', () => {
    // printf '{"a":1}' | sha256sum
    assert.equal(digestJson({ a: 1 }), 'sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
    assert.equal(digestBytes(''), 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });
});

const memoised = async <T>(...given: Parameters<typeof timed<T>>): Promise<T> => (await timed(...given)).output;

describe('the memo of activities', () => {
  it('has a key that depends on name, version and inputs but not on the order of keys', () => {
    const key = memoKey('generate', 1, { a: 1, b: 2 });
    assert.match(key, /^[0-9a-f]{64}$/);
    assert.equal(memoKey('generate', 1, { b: 2, a: 1 }), key);
    const others = [
      memoKey('generate', 2, { a: 1, b: 2 }),
      memoKey('score', 1, { a: 1, b: 2 }),
      memoKey('generate', 1, { a: 1, b: 3 }),
    ];
    assert.equal(new Set([key, ...others]).size, 4);
  });

  it('computes once and then returns an equal value', () =>
    withStore(async (store) => {
      let runs = 0;
      const context = { store, name: 'sum', version: 1 };
      const compute = async () => ({ runs: ++runs, zero: -0 });
      const first = await memoised(context, { x: 1 }, compute);
      assert.deepEqual(await memoised(context, { x: 1 }, compute), first);
      assert.equal(runs, 1);
      await memoised(context, { x: 2 }, compute);
      await memoised({ ...context, version: 2 }, { x: 1 }, compute);
      assert.equal(runs, 3);
    }));

  it('lets a computation go on while its artifacts are written, and writes no row before them', () =>
    withStore(async (store) => {
      const events: string[] = [];
      const slow: Store = Object.create(store);
      slow.putBlob = async (bytes) => {
        await sleep(50);
        events.push('artifact');
        return store.putBlob(bytes);
      };
      slow.putMemo = async (...row) => {
        events.push('row');
        return store.putMemo(...row);
      };
      const compute = async (to: Store) => {
        const made = [await to.putJson(1), await to.putJson(2)];
        events.push('made');
        assert.deepEqual(await Promise.all(made.map((digest) => to.getJson(digest))), [1, 2]);
        return { made };
      };
      await memoised({ store: slow, name: 'n', version: 1 }, {}, compute);
      assert.deepEqual(events, ['made', ...Array<string>(4).fill('artifact'), 'row', 'row']); // as well as the result and the record
    }));

  it('writes no row if an artifact cannot be written', () =>
    withStore(async (store) => {
      const failing: Store = Object.create(store);
      failing.putBlob = async (bytes) => {
        if (Buffer.from(bytes).toString() === '1') throw new Error('disk full');
        return store.putBlob(bytes);
      };
      const compute = async (to: Store) => ({ made: await to.putJson(1) });
      await assert.rejects(memoised({ store: failing, name: 'n', version: 1 }, {}, compute), /disk full/);
      assert.deepEqual(await store.memoKeys(), []);
    }));

  it('gives a slower concurrent computation the result of the first', () =>
    withStore(async (store) => {
      const context = { store, name: 'slow', version: 1 };
      let release: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const zombie = memoised(context, {}, async () => {
        await gate;
        return 'zombie';
      });
      assert.equal(await memoised(context, {}, async () => 'twin'), 'twin');
      release();
      assert.equal(await zombie, 'twin');
      assert.equal(await memoised(context, {}, async () => 'third'), 'twin');
    }));

  it('does not store a failure', () =>
    withStore(async (store) => {
      const context = { store, name: 'fails', version: 1 };
      await assert.rejects(
        memoised(context, {}, () => Promise.reject(new Error('once'))),
        /once/,
      );
      assert.equal(await memoised(context, {}, async () => 'well'), 'well');
    }));

  it('records the inputs and the time of the first computation', () =>
    withStore(async (store) => {
      const context = { store, name: 'n', version: 2 };
      const work = async () => {
        await sleep(20);
        return 'same';
      };
      const first = await timed(context, { x: 1 }, work);
      assert.ok(first.seconds >= 0.015, String(first.seconds));
      assert.deepEqual(await timed(context, { x: 1 }, () => Promise.reject(new Error('not again'))), first);
      const key = memoKey('n', 2, { x: 1 });
      assert.deepEqual(await readMemoRecord(store, key), {
        name: 'n',
        version: 2,
        inputs: { x: 1 },
        seconds: first.seconds,
      });
      assert.deepEqual(kindOfRow(recordKey(key)), { kind: 'record', of: key });
      assert.deepEqual(kindOfRow(key), { kind: 'result', of: key });
    }));

  it('recomputes a lost or damaged row, result or record, and reports a different result', () =>
    withStore(async (store, root) => {
      let runs = 0;
      const damage: string[] = [];
      const context = { store, name: 'n', version: 1, onDamage: (error: Error) => damage.push(error.message) };
      const ask = () =>
        memoised(context, {}, async () => {
          runs++;
          return 'same';
        });
      await ask();
      const digest = digestJson('same');
      const row = join(root, 'memo', memoKey('n', 1, {}));
      const blob = join(root, 'blobs/sha256', digest.slice(7, 9), digest.slice(9));
      const parts: [path: string, again: number, told: RegExp | undefined][] = [
        [blob, 1, undefined], // a damaged small blob counts as missing
        [row, 1, /^memo \w+ was damaged/],
        [`${row}.inputs`, 0, /^memo \w+\.inputs was damaged/],
      ];
      for (const [path, again, told] of parts) {
        for (const isDeleted of [true, false]) {
          runs = 0;
          damage.length = 0;
          await (isDeleted ? rm(path) : writeFile(path, '"sbme"'));
          assert.equal(await ask(), 'same', path);
          assert.equal(await ask(), 'same', path);
          assert.equal(runs, again, path);
          const isTold = !isDeleted && told !== undefined;
          assert.equal(damage.length, isTold ? 1 : 0, path);
          if (isTold) assert.match(damage[0]!, told);
        }
      }
      await rm(blob);
      await assert.rejects(
        memoised(context, {}, async () => 'other'),
        refusal('CORRUPT_ARTIFACT', digest),
      );
    }));

  it('recomputes a missing artifact of a known result', () =>
    withStore(async (store, root) => {
      let runs = 0;
      const work = async () => {
        runs++;
        return { large: await store.putJson([1, 2, 3]) };
      };
      const context = { store, name: 'n', version: 1 };
      const { large } = await memoised(context, {}, work);
      await rm(join(root, 'blobs/sha256', large.slice(7, 9), large.slice(9)));
      assert.deepEqual(await memoised(context, {}, work), { large });
      assert.equal(runs, 2);
      assert.deepEqual(await store.getJson(large), [1, 2, 3]);
    }));
});

describe('the records of runs', () => {
  const facts = (seed: number) => ({
    config: sampleConfig(seed),
    modelDigest: DIGEST,
    dataDigest: DIGEST,
    codeVersion: '1',
  });

  it('are claimed once; the same configuration can claim a run again, even with newer code', () =>
    withStore(async (store) => {
      const manifest = await createRun(store, 'r', facts(3));
      assert.equal(manifest.seed, 3);
      assert.equal(manifest.configDigest, digestJson(sampleConfig(3)));
      assert.deepEqual(await createRun(store, 'r', { ...facts(3), codeVersion: '2' }), manifest);
      assert.deepEqual(await readRun(store, 'r'), manifest);
    }));

  it('get the digest of their manifest from the next claim if the first one was killed', () =>
    withStore(async (store) => {
      const manifest = await createRun(store, 'r', facts(3));
      await store.removeRunFile('r', 'digests/manifest.json');
      assert.deepEqual(await createRun(store, 'r', facts(3)), manifest);
      const { hasDigest, problem } = await checkRecord(store, 'r', 'manifest.json');
      assert.deepEqual([hasDigest, problem], [true, undefined]);
    }));

  it('report RUN_EXISTS and the difference for another configuration, model or problem set', () =>
    withStore(async (store) => {
      await createRun(store, 'r', facts(3));
      await assert.rejects(createRun(store, 'r', facts(4)), refusal('RUN_EXISTS', 'run r', 'seed'));
      const other = `sha256:${'1'.repeat(64)}`;
      await assert.rejects(
        createRun(store, 'r', { ...facts(3), modelDigest: other }),
        refusal('RUN_EXISTS', 'modelDigest'),
      );
      await assert.rejects(
        createRun(store, 'r', { ...facts(3), dataDigest: other }),
        refusal('RUN_EXISTS', 'dataDigest'),
      );
    }));

  it('report a missing run as NOT_FOUND and name a damaged manifest', () =>
    withStore(async (store) => {
      await assert.rejects(readRun(store, 'r'), refusal('NOT_FOUND', 'no run r'));
      const { configDigest } = await createRun(store, 'r', facts(3));
      const text = Buffer.from((await store.readRunFile('r', 'manifest.json'))!).toString();
      for (const bad of ['{', text.replace(configDigest, DIGEST), text.replace('"seed": 3', '"sead": 3')]) {
        await store.writeRunFile('r', 'manifest.json', bad);
        await assert.rejects(createRun(store, 'r', facts(3)), refusal('CORRUPT_ARTIFACT', 'manifest.json'));
      }
    }));

  it('are read as version 0.2.0 wrote them, unless they use a field that was removed', () =>
    withStore(async (store) => {
      const written = (typeCheck: object) => ({ ...facts(3), config: { ...sampleConfig(3), typeCheck } });
      const manifest = await createRun(store, 'unused', written({ enabled: false, weight: 0 }));
      assert.deepEqual(await readRun(store, 'unused'), { ...manifest, config: sampleConfig(3) });
      await createRun(store, 'used', written({ enabled: true, weight: 0 }));
      const reason = 'manifest.json of run used is damaged: config.typeCheck: was removed';
      await assert.rejects(readRun(store, 'used'), refusal('CORRUPT_ARTIFACT', reason));
    }));

  it('return their whole configuration and name a damaged one', () =>
    withStore(async (store) => {
      assert.equal(await readInput(store, 'r'), undefined);
      const config = { ...sampleConfig(3), budget: { tokens: 9, seconds: null } };
      await writeInput(store, 'r', config);
      assert.deepEqual(await readInput(store, 'r'), config);
      await store.writeRunFile('r', 'input.json', '{"seed": -1}');
      await assert.rejects(readInput(store, 'r'), refusal('CORRUPT_ARTIFACT', 'input.json of run r'));
    }));

  it('keep one metrics record per step and read them in the order of steps', () =>
    withStore(async (store) => {
      for (const step of [10, 2, 1, 2, 100]) await writeMetrics(store, 'r', step, sampleStep(step));
      await writeMetrics(store, 'r', '2-validation', sampleStep(2));
      const all = await readMetrics(store, 'r');
      assert.deepEqual(
        all.map((metrics) => metrics.step),
        [1, 2, 2, 10, 100],
      );
      assert.deepEqual(await readMetrics(store, 'nobody'), []);
      for (const damaged of ['{"step":', '{"kind": "step", "step": 3}']) {
        await store.writeRunFile('r', 'metrics/3.json', damaged);
        await assert.rejects(readMetrics(store, 'r'), refusal('CORRUPT_ARTIFACT', 'metrics/3.json'));
      }
    }));
});

describe("the records of a run's end", () => {
  it('include the result and the chain, and a damaged one is named on reading', () =>
    withStore(async (store) => {
      const { result, chain } = sampleData();
      assert.deepEqual(await readResult(store, 'r'), { result: undefined, chain: undefined });
      await writeResult(store, 'r', result);
      assert.deepEqual(await readResult(store, 'r'), { result, chain: undefined });
      await writeResult(store, 'r', result, chain);
      assert.deepEqual(await readResult(store, 'r'), { result, chain });
      await store.writeRunFile('r', 'chain.json', '{}');
      await assert.rejects(readResult(store, 'r'), refusal('CORRUPT_ARTIFACT', 'chain.json'));
    }));
});

describe('tensor files', () => {
  it('return tensors bit for bit; equal tensors have equal bytes in any order', () => {
    const odd = new Float32Array([0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e-45]);
    const backing = new Float32Array(10).map((_, i) => i);
    const tensors = { v: odd, m: backing.subarray(3, 7), empty: new Float32Array(0) };
    const bytes = encodeTensors(tensors, { step: 3, alpha: 16 });
    assert.deepEqual(encodeTensors({ empty: tensors.empty, m: tensors.m, v: odd }, { alpha: 16, step: 3 }), bytes);
    const shifted = new Uint8Array(bytes.length + 1); // decoding must work without alignment
    shifted.set(bytes, 1);
    const back = decodeTensors(shifted.subarray(1));
    assert.deepEqual(Object.keys(back.tensors), ['empty', 'm', 'v']);
    assert.deepEqual([...back.tensors.m!], [3, 4, 5, 6]);
    assert.deepEqual(Buffer.from(back.tensors.v!.buffer), Buffer.from(odd.buffer));
    assert.deepEqual(back.meta, { step: 3, alpha: 16 });
  });

  it('have a fixed digest', () => {
    const bytes = encodeTensors({ a: new Float32Array([1, 2]), b: new Float32Array([-3]) }, { step: 1 });
    const head = '{"meta":{"step":1},"tensors":[["a",2],["b",1]]}';
    assert.equal(Buffer.from(bytes).toString('latin1', 0, 8), 'GTNSR1\n\0');
    assert.equal(Buffer.from(bytes).toString('latin1', 12, 12 + head.length), head);
    assert.equal(bytes.length, 64 + 12);
    assert.equal(Buffer.from(bytes).toString('hex', 64), '0000803f00000040000040c0');
  });

  it('refuse bytes that are cut, extended or not a tensor file', () => {
    const good = Buffer.from(encodeTensors({ a: new Float32Array(4) }));
    const headless = Buffer.from(good);
    headless.writeUInt32LE(1e9, 8);
    const torn = Buffer.from(good);
    torn[12] = 0x7d;
    const shape = Buffer.from(good.toString('latin1').replace('["a",4]', '["a",""'), 'latin1');
    const minus = Buffer.from(good.toString('latin1').replace('["a",4]', '[1,"a"]'), 'latin1');
    for (const bad of [
      good.subarray(0, 5),
      good.subarray(0, -1),
      Buffer.concat([good, good]),
      headless,
      torn,
      shape,
      minus,
      Buffer.alloc(40),
    ]) {
      assert.throws(() => decodeTensors(bad), refusal('CORRUPT_ARTIFACT', 'tensor file'));
    }
  });
});
