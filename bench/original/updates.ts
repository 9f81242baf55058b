// Single updates of both trainers in turn: the same stage, problems and limit of tokens. An update of the original samples
// one chain, ours a batch.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../core/schema/chain.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { loadBuiltIn } from '../../data/problems.js';
import { Peer } from '../peers/peer.js';
import type { Update } from './ours.js';
import { LIMIT_SECONDS, MAX_NEW_TOKENS, PRESET, PROBLEMS, type Setting, STAGE, startOriginal } from './settings.js';

const ROLES = ['discriminator', 'generator'] as const satisfies Role[]; // in the order of our schedule

export interface Updates {
  updates: (Update & { peer: 'ours' | 'original'; role: Role })[];
  peakBytes: { ours: number; original: number };
}

export async function measureUpdates(setting: Setting, rounds: number): Promise<Updates> {
  const { train } = loadBuiltIn(PROBLEMS);
  const peers = { ours: startOurs(setting, rounds), original: startOriginal(setting, train) };
  const updates: Updates['updates'] = [];
  try {
    for (const [name, peer] of Object.entries(peers)) {
      setting.say(`${name}: loading`);
      await peer.request('load', {}, LIMIT_SECONDS);
    }
    for (const role of ROLES) {
      for (let round = 1; round <= rounds; round++) {
        for (const [name, peer] of Object.entries(peers)) {
          const { result } = await peer.request<Update>('update', { role }, LIMIT_SECONDS);
          updates.push({ peer: name as 'ours', role, ...result });
          setting.say(`${name}, ${role} ${round}: ${result.seconds.toFixed(1)} s, ${result.tokens} tokens`);
        }
      }
      await peers.ours.request('update', {}, LIMIT_SECONDS); // the last of its epoch, which also samples an evaluation
    }
    const peak = async (peer: Peer): Promise<number> => (await peer.request<{ bytes: number }>('memory')).result.bytes;
    return { updates, peakBytes: { ours: await peak(peers.ours), original: await peak(peers.original) } };
  } finally {
    await Promise.all(Object.values(peers).map((peer) => peer.close()));
  }
}

function startOurs({ model, folder }: Setting, rounds: number): Peer {
  const config: RunConfigInput = {
    preset: PRESET,
    model,
    problems: PROBLEMS,
    stages: [1, 2, 3, 4, 5],
    schedule: { stages: [STAGE], discriminatorSteps: rounds + 1, generatorSteps: rounds + 1, alternatingSteps: 0 },
    batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 4, samples: 4 } },
    sampling: { temperature: 0.7, maxNewTokens: MAX_NEW_TOKENS, maxTestTokens: MAX_NEW_TOKENS },
    warmStart: { discriminatorSteps: 0, generatorSteps: 0 },
    testsPerTurn: 5,
    discriminator: { expected: 'model' },
    reward: { scheme: 'shifted' },
    advantage: { negativeWeight: 1, dropZeroVariance: false },
    evaluation: { problems: 1, testProblems: 1 },
  };
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const script = fileURLToPath(new URL('./ours.js', import.meta.url));
  return Peer.start('ours', process.execPath, [script, join(folder, 'store'), file]);
}
