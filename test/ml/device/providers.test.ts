// Tests which devices are installed, which one is selected, and the errors for a missing or failing one. No GPU is needed: the tests
// say what is installed and how the self-test ends.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../ml/device/faults.js';
import { queryGpu } from '../../../ml/device/gpuMemory.js';
import { type Check, checkHere, listProviders, resolveDevice } from '../../../ml/device/providers.js';
import { temporaryFolder } from '../../infra/support.js';

const works: Check = async () => undefined;
const fails: Check = async () => 'no driver';

describe('devices', () => {
  it('include the CPU, which is the default and is not checked', async () => {
    const untouched = async (): Promise<never> => assert.fail('it was checked');
    assert.ok(listProviders().includes('cpu'));
    assert.equal(await resolveDevice(undefined, [], untouched), 'cpu');
    assert.equal(await resolveDevice('cpu', [], untouched), 'cpu');
  });

  it('are CUDA for auto if it is installed and passes the check, else the CPU', async () => {
    assert.equal(await resolveDevice('auto', ['cpu', 'cuda'], works), 'cuda');
    assert.equal(await resolveDevice('auto', ['cpu', 'cuda'], fails), 'cpu');
    assert.equal(await resolveDevice('auto', ['cpu'], works), 'cpu');
  });

  it('uses a device that is installed and passes the check', async () => {
    assert.equal(await resolveDevice('cuda', ['cpu', 'cuda'], works), 'cuda');
  });

  it('refuses a missing device and explains how to install it', async () => {
    const way =
      process.platform === 'linux' && process.arch === 'x64'
        ? 'device cuda is not installed: run gauntlet setup cuda, or use cpu'
        : 'device cuda is not installed: ONNX Runtime does not support it on this platform, or use cpu';
    await assert.rejects(resolveDevice('cuda', ['cpu'], works), { code: 'DEVICE_UNAVAILABLE', message: way });
  });

  it('refuses a name that is no device, as a program without types may pass it', async () => {
    await assert.rejects(resolveDevice('webgpu' as 'cuda', ['cpu'], works), {
      code: 'BAD_CONFIG',
      message: 'the device must be cpu, cuda or auto, is webgpu',
    });
  });

  it('refuses a device that fails the check and states the reason', async () => {
    await assert.rejects(resolveDevice('cuda', ['cuda'], fails), {
      code: 'DEVICE_UNAVAILABLE',
      message: 'device cuda cannot be used (no driver): use cpu, or auto',
    });
  });

  it('checks in a separate process, once, which gives the reason in one line', async () => {
    assert.equal(await checkHere('cpu'), undefined);
    assert.equal(checkHere('cpu'), checkHere('cpu'));
    const fault = await checkHere('cuda'); // undefined on a machine that has it
    assert.ok(fault === undefined || /^\S.*\S$/.test(fault), fault);
    assert.match((await checkHere('tpu' as 'cpu')) ?? '', /^a matrix product fails: ./);
  });

  it('the first card of CUDA is the first card of nvidia-smi, if nvidia-smi answers', async () => {
    const folder = temporaryFolder();
    const before = process.env.PATH;
    try {
      writeFileSync(join(folder, 'nvidia-smi'), '#!/bin/sh\n[ "$3" = --id=1 ] && echo 1024 || echo 2048\n', {
        mode: 0o755,
      });
      process.env.PATH = `${folder}:${before}`;
      assert.equal(process.env.CUDA_DEVICE_ORDER, 'PCI_BUS_ID', 'as nvidia-smi counts');
      assert.deepEqual(await queryGpu('memory.free'), ['2048']);
      process.env.CUDA_VISIBLE_DEVICES = '1,0';
      assert.deepEqual(await queryGpu('memory.free'), ['1024']);
      writeFileSync(join(folder, 'nvidia-smi'), '#!/bin/sh\necho no devices were found; exit 6\n');
      assert.equal(await queryGpu('memory.free'), undefined);
    } finally {
      process.env.PATH = before;
      delete process.env.CUDA_VISIBLE_DEVICES;
    }
  });

  it("the reason is the runtime's message without source files", () => {
    const said = '/src/provider.cc:136 lambda() status == Success was false. Failed to find a device:\n none\n';
    assert.equal(reasonOf(said), 'Failed to find a device: none');
    assert.equal(reasonOf('[ONNXRuntimeError] : 1 : FAIL : no library'), 'no library');
    assert.equal(reasonOf('plain words'), 'plain words');
  });
});
