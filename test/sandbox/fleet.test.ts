// The containers of a sandbox with a fake daemon: which ones are removed, and what the event stream reports.
// docker.test.ts and dockerFaults.system.test.ts use a real daemon.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import type Docker from 'dockerode';
import { Fleet } from '../../sandbox/docker/fleet.js';
import { OWNER, ownLabels, reapContainers, removeContainer } from '../../sandbox/docker/reaper.js';
import { DaemonWatch } from '../../sandbox/docker/watch.js';

interface Container {
  name: string;
  labels: Record<string, string>;
  hoursOld?: number;
}

/** A fake daemon with these containers. It does not answer if `isUp` is false. */
function fakeDaemon() {
  const containers: Container[] = [];
  const streams: PassThrough[] = [];
  const state = { containers, streams, isUp: true, onRemoved: (): void => undefined };
  const answering = () => {
    if (!state.isUp) throw new Error('connect ENOENT');
  };
  const docker = {
    getEvents: async () => {
      answering();
      streams.push(new PassThrough());
      return streams.at(-1);
    },
    ping: async () => answering(),
    listContainers: async ({ all, filters }: { all: boolean; filters: { label: [string] } }) => {
      answering();
      const [key, value] = filters.label[0].split('=');
      return containers
        .filter(({ labels }) => all && key! in labels && (value === undefined || labels[key!] === value))
        .map(({ name, labels, hoursOld = 0 }) => ({
          Id: name,
          Names: [`/${name}`],
          Labels: labels,
          State: 'running',
          Created: Date.now() / 1000 - 3600 * hoursOld,
        }));
    },
    getContainer: (id: string) => ({
      remove: async () => {
        answering();
        containers.splice(
          containers.findIndex(({ name }) => name === id),
          1,
        );
        state.onRemoved();
      },
    }),
  } as unknown as Docker;
  return { docker, state, names: () => containers.map(({ name }) => name) };
}

const next = (fleet: Fleet): Container => ({ name: fleet.next(), labels: fleet.labels() });

describe('the containers of one sandbox', () => {
  it('have their own names and labels, and only unused containers are removed as strays', async () => {
    const { docker, state, names } = fakeDaemon();
    const [fleet, other] = [new Fleet(docker), new Fleet(docker)];
    const [held, dropped, stray] = [next(fleet), next(fleet), next(other)];
    assert.equal(new Set([held, dropped, stray].map(({ name }) => name)).size, 3);
    state.containers.push(held, dropped, stray, { name: 'somebody’s', labels: {} });
    fleet.drop(dropped.name);
    assert.equal(await fleet.removeStrays(), 1);
    assert.deepEqual(names(), [held.name, stray.name, 'somebody’s']);
    await fleet.close();
    assert.deepEqual(names(), [stray.name, 'somebody’s']);
  });

  it('are removed after a reconnection if they are unused', async () => {
    const { docker, state, names } = fakeDaemon();
    const fleet = new Fleet(docker);
    await fleet.open();
    assert.ok(fleet.watch.connected);
    const [held, lost] = [next(fleet), next(fleet)];
    state.containers.push(held, lost);
    fleet.drop(lost.name);
    const removed = new Promise<void>((resolve) => {
      state.onRemoved = resolve;
    });
    const before = fleet.watch.epoch;
    state.streams[0]!.destroy();
    await removed;
    assert.deepEqual(names(), [held.name]);
    assert.ok(fleet.watch.connected && fleet.watch.epoch === before + 1);
    await fleet.close();
  });

  it('may remain if the daemon has ended, because closing also ends the event stream', async () => {
    const { docker, state, names } = fakeDaemon();
    const fleet = new Fleet(docker);
    await fleet.open();
    state.containers.push(next(fleet));
    state.isUp = false;
    await fleet.close();
    assert.equal(names().length, 1);
    assert.ok(state.streams[0]!.destroyed);
  });
});

describe('the reaper of containers', () => {
  it('removes containers of dead workers on this machine at once, and of other machines after a day', async () => {
    const { docker, state, names } = fakeDaemon();
    const [place, pid, start] = JSON.parse(ownLabels()[OWNER]!);
    const of = (name: string, owner: unknown, hoursOld = 0): Container => {
      const text = typeof owner === 'string' ? owner : JSON.stringify(owner);
      return { name, labels: { [OWNER]: text }, hoursOld };
    };
    state.containers.push(
      of('own', [place, pid, start], 48),
      of('dead', [place, 2 ** 22 + 1, start]),
      of('of a pid used again', [place, pid, `${start}1`]),
      of('elsewhere', ['another machine', pid, start], 23),
      of('elsewhere, old', ['another machine', pid, start], 25),
      ...['no JSON', 'null', '7', '{}'].flatMap((label) => [of(label, label, 23), of(`${label}, old`, label, 25)]),
      { name: 'no label of ours', labels: {}, hoursOld: 48 },
    );
    assert.equal(await reapContainers(docker), 7);
    assert.deepEqual(names(), ['own', 'elsewhere', 'no JSON', 'null', '7', '{}', 'no label of ours']);
  });

  it('retries the removal of a container with its volumes until the daemon no longer knows it', async () => {
    const asked: unknown[] = [];
    const answers = [409, 500, 404];
    const container = {
      remove: async (options: unknown) => {
        asked.push(options);
        throw Object.assign(new Error('no'), { statusCode: answers[asked.length - 1] });
      },
    } as unknown as Docker.Container;
    await removeContainer(container);
    assert.deepEqual(asked, Array(3).fill({ force: true, v: true }));
  });
});

describe('the event stream of a daemon', () => {
  const LONG = 600_000; // in milliseconds; this time is never reached
  const event = (Action: string, ID = 'c') => `${JSON.stringify({ Action, Actor: { ID } })}\n`;
  const watching = async () => {
    const { docker, state } = fakeDaemon();
    const watch = new DaemonWatch(docker, 'label', () => undefined);
    await watch.open();
    watch.follow('c');
    return { watch, state, docker, stream: state.streams[0]! };
  };

  it('reports the removal of a followed container', async () => {
    const { watch, stream } = await watching();
    const gone = watch.isGone('c', LONG);
    stream.write(`no event\n{}\n${event('destroy', 'another')}${event('die')}${event('destroy')}`);
    assert.equal(await gone, true);
    watch.forget('c');
    assert.equal(await watch.isGone('c', 50), false);
    watch.close();
  });

  it('stops pending waits when it is interrupted', async () => {
    const { watch, stream } = await watching();
    const gone = watch.isGone('c', LONG);
    stream.destroy();
    assert.equal(await gone, false);
    watch.close();
  });

  it('reports a steady daemon only while it is uninterrupted and the daemon answers', async () => {
    const { watch, state } = await watching();
    const { epoch } = watch;
    assert.equal(await watch.isSteady(epoch), true);
    assert.equal(await watch.isSteady(epoch - 1), false);
    state.isUp = false;
    assert.equal(await watch.isSteady(epoch), false);
    watch.close();
  });

  it('stays closed even if it was closed while it was being opened', async () => {
    const { watch, state, stream } = await watching();
    const opening = watch.open();
    watch.close();
    await opening;
    assert.deepEqual([stream.destroyed, state.streams[1]!.destroyed], [true, true]);
  });
});
