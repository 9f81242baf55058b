// The Python environment of the peers, with a fake python3.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LabError } from '../../lab/flags.js';
import { providePython } from '../../lab/python.js';
import { program, temporaryFolder, writeInto } from '../infra/support.js';

/** Logs its calls and creates an environment that contains itself; pip fails if FAKE_PIP_FAILS is set. */
const FAKE_PYTHON = `
echo "$@" >> "$FAKE_LOG"
case "$*" in
  *"-m venv"*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  *"pip install"*) [ -z "$FAKE_PIP_FAILS" ] ;;
esac`;

describe("the peers' Python environment", () => {
  const path = process.env.PATH;
  afterEach(() => {
    process.env.PATH = path;
    delete process.env.FAKE_PIP_FAILS;
  });

  function checkout() {
    const root = temporaryFolder({ 'needs.txt': 'torch==1.0\n' });
    const programs = join(root, 'programs');
    program(root, 'programs/python3', FAKE_PYTHON);
    process.env.PATH = `${programs}:/usr/bin:/bin`;
    process.env.FAKE_LOG = join(root, 'log');
    const said: string[] = [];
    const request = { requirements: ['needs.txt'], root, say: (line: string) => said.push(line) };
    const installs = (): number => (readFileSync(join(root, 'log'), 'utf8').match(/pip install/g) ?? []).length;
    return { root, request, said, installs, programs };
  }
  const fails = (named: RegExp) => (error: LabError) => named.test(error.message) && !error.message.includes('\n');

  it('is created once, prints the requirements, and is reused afterwards', async () => {
    const { root, request, said, installs } = checkout();
    const python = await providePython(request);
    assert.equal(python, join(root, '.cache', 'python', 'bin', 'python'));
    assert.ok(existsSync(python));
    assert.ok(said.some((line) => line.includes('torch==1.0')));
    assert.equal(installs(), 1);
    said.length = 0;
    assert.equal(await providePython(request), python);
    assert.equal(installs(), 1);
    assert.deepEqual(said, []);
  });

  it('is updated when the requirements change', async () => {
    const { root, request, installs } = checkout();
    await providePython(request);
    writeInto(root, 'needs.txt', 'torch==2.0\n');
    await providePython(request);
    assert.equal(installs(), 2);
  });

  it('reports a failed installation in one line and installs again the next time', async () => {
    const { request, installs } = checkout();
    process.env.FAKE_PIP_FAILS = '1';
    await assert.rejects(providePython(request), fails(/^pip could not install needs\.txt/));
    delete process.env.FAKE_PIP_FAILS;
    await providePython(request);
    assert.equal(installs(), 2);
  });

  it('fails with one line if python3 is missing', async () => {
    const { request, root } = checkout();
    process.env.PATH = join(root, 'nothing');
    await assert.rejects(providePython(request), fails(/^python3 \(3\.10 or newer\) was not found/));
  });

  it('fails with one line if the venv module is missing', async () => {
    const { request, programs } = checkout();
    program(programs, 'python3', 'case "$*" in *venv*) exit 1 ;; esac');
    await assert.rejects(providePython(request), fails(/^python3 -m venv failed/));
  });

  it('can be given by path, and must be a Python environment', async () => {
    const { request, root } = checkout();
    await assert.rejects(providePython({ ...request, venv: root }), fails(/is no Python environment/));
    const python = program(root, 'own/bin/python', 'true');
    assert.equal(await providePython({ ...request, venv: join(root, 'own') }), python);
  });
});
