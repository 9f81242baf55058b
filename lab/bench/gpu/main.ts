// `npm run bench -- gpu`: measures one NVIDIA card, section by section, and compares the results with the targets.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { scriptArguments } from '../../../infra/scripts.js';
import { describeGpu, findGpu } from '../../../ml/device/gpuMemory.js';
import { hasCudaProvider, providerFolder, runtimeVersion } from '../../../ml/device/providers.js';
import { LabError } from '../../flags.js';
import { currentCommit, describeMachine, say } from '../machine.js';
import { commandLine } from '../options.js';
import { follow } from './follow.js';
import { type GpuOptions, parseGpuOptions, USAGE } from './options.js';
import { earlierResults, type GpuResults, pending, printed, type SectionName, saveResults } from './results.js';
import { judge } from './targets.js';
import { torchPlan } from './torch.js';

/** The time limit of each section in seconds, which is several times the expected duration. */
const LIMITS: Record<SectionName, number> = {
  check: 120,
  step: 150,
  train: 150,
  generate: 120,
  torch: 150,
  profile: 90,
};
const LEAST_SECONDS = 10; // a section starts only if at least this much time is left

export async function benchGpu(args: string[]): Promise<void> {
  const options = parseGpuOptions(args);
  if (options.help) return console.log(USAGE);
  const commit = options.commit ?? currentCommit();
  if (options.pack) {
    const { packGpu } = await import('./pack.js');
    return packGpu({ ...options.pack, commit });
  }
  const started = Date.now();
  const file = options.out ?? join(ROOT, '.cache', 'bench', 'gpu.json');
  const { device, small, sections: wanted } = options;
  const identity = { commit, card: await describeCard(device), runtime: runtimeVersion(), small };
  const earlier = earlierResults(file, identity);
  const results: GpuResults = {
    identity,
    command: commandLine(['gpu', ...args]),
    startedAt: new Date(started).toISOString(),
    machine: describeMachine(),
    versions: { ...earlier.versions, node: process.versions.node },
    sections: earlier.sections,
    targets: [],
  };
  const { sections } = results;
  const save = (): void => {
    results.targets = judge(sections, small);
    saveResults(file, results);
  };
  const toRun = pending(wanted, sections, options.force);
  for (const name of wanted) if (!toRun.includes(name)) say(`${name}: done before (--force repeats it)`);
  for (const name of toRun) {
    const left = options.seconds - (Date.now() - started) / 1000;
    say(`${name}, of ${identity.card}`);
    if (left < LEAST_SECONDS)
      sections[name] = { status: 'timeout', reason: 'no time is left', seconds: 0, measurements: [] };
    else if (name === 'torch' && spawnSync(options.python, ['--version']).status !== 0)
      sections[name] = { status: 'skipped', reason: `${options.python} does not start`, seconds: 0, measurements: [] };
    else
      sections[name] = await follow(start(name, options), {
        seconds: Math.min(left, LIMITS[name]),
        update(section, line) {
          sections[name] = section;
          Object.assign(results.versions, line?.versions);
          if (line?.case !== undefined) say(`${name}: ${JSON.stringify(line)}`);
          save();
        },
      });
    const { status, reason } = sections[name];
    if (status !== 'done') say(`${name}: ${status}: ${reason}`);
    save();
  }
  console.log(printed(results));
  const isBad = wanted.some((name) => !['done', 'skipped'].includes(sections[name]!.status));
  process.exitCode = isBad || (wanted.includes('check') && judge(sections, small)[0]!.met !== 'yes') ? 1 : 0;
}

/** @throws {LabError} naming what is missing */
async function describeCard(device: GpuOptions['device']): Promise<string> {
  if (device === 'cpu') return 'no card: the CPU';
  const folders = [providerFolder(), ...(process.env.LD_LIBRARY_PATH ?? '').split(delimiter)];
  if (!folders.some((folder) => hasCudaProvider(folder)))
    throw new LabError('device cuda is not installed: run gauntlet setup cuda');
  const gpu = await findGpu();
  if (gpu === undefined) throw new LabError('nvidia-smi fails: this machine has no working NVIDIA driver');
  return describeGpu(gpu);
}

/** Starts a section in its own process group, because the section starts processes, too. */
function start(name: SectionName, { device, small, python }: GpuOptions): ChildProcess {
  const io: SpawnOptions = { stdio: ['ignore', 'pipe', 'inherit'], detached: true };
  if (name === 'torch') {
    const script = join(ROOT, 'lab', 'bench', 'peers', 'gpu_peer.py');
    return spawn(python, ['-W', 'ignore', script, JSON.stringify(torchPlan(device, small))], io);
  }
  const env = { ...process.env, ...(name === 'profile' && { CUDA_LAUNCH_BLOCKING: '1' }) };
  const section = { device, small, cache: join(ROOT, '.cache', 'bench', 'gpu') };
  const args = scriptArguments(new URL('./section.js', import.meta.url));
  return spawn(process.execPath, [...args, name, JSON.stringify(section)], { ...io, env });
}
