// `gauntlet setup cuda`, with a fake pip that provides small packages.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installCuda } from '../../cli/commands/setup.js';
import { NVIDIA, PROVIDER, PROVIDER_FILES } from '../../infra/cudaPackages.js';
import { CUDA_LIBRARIES } from '../../ml/device/cudaLibraries.js';

/** Answers `python3 -m pip download … -r FILE` and `python3 -m zipfile -e WHEEL FOLDER`, and records the calls. */
const PYTHON = `#!/bin/sh
[ "$2" = pip ] && { echo "$*" >> "$ASKED"; for last; do :; done; cat "$last" >> "$ASKED"; [ "$BROKEN" = "" ] || exit 1; touch "\${last%/*}/package.whl"; }
[ "$2" = zipfile ] && for folder in onnxruntime/capi nvidia/cu13/lib; do
  mkdir -p "$5/$folder"
  for name in $LIBRARIES; do echo "$name" > "$5/$folder/$name"; done
done
exit 0
`;

describe('gauntlet setup cuda', () => {
  const before = { ...process.env };
  let folder: string;
  let asked: string;
  beforeEach(function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') this.skip();
    folder = mkdtempSync(join(tmpdir(), 'gauntlet-setup-'));
    asked = join(folder, 'asked');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin', 'python3'), PYTHON, { mode: 0o755 });
    const libraries = [...PROVIDER_FILES, ...NVIDIA.flatMap(({ files }) => files)];
    Object.assign(process.env, {
      PATH: `${join(folder, 'bin')}:${before.PATH}`,
      GAUNTLET_CACHE: join(folder, 'cache'),
      LIBRARIES: libraries.join(' '),
      ASKED: asked,
    });
  });
  afterEach(() => {
    process.env = { ...before };
    rmSync(folder, { recursive: true, force: true });
  });

  it('knows every library that is loaded at run time', () => {
    assert.deepEqual(
      NVIDIA.flatMap(({ files }) => files),
      CUDA_LIBRARIES,
    );
  });

  it('downloads the missing libraries with their digests, and nothing the second time', async () => {
    const said: string[] = [];
    const provider = join(folder, 'provider');
    const installed = await installCuda((line) => said.push(line), provider);
    assert.equal(installed[0], PROVIDER.name);
    assert.deepEqual(readdirSync(provider).sort(), [...PROVIDER_FILES].sort());
    assert.equal(said.length, installed.length);
    const requests = readFileSync(asked, 'utf8');
    assert.match(requests, /--require-hashes/);
    assert.ok(requests.includes(`onnxruntime-gpu==1.30.0 --hash=sha256:${PROVIDER.sha256}`));
    for (const { name, files } of NVIDIA)
      if (installed.includes(name))
        // the machine itself may have these libraries
        for (const file of files) assert.ok(existsSync(join(folder, 'cache', 'cuda-13', file)), file);
    assert.deepEqual(await installCuda(() => undefined, provider), []);
  });

  it('leaves nothing behind if pip fails, and reports the failure in one line', async () => {
    process.env.BROKEN = 'yes';
    const provider = join(folder, 'provider');
    await assert.rejects(
      installCuda(() => undefined, provider),
      {
        code: 'DEVICE_UNAVAILABLE',
        message: 'pip cannot download onnxruntime-gpu from PyPI: see the lines above',
      },
    );
    assert.deepEqual(readdirSync(provider), []);
  });

  it('names what is missing if there is no Python', async () => {
    process.env.PATH = join(folder, 'none');
    await assert.rejects(
      installCuda(() => undefined, join(folder, 'provider')),
      /python3 with pip is needed/,
    );
  });
});
