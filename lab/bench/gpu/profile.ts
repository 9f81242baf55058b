// Measures where the time of a gradient goes, by operation. CUDA_LAUNCH_BLOCKING=1 makes the time of a node equal to the time
// of its kernels, so the total is longer than without it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CUDA_ACTIVATION_MEGABYTES } from '../../../core/schema/config.js';
import { DeviceSession } from '../../../ml/device/deviceSession.js';
import { deviceOf } from '../../../ml/device/runtime.js';
import { locateWeights } from '../../../ml/device/weightLocations.js';
import { describeModel } from '../../../ml/hf/model.js';
import { HALF } from '../../../ml/ir/half.js';
import { layoutSize, loraLayout } from '../../../ml/nn/layout.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { chains, rankOf, TRAINING } from './engine.js';
import { type Recorder, round, type SectionOptions } from './measure.js';
import { provideModel } from './models.js';

const RUNS = 3;
const TOGETHER = 8; // the number of rows per run of the graph
const SHOWN = 15; // the number of operations that are shown

export async function profile(record: Recorder, { device, small, cache }: SectionOptions): Promise<void> {
  const open = DeviceSession.open;
  for (const setting of TRAINING.slice(0, small ? 1 : 3)) {
    const { model: name, precision } = setting;
    await record(`${precision} gradient ${name}, milliseconds by operation`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gauntlet-profile-'));
      DeviceSession.open = (model, options) => open(model, { ...options, profile: join(folder, 'profile') });
      try {
        const { config, stored } = describeModel(provideModel(name, small, cache));
        const activationBytes = CUDA_ACTIVATION_MEGABYTES * 2 ** 20;
        const session = new TrainSession(
          { config, locations: locateWeights(stored) },
          {
            device: { ...deviceOf(device), memory: device },
            half: HALF[precision],
            activationBytes,
            keptBytes: activationBytes,
          },
        );
        const rank = rankOf(name);
        const adapter = { rank, alpha: 16, values: new Float32Array(layoutSize(loraLayout(config, rank))) };
        const rows = chains(config.vocab, small).slice(0, TOGETHER);
        for (let i = 0; i < RUNS; i++) await session.ppo(rows, adapter, { clip: 0.2, temperature: 1 });
        await session.close(); // closing the session writes the profile
        return byOperation(folder);
      } finally {
        DeviceSession.open = open;
        rmSync(folder, { recursive: true });
      }
    });
  }
}

interface Event {
  cat: string;
  name: string;
  dur: number; // duration in microseconds
  args: { op_name?: string }; // the events of nodes always have an op_name
}

/** The slowest operations. Counts the fastest run of each node, because the first run also allocates memory. */
function byOperation(folder: string): Record<string, string> {
  const nodes = new Map<string, Event>();
  for (const file of readdirSync(folder))
    for (const event of JSON.parse(readFileSync(join(folder, file), 'utf8')) as Event[]) {
      const isNode = event.cat === 'Node' && event.name.endsWith('_kernel_time');
      const key = `${file} ${event.name}`;
      if (isNode && event.dur < (nodes.get(key)?.dur ?? Number.POSITIVE_INFINITY)) nodes.set(key, event);
    }
  const totals = new Map<string, { count: number; milliseconds: number }>();
  for (const { dur, args } of nodes.values()) {
    const { count, milliseconds } = totals.get(args.op_name!) ?? { count: 0, milliseconds: 0 };
    totals.set(args.op_name!, { count: count + 1, milliseconds: milliseconds + dur / 1000 });
  }
  const sorted = [...totals].sort(([, a], [, b]) => b.milliseconds - a.milliseconds).slice(0, SHOWN);
  return Object.fromEntries(
    sorted.map(([name, { count, milliseconds }]) => [name, `${round(milliseconds)} (${count})`]),
  );
}
