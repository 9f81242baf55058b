// `gauntlet doctor`: what this machine has, and what to do about what it lacks.
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { availableParallelism, freemem, totalmem } from 'node:os';
import chalk from 'chalk';
import type { Command } from 'commander';
import { tinyModelPath } from '../../data/paths.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { ensureServer } from '../../infra/temporalServer.js';
import { listProviders, type Provider, resolveDevice } from '../../ml/device/providers.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { connectDocker, describeDaemon } from '../../sandbox/docker/daemon.js';
import { hasImage, IMAGES } from '../../sandbox/docker/image.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { createOutput, describeError } from '../output.js';
import { withStore } from '../session.js';

interface Finding {
  name: string;
  ok: boolean;
  required: boolean;
  detail: string;
}

type Check = () => Promise<Omit<Finding, 'name' | 'ok'> & { ok?: boolean }>;

function checks(store: string): Record<string, Check> {
  return {
    node: async () => ({
      required: true,
      ok: Number(process.versions.node.split('.')[0]) >= 20,
      detail: `${process.version}, 20.19, 22.12 or newer is needed`,
    }),
    machine: async () => ({
      required: false,
      detail: `${availableParallelism()} cores, ${gib(freemem())} of ${gib(totalmem())} GiB memory free`,
    }),
    store: async () => {
      await mkdir(store, { recursive: true });
      await access(store, constants.W_OK);
      const disk = await statfs(store);
      return { required: true, detail: `${store}, ${gib(disk.bavail * disk.bsize)} GiB free` };
    },
    'onnx runtime': async () => ({
      required: true,
      detail: `providers installed: ${listProviders().join(', ')}`,
    }),
    'device cuda': () => deviceCheck('cuda'),
    'device webgpu': () => deviceCheck('webgpu'),
    'tiny model': async () => {
      const engine = await openEngine(tinyModelPath(), { workers: 1 });
      const { architecture, parameters } = engine.info;
      await engine.close();
      return { required: true, detail: `${architecture}, ${(parameters / 1e6).toFixed(2)} M parameters` };
    },
    'sandbox docker': dockerCheck,
    'sandbox wasm': () => sandboxCheck('wasm', true),
    'temporal cli': async () => {
      const path = await findTemporalCli();
      return {
        required: false,
        ok: path !== undefined,
        detail: path ?? 'none: node infra/setup.mjs builds or downloads it',
      };
    },
    'temporal server': async () => {
      if (!process.env.TEMPORAL_ADDRESS) return { required: false, detail: 'embedded, started on demand' };
      const server = await ensureServer({ storeDir: store }); // TEMPORAL_ADDRESS: nothing is started
      return { required: true, detail: `${server.address} (TEMPORAL_ADDRESS)` };
    },
  };
}

/** What a command may do without; everything else must be there. */
const OPTIONAL: readonly string[] = ['device cuda', 'device webgpu', 'sandbox docker'];

async function deviceCheck(device: Provider): ReturnType<Check> {
  await resolveDevice(device);
  return { required: false, detail: `--device ${device} works` };
}

const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);

/** What the daemon has; and one program runs, since a daemon that answers may still refuse the container. */
async function dockerCheck(): ReturnType<Check> {
  const daemon = await connectDocker();
  const images: string[] = [];
  for (const image of Object.values(IMAGES)) if (await hasImage(daemon.docker, image)) images.push(image);
  const sandbox = await openSandbox('docker', { log: () => undefined, size: 1 });
  try {
    await sandbox.run([{ id: 'doctor', code: 'def f(x):\n  return x', entry: 'f', inputs: [[1]] }]);
  } finally {
    await sandbox.close();
  }
  const had = images.length > 0 ? `images ${images.join(', ')}` : 'no image yet';
  return { required: false, detail: `${describeDaemon(daemon)} · ${had}` };
}

async function sandboxCheck(kind: 'docker' | 'wasm', required: boolean): Promise<Omit<Finding, 'name' | 'ok'>> {
  const sandbox = await openSandbox(kind, { log: () => undefined });
  await sandbox.close();
  return { required, detail: sandbox.info.description };
}

export async function examine(store: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(checks(store))) {
    try {
      const { ok = true, ...rest } = await check();
      findings.push({ name, ok, ...rest });
    } catch (error) {
      findings.push({ name, ok: false, required: !OPTIONAL.includes(name), detail: describeError(error) });
    }
  }
  return findings;
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check what this machine has')
    .option('--json', 'one line of JSON');
  withStore(command).action(async (flags: { store: string; json?: boolean }) => {
    const output = createOutput(flags.json === true);
    const findings = await examine(flags.store);
    const healthy = findings.every((finding) => finding.ok || !finding.required);
    output.result({ healthy, findings }, () =>
      findings
        .map(({ name, ok, required, detail }) => {
          const mark = ok ? chalk.green('✓') : required ? chalk.red('✗') : chalk.yellow('–');
          return `${mark} ${name.padEnd(16)} ${detail}`;
        })
        .join('\n'),
    );
    if (!healthy) process.exitCode = 1;
  });
}
