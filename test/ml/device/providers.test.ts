// Devices: which ones are installed, which one is selected, and the errors for a missing or failing one. A GPU is not
// needed: the tests provide the installations and the starts.
import assert from 'node:assert/strict';
import { reasonOf } from '../../../ml/device/probe.js';
import { listProviders, resolveDevice, startsHere } from '../../../ml/device/providers.js';

const works = async (): Promise<undefined> => undefined;
const fails = async (): Promise<string> => 'no adapter';

describe('devices', function () {
  this.timeout(30_000);

  it('the CPU is always available, is the default, and is not probed', async () => {
    const untouched = async (): Promise<never> => assert.fail('it was probed');
    assert.ok(listProviders().includes('cpu'));
    assert.equal(await resolveDevice(undefined, [], untouched), 'cpu');
    assert.equal(await resolveDevice('cpu', [], untouched), 'cpu');
  });

  it('auto is the first preferred device that is installed and starts, else the CPU', async () => {
    const only = (name: string) => async (provider: string) => (provider === name ? undefined : 'broken');
    assert.equal(await resolveDevice('auto', ['cpu', 'webgpu', 'cuda'], works), 'cuda');
    assert.equal(await resolveDevice('auto', ['cpu', 'webgpu'], works), 'webgpu');
    assert.equal(await resolveDevice('auto', ['cpu', 'webgpu', 'cuda'], only('webgpu')), 'webgpu');
    assert.equal(await resolveDevice('auto', ['cpu', 'webgpu', 'cuda'], fails), 'cpu');
    assert.equal(await resolveDevice('auto', ['cpu'], works), 'cpu');
  });

  it('uses a device that is installed and starts', async () => {
    assert.equal(await resolveDevice('cuda', ['cuda'], works), 'cuda');
  });

  it('refuses a missing device and explains how to install it', async () => {
    const way =
      process.platform === 'linux' && process.arch === 'x64'
        ? /^device cuda is not installed; .*CUDA 12 and cuDNN 9.*install\.js --onnxruntime-node-install=cuda12; or use cpu$/
        : /^device cuda is not installed; ONNX Runtime does not support it on this platform; or use cpu$/;
    await assert.rejects(resolveDevice('cuda', ['cpu', 'webgpu'], works), { code: 'DEVICE_UNAVAILABLE', message: way });
    await assert.rejects(
      resolveDevice('webgpu', ['cpu'], works),
      /device webgpu is not installed; ONNX Runtime does not support it/,
    );
  });

  it('refuses a device that does not start and states the reason', async () => {
    await assert.rejects(resolveDevice('webgpu', ['webgpu'], fails), {
      code: 'DEVICE_UNAVAILABLE',
      message: 'device webgpu does not start (no adapter): use cpu, or auto',
    });
  });

  it('probes in a separate process, which gives the reason in one line', async () => {
    assert.equal(await startsHere('cpu'), undefined);
    for (const provider of ['cuda', 'webgpu'] as const) {
      const reason = await startsHere(provider); // undefined on a machine that has it
      assert.ok(reason === undefined || /^\S.*\S$/.test(reason), reason);
    }
    assert.match((await startsHere('tpu' as 'cpu')) ?? '', /\S/, 'a provider of no such name does not start');
  });

  it("the reason is the runtime's message without source files", () => {
    const said = '/src/webgpu_context.cc:136 lambda() status == Success was false. Failed to get an adapter:\n none\n';
    assert.equal(reasonOf(said), 'Failed to get an adapter: none');
    assert.equal(reasonOf('[ONNXRuntimeError] : 1 : FAIL : no library'), 'no library');
    assert.equal(reasonOf('plain words'), 'plain words');
  });
});
