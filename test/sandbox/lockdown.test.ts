import assert from 'node:assert/strict';
import fs from 'node:fs';
import { loadPyodide } from 'pyodide';
import { Files, type MemFs } from '../../sandbox/wasm/files.mjs';
import { cutImports, deny, type WebAssemblyApi } from '../../sandbox/wasm/lockdown.mjs';
import { ensureSnapshot } from '../../sandbox/wasm/snapshot.js';

describe('the lockdown before the interpreter starts', () => {
  const api = () => {
    const seen: Record<string, unknown>[] = [];
    const wasm: WebAssemblyApi = {
      instantiate: async (_source, imports) => void seen.push(imports?.env ?? {}),
      Memory: { prototype: { grow: () => 7 } },
    };
    return { wasm, seen };
  };

  it('replaces host imports with stubs, keeps the others, and denies later instantiation', async () => {
    const { wasm, seen } = api();
    const host = () => 'host';
    const gate = cutImports(wasm, () => 0);
    const names = [
      'system',
      '_emscripten_run_script',
      'emscripten_run_script_int',
      '__syscall_connect',
      '_dlopen_js',
      'getaddrinfo',
    ];
    await wasm.instantiate(null, {
      env: Object.fromEntries([...names, '__syscall_openat', 'clock_time_get'].map((name) => [name, host])),
    });
    for (const name of names) assert.equal((seen[0]![name] as () => unknown)(), -1, name);
    for (const name of ['__syscall_openat', 'clock_time_get']) assert.equal(seen[0]![name], host);
    gate.closed = true;
    await assert.rejects(wasm.instantiate(null), /denied/);
    assert.throws(deny, /denied/);
  });

  it('closes imports that lead to JavaScript before programs run, and records changes of the function table', async () => {
    const { wasm, seen } = api();
    const gate = cutImports(wasm, () => 0);
    const names = ['JsProxy_GetAttr_js', 'JsvFunction_CallBound', 'raw_call_js', 'an_import_of_a_later_version'];
    const env = Object.fromEntries(
      [...names, 'ffi_prep_closure_loc_js', 'js2python_js'].map((name) => [name, () => 5]),
    );
    await wasm.instantiate(null, { env });
    const call = (name: string) => (seen[0]![name] as () => unknown)();
    for (const name of names) assert.equal(call(name), 5);
    gate.closed = true;
    for (const name of names) assert.throws(() => call(name), /denied/, name);
    assert.equal(call('js2python_js'), 5);
    assert.ok(!gate.stained);
    assert.equal(call('ffi_prep_closure_loc_js'), 5);
    assert.ok(gate.stained);
  });

  it('lets memory grow up to the current limit', () => {
    const { wasm } = api();
    let cap = 2 * 65536;
    cutImports(wasm, () => cap);
    const memory = { buffer: new ArrayBuffer(65536) };
    const grow = (pages: number) => wasm.Memory.prototype.grow.call(memory, pages);
    assert.equal(grow(1), 7);
    assert.throws(() => grow(2), RangeError);
    cap = 3 * 65536;
    assert.equal(grow(2), 7);
  });
});

describe('the file system of the interpreter', () => {
  let files: Files;
  let run: (code: string) => unknown;
  before(async () => {
    const snapshot = new Uint8Array(fs.readFileSync(await ensureSnapshot(() => {})));
    const py = await loadPyodide({ jsglobals: Object.create(null), _loadSnapshot: snapshot });
    files = new Files((py as unknown as { FS: MemFs }).FS);
    run = (code) => py.runPython(code);
  });
  beforeEach(() => files.restore());
  const refused = (code: string) =>
    run(`import os\nr = "done"\ntry:\n  ${code}\nexcept OSError as e: r = type(e).__name__\nr`);

  it('is writable below /tmp, and files there are gone after a restore', () => {
    assert.equal(
      run(
        'import os\nos.makedirs("/tmp/a/b")\nkeep = open("/tmp/a/b/c", "w")\nkeep.write("x")\nkeep.flush()\nos.path.getsize("/tmp/a/b/c")',
      ),
      1,
    );
    run('os.symlink("/tmp/a", "/tmp/link"); os.chdir("/tmp/a")');
    files.restore();
    assert.equal(run('os.getcwd() + str(os.listdir("/tmp"))'), '/tmp[]');
  });

  it('includes standard streams and file times, which are restored', () => {
    run(`
import os
fd = os.open("/tmp/log", os.O_CREAT | os.O_RDWR)
os.dup2(fd, 1)
os.close(0); os.close(2)
os.utime("/lib", (1, 1))`);
    files.restore();
    assert.equal(run('str([os.fstat(fd).st_mode >> 12 for fd in range(3)])'), '[2, 2, 2]'); // for character devices
    assert.equal(run('os.stat("/lib").st_mtime > 2'), true);
    assert.equal(run('os.open("/tmp/next", os.O_CREAT | os.O_RDWR)'), 3);
  });

  it('is read-only outside /tmp', () => {
    for (const code of [
      'open("/x", "w")',
      'open("/dev/shm/x", "w")',
      'open(os.__file__, "a")',
      'os.mkdir("/home/y")',
      'os.rename(os.__file__, "/tmp/z")',
      'os.unlink("/lib/python3.14/os.py")',
      'os.chmod("/", 0o777)',
      'os.chmod("/tmp", 0)',
      'os.fchmod(os.open("/", os.O_RDONLY), 0o777)',
      'os.chown("/", 5, 5)',
    ])
      assert.notEqual(refused(code), 'done', code);
  });

  it('limits the size and number of files, and a restore resets the counts', () => {
    assert.equal(refused('[open(f"/tmp/{i}", "wb").write(bytes(1 << 20)) for i in range(40)]'), 'OSError');
    files.restore();
    assert.equal(refused('os.truncate(os.open("/tmp/t", os.O_CREAT | os.O_RDWR), 1 << 30)'), 'OSError');
    files.restore();
    const hole = 'os.pwrite(os.open("/tmp/hole", os.O_CREAT | os.O_RDWR), b"x", 1 << 30)';
    assert.equal(refused(hole), 'OSError');
    files.restore();
    const mapped =
      'import mmap; f = os.open("/tmp/m", os.O_CREAT | os.O_RDWR); os.ftruncate(f, 9 << 20); m = mmap.mmap(f, 9 << 20); m[0] = 1; m.flush(); m.close()';
    assert.equal(refused(mapped), 'OSError');
    files.restore();
    assert.equal(refused('[os.close(os.open(f"/tmp/{i}", os.O_CREAT)) for i in range(2000)]'), 'OSError');
    files.restore();
    assert.equal(refused('open("/tmp/ok", "wb").write(bytes(1 << 20))'), 'done');
  });
});
