// The Compose files name existing commands and files, and open ports only to this machine. infra/compose.yaml has one worker
// for each role.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseRoles } from '../../cli/commands/worker.js';
import { createProgram } from '../../cli/main.js';
import { WORKER_ROLES } from '../../core/temporal/queues.js';

interface Service {
  image: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
  volumes?: string[];
  healthcheck?: object;
  cap_drop?: string[];
  environment?: Record<string, string | number>;
  stop_grace_period?: string;
  restart?: string;
}

const FILES = ['infra/compose.yaml', 'infra/compose.up.yaml'];
const PARSER = 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2';
interface Composed {
  services: Record<string, Service>;
  volumes: Record<string, null>;
}
const isWorker = ([name]: string[] = []): boolean => name !== 'sandbox'; // the judge keeps nothing
const composed = (file: string) => {
  const { services, volumes } = parse(readFileSync(file, 'utf8'), { merge: true }) as Composed;
  return { services, volumes, ours: Object.values(services).filter(({ build }) => build !== undefined) };
};

it('infra/compose.yaml has one worker for each role, and infra/compose.up.yaml runs `up`', () => {
  const [workers, up] = FILES.map((file) => composed(file).ours.map(({ command = [] }) => command));
  const roles = workers!.filter(isWorker).flatMap((command) => parseRoles(command[command.indexOf('--role') + 1]!));
  assert.deepEqual(roles.sort(), [...WORKER_ROLES].sort());
  assert.deepEqual(
    [...workers!, ...up!].map(([name]) => name),
    ['worker', 'worker', 'worker', 'sandbox', 'up'],
  );
});

for (const FILE of FILES) describe(FILE, () => checksOf(FILE));

function checksOf(FILE: string): void {
  const { services, volumes, ours: workers } = composed(FILE);

  it('starts our services again after a crash, and gives them existing options', () => {
    for (const { command = [], restart } of workers) {
      assert.equal(restart, 'unless-stopped');
      const named = createProgram().commands.find((each) => each.name() === command[0])!;
      const { options } = named.commands.find((each) => each.name() === command[1]) ?? named;
      for (const word of command.filter((each) => each.startsWith('--')))
        assert.ok(
          options.some(({ long }) => long === word),
          word,
        );
    }
  });

  it('builds workers from files of the checkout, and drops their capabilities', () => {
    for (const { build, cap_drop } of workers) {
      assert.ok(existsSync(join('infra', build!.context, build!.dockerfile)));
      assert.deepEqual(cap_drop, ['ALL']);
    }
    const dockerfile = readFileSync('infra/Dockerfile', 'utf8');
    assert.match(dockerfile.slice(dockerfile.lastIndexOf('FROM')), /^USER node$/m);
  });

  it('leaves workers ten seconds to save and to close', () => {
    for (const { environment, stop_grace_period } of workers.filter(({ command }) => isWorker(command)))
      assert.equal(Number(environment!.GAUNTLET_GRACE_SECONDS) + 10, Number(/^(\d+)s$/.exec(stop_grace_period!)?.[1]));
  });

  it('names the version of every other image', () => {
    for (const { image, build } of Object.values(services)) if (!build) assert.match(image, /^[\w/-]+:v?[\d.]+$/);
  });

  it('opens ports only to this machine', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    assert.equal(ports.length >= 2, FILE === FILES[0]);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/);
  });

  it('refers to existing services and volumes, and waits only for the health of services that report it', () => {
    for (const { depends_on = {}, volumes: mounts = [] } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        assert.ok(services[name], name);
        if (condition === 'service_healthy') assert.ok(services[name]!.healthcheck, `${name} has a health check`);
      }
      for (const name of mounts.map((mount) => mount.split(':')[0]!)) {
        if (/^\w+$/.test(name)) assert.ok(name in volumes, name);
        if (name.startsWith('./')) assert.ok(existsSync(join('infra', name)), name);
      }
    }
  });

  it('is accepted by docker compose or its parser', function () {
    const checks = [
      { present: ['docker', 'compose', 'version'], check: ['docker', 'compose', '-f', FILE, 'config', '--quiet'] },
      { present: ['go', 'version'], check: ['go', 'run', PARSER, FILE] },
    ];
    const run = ([command, ...argv]: string[]) => spawnSync(command!, argv, { encoding: 'utf8' });
    const usable = checks.find(({ present }) => run(present).status === 0);
    if (!usable) {
      console.log('      skipped: neither docker compose nor Go is on the PATH');
      return this.skip();
    }
    const { status, stderr } = run(usable.check);
    assert.equal(status, 0, stderr);
  });
}
