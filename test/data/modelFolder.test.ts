import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { modelFolder, portableName } from '../../data/modelFolder.js';
import { tinyModelPath } from '../../data/paths.js';

describe('the folder of a model', () => {
  const names = ['HF_HUB_CACHE', 'HF_HOME', 'XDG_CACHE_HOME', 'HOME'];
  const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  let place: string;
  const cached = (...path: string[]): string => {
    const folder = join(place, 'huggingface', 'hub', 'models--some--model', ...path);
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'gauntlet-hub-'));
    for (const name of names) delete process.env[name];
    process.env.XDG_CACHE_HOME = place;
    const [one, two] = [cached('snapshots', 'aaaa1111'), cached('snapshots', 'bbbb2222')];
    for (const folder of [one, two]) writeFileSync(join(folder, 'config.json'), '{}');
    writeFileSync(join(cached('refs'), 'main'), 'bbbb2222\n');
  });
  afterEach(() => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    rmSync(place, { recursive: true });
  });

  it('is the shipped one, the given one, or a snapshot in the cache of the hub', () => {
    assert.equal(modelFolder('tiny'), tinyModelPath());
    assert.equal(modelFolder(place), place);
    assert.equal(modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    assert.equal(modelFolder('some/model@main'), cached('snapshots', 'bbbb2222'));
    assert.equal(modelFolder('some/model@aaaa'), cached('snapshots', 'aaaa1111'));
  });

  it('is found where the variables of the hub say', () => {
    process.env.XDG_CACHE_HOME = '/nowhere';
    process.env.HF_HOME = join(place, 'huggingface');
    assert.equal(modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    process.env.HF_HOME = '/nowhere';
    process.env.HF_HUB_CACHE = join(place, 'huggingface', 'hub');
    assert.equal(modelFolder('some/model'), cached('snapshots', 'bbbb2222'));
    for (const name of names) delete process.env[name];
    process.env.HOME = '/nowhere';
    assert.throws(
      () => modelFolder('some/model'),
      /not in the Hugging Face cache \/nowhere\/\.cache\/huggingface\/hub;/,
    );
  });

  it('is refused with one line that names the command to download it', () => {
    const refused = (model: string, message: RegExp) =>
      assert.throws(() => modelFolder(model), { code: 'BAD_MODEL', message });
    refused(
      'other/model',
      /^other\/model: no such folder, and not in .*; download it with `hf download other\/model`, or/,
    );
    refused('some/model@v2', /download it with `hf download some\/model --revision v2`/);
    writeFileSync(join(cached('refs'), 'main'), '');
    refused('some/model', /download it/); // two snapshots, and none is named
    for (const bad of ['../model', 'a/../b', 'some/model/x', 'some/..', 'nothing', './a/b'])
      refused(bad, new RegExp(`^${bad.replaceAll('.', '\\.')}: no such folder; name one with --model$`));
  });

  it('has a name that means the same on every machine', () => {
    assert.deepEqual(['tiny', 'some/model', 'some/model@v2'].map(portableName), [
      'tiny',
      'some/model',
      'some/model@v2',
    ]);
    assert.equal(portableName('model'), resolve('model'));
    assert.equal(portableName('data/tiny-model'), resolve('data/tiny-model'), 'a folder that looks like an id');
  });
});
