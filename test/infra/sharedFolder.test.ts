// Which processes may share a folder. Other machines are files in hosts/ with another boot id, which this test touches.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BOOT, PLACE } from '../../infra/place.mjs';
import { claimFolder, refuseNetworkFolder } from '../../infra/sharedFolder.js';
import { refusal } from '../store/support.js';
import { temporaryFolder } from './support.js';

const FAST = { beatMs: 20, watchMs: 400 };

describe('claimFolder', () => {
  const timers: NodeJS.Timeout[] = [];
  afterEach(() => {
    for (const timer of timers.splice(0)) clearInterval(timer);
  });

  /** A process on another machine, whose clock is an hour behind. */
  function stranger(folder: string, name: string, { alive = true } = {}): void {
    const path = join(folder, 'hosts', name);
    mkdirSync(join(folder, 'hosts'), { recursive: true });
    writeFileSync(path, '');
    let time = Date.now() / 1000 - 3600;
    const touch = () => {
      time += 0.02;
      utimesSync(path, time, time);
    };
    if (alive) timers.push(setInterval(touch, 20));
  }

  it('lets processes of one machine share a folder, and leaves nothing behind', async () => {
    const folder = temporaryFolder();
    const claims = [await claimFolder(folder, FAST), await claimFolder(folder, { ...FAST, server: true })];
    assert.equal(readdirSync(join(folder, 'hosts')).length, 2);
    for (const claim of claims) await claim.release();
    assert.deepEqual(readdirSync(join(folder, 'hosts')), []);
  });

  it('refuses a folder that another machine uses, whatever its clock says, and names the machine and the way out', async () => {
    const folder = temporaryFolder();
    stranger(folder, 'gpu-1-0123abcd~another-boot~77~worker~00');
    const refused = refusal(
      'BAD_CONFIG',
      /in use by another machine \(gpu-1, process 77\): stop gauntlet there, or .*s3:/,
    );
    await assert.rejects(claimFolder(folder, FAST), refused);
    assert.deepEqual(readdirSync(join(folder, 'hosts')), ['gpu-1-0123abcd~another-boot~77~worker~00']);
  });

  it('takes a folder over from a machine that has stopped, and removes the files of dead processes', async () => {
    const folder = temporaryFolder();
    stranger(folder, 'gpu-1-0123abcd~another-boot~77~worker~00', { alive: false });
    stranger(folder, `${PLACE}~${BOOT}~${2 ** 22 + 1}~worker~00`, { alive: false });
    const claim = await claimFolder(folder, FAST);
    assert.equal(readdirSync(join(folder, 'hosts')).length, 1);
    await claim.release();
  });

  it('lets containers of one machine share a folder, but not start two servers in it', async () => {
    const folder = temporaryFolder();
    stranger(folder, `box-0123abcd~${BOOT}~1~server~00`);
    await (await claimFolder(folder, FAST)).release();
    const refused = refusal('BAD_CONFIG', /another container \(box, process 1\): set TEMPORAL_ADDRESS/);
    await assert.rejects(claimFolder(folder, { ...FAST, server: true }), refused);
  });

  it('notices that another machine took the folder over', async () => {
    const folder = temporaryFolder();
    const claim = await claimFolder(folder, FAST);
    stranger(folder, 'gpu-1-0123abcd~another-boot~77~worker~00');
    const [own] = readdirSync(join(folder, 'hosts')).filter((name) => name.startsWith(PLACE));
    rmSync(join(folder, 'hosts', own!));
    await assert.rejects(claim.lost, refusal('BAD_CONFIG', /gpu-1/));
    await claim.release();
  });
});

describe('refuseNetworkFolder', () => {
  it('refuses network file systems by name and accepts a disk, also for a folder that does not exist yet', async () => {
    for (const [magic, name] of [
      [0x6969, 'NFS'],
      [0xfe534d42, 'SMB'],
      [0xfe534d42 | 0, 'SMB'], // the number as a signed integer
    ] as const)
      await assert.rejects(
        refuseNetworkFolder('/srv/x', async () => magic),
        refusal('BAD_CONFIG', new RegExp(`/srv/x is on ${name}, .*s3:`)),
      );
    if (process.platform === 'linux')
      // mkdir would not return
      await assert.rejects(refuseNetworkFolder('/proc/x/y'), refusal('BAD_CONFIG', /\/proc\/x\/y is on procfs, /));
    await refuseNetworkFolder(join(temporaryFolder(), 'not', 'there'));
  });
});
