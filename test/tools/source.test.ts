// `npx mocha test/….test.ts` runs a test without a build, also one that starts threads, or the sandbox, where no loader runs.
import assert from 'node:assert/strict';
import { ROOT } from '../../infra/root.mjs';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { runNode } from '../infra/support.js';

describe('a test that is run from source', () => {
  it('can run a program in the sandbox', async () => {
    const sandbox = await openWasm({ size: 1 });
    try {
      const [run] = await sandbox.run([{ id: 'a', code: 'def f(x): return x + 1', entry: 'f', inputs: [[1]] }]);
      assert.deepEqual(run!.calls, [{ kind: 'value', value: 2 }]);
    } finally {
      await sandbox.close();
    }
  });

  if (import.meta.url.endsWith('.js'))
    it('runs without a build, even if it starts threads', async () => {
      const files = ['test/tools/source.test.ts', 'test/ml/pool/inThread.test.ts'];
      const env = { NODE_V8_COVERAGE: undefined }; // coverage is measured in dist/
      const { code, text } = await runNode(['node_modules/mocha/bin/mocha.js', ...files], { cwd: ROOT, env });
      assert.equal(code, 0, text);
      assert.match(text, /\b4 passing/);
    });
});
