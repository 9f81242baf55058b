// A watched run whose server goes away: the watch reports this, waits, and shows the result. A forwarder between the watch and
// a real server can be gone (it cuts every connection) or silent (it receives bytes and keeps them).
import assert from 'node:assert/strict';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import type { RunningWorkers } from '../../workers/start.js';
import { gauntlet } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const RUN = {
  ...SMALL_RUN,
  schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 },
};

type Loss = 'gone' | 'silent';

interface Forwarder {
  address: string;
  lose(how: Loss): void;
  restore(): void;
  close(): Promise<void>;
}

async function forwarderTo(target: string): Promise<Forwarder> {
  const [host, port] = target.split(':') as [string, string];
  const open = new Set<Socket>();
  let lost: Loss | undefined;
  const keep = (socket: Socket, other: Socket): void => {
    open.add(socket);
    socket.on('data', (bytes) => other.write(bytes));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      open.delete(socket);
      other.destroy();
    });
    if (lost === 'silent') socket.pause();
  };
  const listener = createServer((socket) => {
    if (lost === 'gone') return socket.destroy();
    const upstream = createConnection(Number(port), host);
    keep(socket, upstream);
    keep(upstream, socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    lose: (how) => {
      lost = how;
      if (how === 'gone') return cut();
      for (const socket of open) socket.pause();
    },
    restore: () => {
      lost = undefined;
      for (const socket of open) socket.resume();
    },
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve));
      cut();
      await closed;
    },
  };
}

describe('gauntlet train --watch during an outage of the server', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;
  const forwarders: Forwarder[] = [];

  before(async function () {
    needTemporal(this);
    host = await startServer();
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  after(async () => {
    await Promise.all(forwarders.map((forwarder) => forwarder.close()));
    await workers?.shutdown();
    await host?.close();
  });

  it('reports the outage and its end in one line each, and ends with the result', async () => {
    const { applyUpdate } = world.engine;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.engine.applyUpdate = async (...given: Parameters<typeof applyUpdate>) => {
      await gate;
      return applyUpdate.apply(world.engine, given);
    };
    await startRun(host.client, 'watched', RUN);
    let back = 0;
    const watched = (['gone', 'silent'] as const).map(async (how) => {
      const forwarder = await forwarderTo(host.server.address);
      forwarders.push(forwarder);
      let seen: 'nothing' | 'the run' | 'its loss' | 'its return' = 'nothing';
      const env = { TEMPORAL_ADDRESS: forwarder.address };
      const ended = await gauntlet(['status', 'watched', '--watch', '--store', world.folder], env, (text) => {
        if (seen === 'nothing' && /step 0\/1/.test(text)) {
          seen = 'the run';
          forwarder.lose(how);
        }
        if (seen === 'the run' && /does not answer/.test(text)) {
          seen = 'its loss';
          forwarder.restore();
        }
        if (seen === 'its loss' && /answers again/.test(text)) {
          seen = 'its return';
          if (++back === 2) release();
        }
      });
      return { ...ended, address: forwarder.address };
    });
    for (const { code, out, err, address } of await Promise.all(watched)) {
      assert.equal(code, 0, err);
      assert.match(out, /^watched: completed\n/);
      const server = `the Temporal server at ${address}`;
      const said = err.split('\n').filter((line) => line.startsWith('the Temporal server'));
      // on a busy machine, the line may be repeated
      assert.deepEqual(said.slice(0, 2), [
        `${server} does not answer: trying for two minutes`,
        `${server} answers again`,
      ]);
    }
  });
});
