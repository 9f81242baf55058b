import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { modelFolder, portableName } from '../../data/modelFolder.js';
import { shippedModelPath } from '../../data/paths.js';
import { temporaryFolder } from '../infra/support.js';

describe('the folder of a model', () => {
  const names = ['HF_HUB_CACHE', 'HF_HOME', 'HF_HUB_OFFLINE', 'XDG_CACHE_HOME', 'HOME'];
  const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  let place: string;
  const cached = (...path: string[]): string => {
    const folder = join(place, 'huggingface', 'hub', 'models--some--model', ...path);
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  beforeEach(() => {
    place = temporaryFolder();
    for (const name of names) delete process.env[name];
    process.env.XDG_CACHE_HOME = place;
    process.env.HF_HUB_OFFLINE = '1';
    const [one, two] = [cached('snapshots', 'aaaa1111'), cached('snapshots', 'bbbb2222')];
    for (const folder of [one, two])
      for (const file of ['config.json', 'model.safetensors']) writeFileSync(join(folder, file), '{}');
    writeFileSync(join(cached('refs'), 'main'), 'bbbb2222\n');
  });
  afterEach(() => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });

  it('is the shipped folder, the given folder, or a snapshot in the cache of the hub', async () => {
    assert.equal(await modelFolder('tiny'), shippedModelPath('tiny'));
    assert.equal(await modelFolder(place), place);
    assert.equal(await modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    assert.equal(await modelFolder('some/model@main'), cached('snapshots', 'bbbb2222'));
    assert.equal(await modelFolder('some/model@aaaa'), cached('snapshots', 'aaaa1111'));
  });

  it('is found in the place that the variables of the hub name', async () => {
    process.env.XDG_CACHE_HOME = '/nowhere';
    process.env.HF_HOME = join(place, 'huggingface');
    assert.equal(await modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    process.env.HF_HOME = '/nowhere';
    process.env.HF_HUB_CACHE = join(place, 'huggingface', 'hub');
    assert.equal(await modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    for (const name of names) delete process.env[name];
    process.env.HOME = '/nowhere';
    process.env.HF_HUB_OFFLINE = '1';
    const message = /not in the Hugging Face cache \/nowhere\/\.cache\/huggingface\/hub, and/;
    await assert.rejects(modelFolder('some/model'), { message });
  });

  it('is refused in one line if it would need a download and downloads are forbidden', async () => {
    const refused = (model: string, message: RegExp) =>
      assert.rejects(modelFolder(model), { code: 'BAD_MODEL', message });
    const absent = (model: string) =>
      new RegExp(`^${model}: not in .*, and HF_HUB_OFFLINE forbids downloads; unset it`);
    await refused('other/model', absent('other/model'));
    await refused('some/model@v2', absent('some/model@v2'));
    rmSync(join(cached('snapshots', 'aaaa1111'), 'config.json'));
    await refused('some/model@aaaa', absent('some/model@aaaa')); // the snapshot is incomplete
    writeFileSync(join(cached('refs'), 'main'), '');
    await refused('some/model', absent('some/model')); // there are two snapshots, and none is named
    rmSync(cached('snapshots', 'aaaa1111'), { recursive: true });
    for (const odd of ['', '\n', '../snapshots/bbbb2222', 'b\u001b']) {
      writeFileSync(join(cached('refs'), 'main'), odd);
      await refused('some/model', absent('some/model'));
    }
    for (const bad of ['../model', 'a/../b', 'some/model/x', 'some/..', 'nothing', './a/b'])
      await refused(bad, new RegExp(`^${bad.replaceAll('.', '\\.')}: no such folder; name one with --model$`));
  });

  it('has a name that means the same folder from everywhere', () => {
    assert.deepEqual(['tiny', 'some/model', 'some/model@v2'].map(portableName), [
      'tiny',
      'some/model',
      'some/model@v2',
    ]);
    assert.equal(portableName('model'), resolve('model'));
    assert.equal(portableName('data/tiny-model'), resolve('data/tiny-model'), 'a folder that looks like an id');
  });
});
