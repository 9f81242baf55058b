// `gauntlet doctor`: says what this machine has, and what to do about what is missing. Like the first run, it makes the Docker
// image and the snapshot of the interpreter if they are missing.
import { existsSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { CARDS, cardFor, type PresetName } from '../../core/config/presets.js';
import { shippedModelPath } from '../../data/paths.js';
import { cardFault } from '../../infra/cudaPackages.js';
import { isSupportedNode, SUPPORTED_NODE } from '../../infra/node-version.mjs';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { describeGpu, findGpu } from '../../ml/device/gpuMemory.js';
import { listProviders, resolveDevice } from '../../ml/device/providers.js';
import { allocatedMemory, memoryBudget, sourceOf } from '../../ml/engine/budget.js';
import { availableMemory } from '../../ml/engine/memory.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { connectDocker, describeDaemon } from '../../sandbox/docker/daemon.js';
import { hasImage, IMAGES } from '../../sandbox/docker/image.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore, storeExists } from '../../store/openStore.js';
import { readAttention } from '../../store/runs.js';
import { isS3 } from '../../store/s3Place.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { jsonOption } from '../input/options.js';
import { gigabytesOf } from '../run/card.js';
import { hasPollers, hasServer, type StoreFlags, withSession, withStore } from '../run/session.js';
import { heldState } from '../run/status.js';
import { commandLine } from '../terminal/commandLine.js';
import { EXIT } from '../terminal/exitCodes.js';
import { createOutput, describeError, type Output, paint } from '../terminal/output.js';

interface Finding {
  name: string;
  ok: boolean;
  required: boolean;
  detail: string;
}

type Check = () => Promise<Omit<Finding, 'name' | 'ok'> & { ok?: boolean }>;

function checks(store: string, output: Output): Record<string, Check> {
  const noteOnce = (line: string): void => (line.endsWith('(once)') ? output.note(line) : undefined); // long work
  return {
    node: async () => ({
      required: true,
      ok: isSupportedNode(),
      detail: `${process.version}; supported are ${SUPPORTED_NODE}`,
    }),
    machine: async () => ({
      required: false,
      detail: `${availableParallelism()} cores, ${gib(availableMemory())} of ${gib(totalmem())} GiB memory free`,
    }),
    memory: async () => {
      const budget = memoryBudget();
      const used = allocatedMemory() ?? process.memoryUsage.rss();
      return {
        required: true, // the check fails if GAUNTLET_MEMORY is wrong
        detail: `a worker may use ${gib(budget.bytes)} GiB (${sourceOf(budget)}); this command uses ${gib(used)} GiB`,
      };
    },
    store: async () => {
      if (isS3(store)) {
        const state = (await storeExists(store)) ? '' : ' (no store there yet, the first run creates it)';
        return { required: true, detail: `${store}${state}` };
      }
      const exists = existsSync(store);
      const folder = exists ? resolve(store) : nearestFolder(resolve(store));
      await access(`${folder}/`, constants.W_OK); // the slash makes this fail for a file
      const disk = await statfs(folder);
      const state = exists ? '' : ' (does not exist yet, the first run creates it)';
      return { required: true, detail: `${store}${state}, ${gib(disk.bavail * disk.bsize)} GiB free` };
    },
    'onnx runtime': async () => ({ required: true, detail: `providers installed: ${listProviders().join(', ')}` }),
    'device cuda': cudaCheck,
    'gpu presets': async () => {
      const gpu = await findGpu();
      return { required: false, ok: gpu !== undefined, detail: gpu ? presetsOf(gigabytesOf(gpu)) : 'no card answers' };
    },
    'tiny model': async () => {
      const engine = await openEngine(shippedModelPath('tiny'), { workers: 1 });
      const { architecture, parameters } = engine.info;
      await engine.close();
      return { required: true, detail: `${architecture}, ${(parameters / 1e6).toFixed(2)} M parameters` };
    },
    'sandbox docker': () => dockerCheck(noteOnce),
    'sandbox wasm': () => wasmCheck(noteOnce),
    'temporal cli': async () => {
      const path = await findTemporalCli();
      return { required: false, ok: path !== undefined, detail: path ?? 'none: the first run downloads or builds it' };
    },
    'temporal server': () => serverCheck(store, output),
  };
}

/** Says what a server that runs now does. Starts none. */
async function serverCheck(store: string, output: Output): ReturnType<Check> {
  if (!hasServer(store)) {
    const detail = 'embedded, started on demand';
    const waiting = (await storeExists(store)) ? await waitingIn(await openStore(store)) : [];
    const runs = waiting.length === 0 ? '' : `; these runs wait: ${waiting.join(', ')}`;
    return { required: false, ok: waiting.length === 0, detail: `${detail}${runs}` };
  }
  return withSession({ store }, output, 'none', async ({ client, server }) => {
    const query = `WorkflowType = 'trainFullPipeline' AND ExecutionStatus = 'Running'`;
    const held: string[] = [];
    for await (const run of client.workflow.list({ query }))
      if (heldState(run) !== undefined) held.push(`${run.workflowId} (${heldState(run)})`);
    const from = temporalTarget(process.env)?.from ?? 'embedded, runs now';
    const worker = (await hasPollers(client))
      ? 'a worker polls'
      : `no worker polls: start one with ${commandLine('up')}`;
    const runs = held.length === 0 ? 'no run waits' : `these runs wait: ${held.join(', ')}`;
    const ok = held.length === 0; // a run that waits needs a person, but this machine lacks nothing
    return { required: ok, ok, detail: `${server.address} (${from}); ${worker}; ${runs}` };
  });
}

/** The runs that waited for a decision when their server ended. */
async function waitingIn(store: ObjectStore): Promise<string[]> {
  const runs = await store.listRuns();
  const needs = await Promise.all(runs.map((run) => readAttention(store, run)));
  return runs.filter((_, i) => needs[i]?.state === 'waiting');
}

/** Checks that may throw without making the machine unhealthy. */
const OPTIONAL: readonly string[] = ['device cuda', 'sandbox docker'];

async function cudaCheck(): ReturnType<Check> {
  const gpu = await findGpu();
  if (gpu === undefined) return { required: false, ok: false, detail: 'no NVIDIA driver answers (nvidia-smi)' };
  const fault = cardFault(gpu);
  if (fault !== undefined) return { required: false, ok: false, detail: `${describeGpu(gpu)}: ${fault}` };
  await resolveDevice('cuda');
  return {
    required: false,
    detail: `--device cuda works: it agrees with the CPU in the self-test; ${describeGpu(gpu)}`,
  };
}

/** Says which presets have settings for a card of so many GB. */
function presetsOf(gigabytes: number): string {
  const names = (Object.keys(CARDS) as PresetName[]).map((name) => [name, cardFor(name, gigabytes)] as const);
  const list = (fits: boolean): string =>
    names.flatMap(([name, size]) => ((size !== undefined) === fits ? name : [])).join(', ') || 'none';
  return `${gigabytes} GB fit ${list(true)}; a larger card is needed for ${list(false)} (computed)`;
}

const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)));

const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);

/** A program that returns what really confines it. */
const LOOK = `
def look():
  state = dict(line.split(':', 1) for line in open('/proc/self/status'))
  value = lambda name: state.get(name, '?').strip()
  users = open('/proc/self/uid_map').read().split()
  groups = {line.strip().split(':')[2] for line in open('/proc/self/cgroup')}
  return ', '.join([
    'seccomp filter' if value('Seccomp') == '2' else 'NO seccomp filter',
    'no capabilities' if int(value('CapEff'), 16) == 0 else 'CAPABILITIES ' + value('CapEff'),
    'no new privileges' if value('NoNewPrivs') == '1' else 'NEW PRIVILEGES POSSIBLE',
    'its own cgroups' if groups == {'/'} else "the host's cgroups",
    "the host's users" if users[:2] == ['0', '0'] else 'its own users',
  ])
`;

/** Runs one program, since a daemon that answers may still refuse the container. */
async function dockerCheck(note: (line: string) => void): ReturnType<Check> {
  const daemon = await connectDocker();
  const sandbox = await openSandbox('docker', { log: note, size: 1 });
  let seen = '';
  try {
    const [result] = await sandbox.run([{ id: 'doctor', code: LOOK, entry: 'look', inputs: [[]] }]);
    const [call] = result!.calls;
    seen = call!.kind === 'value' ? String(call!.value) : call!.kind;
  } finally {
    await sandbox.close();
  }
  const images: string[] = [];
  for (const image of Object.values(IMAGES)) if (await hasImage(daemon.docker, image)) images.push(image);
  return {
    required: false,
    detail: `${describeDaemon(daemon)} · a program sees ${seen} · images ${images.join(', ')}`,
  };
}

async function wasmCheck(note: (line: string) => void): ReturnType<Check> {
  const sandbox = await openSandbox('wasm', { log: note, size: 1 });
  try {
    const [result] = await sandbox.run([{ id: 'doctor', code: 'def f(): return 1', entry: 'f', inputs: [[]] }]);
    const [call] = result!.calls;
    const ok = call!.kind === 'value' && call!.value === 1;
    return { ok, required: true, detail: ok ? sandbox.info.description : `a program ended with ${call!.kind}` };
  } finally {
    await sandbox.close();
  }
}

async function examine(store: string, output: Output): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(checks(store, output))) {
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
    .description('check what this machine has and what is missing; exit code 1 if something required is')
    .addOption(jsonOption());
  withStore(command).action(async (flags: StoreFlags) => {
    const output = createOutput(flags.json);
    const findings = await examine(flags.store, output);
    const healthy = findings.every((finding) => finding.ok || !finding.required);
    output.result({ healthy, findings }, () =>
      findings
        .map(({ name, ok, required, detail }) => {
          const mark = ok ? paint('green', '✓') : required ? paint('red', '✗') : paint('yellow', '–');
          return `${mark} ${name.padEnd(16)} ${detail}`;
        })
        .join('\n'),
    );
    if (!healthy) process.exitCode = EXIT.failed;
  });
}
