// Helm lints and renders infra/helm/gauntlet, the types of Kubernetes accept the manifests, and they match the code.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { parseRoles } from '../../cli/commands/worker.js';
import { createProgram } from '../../cli/main.js';
import { DEPLOYMENT, TASK_QUEUES, WORKER_ROLES } from '../../core/temporal/queues.js';
import { run } from '../../infra/go-build.mjs';
import { cacheDir } from '../../infra/temporal-cli.mjs';
import { temporalTarget } from '../../infra/temporalTarget.js';

const CHART = 'infra/helm/gauntlet';
const CHECK = 'test/infra/chart/check.go';
const HELM = 'helm.sh/helm/v4@v4.3.1'; // contains the versions of Kubernetes' types with which it was built

interface Manifest {
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the Go types have checked it
  spec: any;
}

const DIND = {
  image: 'registry.example.com/gauntlet@sha256:0123',
  temporal: { address: 'temporal:7233' },
  store: 's3://bucket/team',
  sandbox: { kind: 'dind' },
};
/** Sets every value that has no default. */
const EVERYTHING = {
  ...DIND,
  imagePullSecrets: [{ name: 'registry' }],
  temporal: { ...DIND.temporal, apiKeySecret: 'key', tlsSecret: 'tls', tlsAuthority: true },
  storeSecret: 'bucket',
  serviceAccount: { annotations: { 'example.com/role': 'gauntlet' } },
  codecSecret: 'codec',
  terminationGracePeriodSeconds: 120,
  buildId: '2026-05-01',
  env: [{ name: 'GAUNTLET_LOG', value: 'debug' }],
  volumes: [{ name: 'models', persistentVolumeClaim: { claimName: 'models' } }],
  volumeMounts: [{ name: 'models', mountPath: '/models', readOnly: true }],
  gpu: {
    image: 'registry.example.com/gauntlet-cuda@sha256:4567',
    resources: { limits: { 'nvidia.com/gpu': 1 } },
    nodeSelector: { gpu: 'true' },
    tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
  },
  sandbox: {
    kind: 'remote',
    runtimeClassName: 'gvisor',
    remote: { host: 'tcp://docker:2376', tlsSecret: 'docker' },
    networkPolicy: { metricsFrom: [{ namespaceSelector: {} }] },
  },
  autoscaling: { enabled: true },
};
const WASM = { ...DIND, sandbox: { kind: 'wasm' }, serviceAccount: { name: 'existing' } };

/** Values that are missing or cannot work, each with a text of its message. */
const REFUSED: [RegExp, object][] = [
  [/image: name an image/, { ...DIND, image: '' }],
  [/temporal\.address: name the server/, { ...DIND, temporal: {} }],
  [/store: name a bucket/, { ...DIND, store: '' }],
  [/store: pods on several nodes need a bucket/, { ...DIND, store: '/srv/store' }],
  [/sandbox\.kind: choose dind, remote or wasm/, { ...DIND, sandbox: {} }],
  [/sandbox\.remote\.host: name the daemon/, { ...DIND, sandbox: { kind: 'remote' } }],
  [/replicaz/, { ...DIND, volumes: [{ name: 'a', replicaz: 1 }] }],
];

/** Builds the checker once: about two minutes of CPU time. */
async function buildCheck(): Promise<string> {
  const digest = createHash('sha256').update(readFileSync(CHECK)).update(HELM).digest('hex').slice(0, 12);
  const binary = join(cacheDir(), `check-chart-${digest}`);
  if (existsSync(binary)) return binary;
  mkdirSync(cacheDir(), { recursive: true });
  const scratch = mkdtempSync(`${binary}-`);
  try {
    copyFileSync(CHECK, join(scratch, 'check.go'));
    // uses its own caches, which are removed because they take 700 MB
    const caches = { GOCACHE: join(scratch, 'cache'), GOMODCACHE: join(scratch, 'modules') };
    const options = {
      cwd: scratch,
      env: { ...process.env, ...caches, GOFLAGS: '-modcacherw -mod=mod', CGO_ENABLED: '0' },
    };
    const build = ['build', '-trimpath', '-ldflags', '-s -w', '-o', 'check', '.'];
    for (const step of [['mod', 'init', 'gauntlet.local/check'], ['get', HELM], build])
      assert.equal(await run('go', step, options), undefined);
    renameSync(join(scratch, 'check'), binary);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return binary;
}

describe(CHART, function () {
  this.timeout(900_000); // Go builds the checker once
  let accepted: Manifest[][];
  let refused: string[];

  before(async function () {
    if (spawnSync('go', ['version']).status !== 0) {
      console.log('      skipped: Go is not on the PATH');
      return this.skip();
    }
    const valid = [DIND, EVERYTHING, WASM];
    const input = [...valid, ...REFUSED.map(([, values]) => values)].map((values) => JSON.stringify(values)).join('\n');
    const { stdout, stderr, status } = spawnSync(await buildCheck(), [CHART], { input, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { manifests: Manifest[]; error?: string });
    for (const { error } of answers.slice(0, valid.length)) assert.equal(error, undefined);
    accepted = answers.slice(0, valid.length).map(({ manifests }) => manifests);
    refused = answers.slice(valid.length).map(({ error = 'accepted' }) => error);
  });

  const pods = (manifests: Manifest[]) =>
    manifests.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.template.spec);
  const worker = (manifests: Manifest[], role: string) => {
    const deployment = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `test-${role}`,
    )!;
    return { ...deployment.spec.template.spec.containers[0], pod: deployment.spec.template.spec };
  };
  const environment = (manifests: Manifest[], role: string): Record<string, unknown> =>
    Object.fromEntries(
      worker(manifests, role).env.map((each: { name: string; value?: string; valueFrom?: object }) => [
        each.name,
        each.value ?? each.valueFrom,
      ]),
    );

  it('refuses values that cannot work in one line that names them', () => {
    for (const [index, [message]] of REFUSED.entries()) assert.match(refused[index]!, message);
  });

  it('has one worker for each role, with existing options', () => {
    const { options } = createProgram().commands.find((command) => command.name() === 'worker')!;
    for (const manifests of accepted) {
      const roles = pods(manifests).flatMap(({ containers: [{ args }] }) => {
        assert.equal(args[0], 'worker');
        for (const word of args.filter((each: string) => each.startsWith('--')))
          assert.ok(
            options.some(({ long }) => long === word),
            word,
          );
        return parseRoles(args[args.indexOf('--role') + 1]);
      });
      assert.deepEqual(roles.sort(), [...WORKER_ROLES].sort());
    }
  });

  it('selects only the pods of one worker with every selector', () => {
    for (const manifests of accepted) {
      const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
      const labels = deployments.map(({ spec }) => spec.template.metadata.labels);
      for (const { spec, kind } of manifests) {
        const selector = spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels;
        if (selector) assert.equal(labels.filter((each) => isPart(selector, each)).length, 1, kind);
      }
      assert.equal(manifests.filter(({ kind }) => kind === 'PodDisruptionBudget').length, deployments.length);
    }
  });

  it('gives a worker only the rights that it needs, and mounts every folder that it writes', () => {
    for (const manifests of accepted)
      for (const { containers, volumes } of pods(manifests)) {
        assert.equal(containers.length, 1);
        assert.deepEqual(containers[0].securityContext, {
          runAsNonRoot: true,
          runAsUser: 1000,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        const names = volumes.map(({ name }: { name: string }) => name);
        for (const { name } of containers[0].volumeMounts) assert.ok(names.includes(name), name);
        const writable = containers[0].volumeMounts.filter(({ readOnly }: { readOnly?: boolean }) => !readOnly);
        for (const folder of ['/cache', '/tmp', '/srv/gauntlet'])
          assert.ok(writable.some(({ mountPath }: { mountPath: string }) => mountPath === folder));
      }
  });

  it('starts a privileged daemon only for the sandbox, and only on request', () => {
    const privileged = accepted.map((manifests) =>
      pods(manifests).flatMap(({ initContainers = [] }) => initContainers.map(({ name }: { name: string }) => name)),
    );
    assert.deepEqual(privileged, [['docker'], [], []]);
    const { DOCKER_HOST } = environment(accepted[0]!, 'sandbox');
    const [{ args, restartPolicy }] = worker(accepted[0]!, 'sandbox').pod.initContainers;
    assert.ok(args.includes(`--host=${DOCKER_HOST}`));
    assert.equal(restartPolicy, 'Always');
    assert.equal(environment(accepted[1]!, 'sandbox').DOCKER_HOST, 'tcp://docker:2376');
    assert.equal(environment(accepted[2]!, 'sandbox').DOCKER_HOST, undefined);
    const sandbox = (manifests: Manifest[]) => /--sandbox (\w+)/.exec(worker(manifests, 'sandbox').args.join(' '))![1];
    assert.deepEqual(accepted.map(sandbox), ['docker', 'docker', 'wasm']);
  });

  it('passes every secret by reference, under the names that the worker reads', () => {
    const env = environment(accepted[1]!, 'gpu');
    const { TEMPORAL_API_KEY, ...rest } = env;
    assert.deepEqual(TEMPORAL_API_KEY, { secretKeyRef: { name: 'key', key: 'api-key' } });
    const plain = Object.entries(rest).filter(([, value]) => typeof value === 'string') as [string, string][];
    // leaves out the paths of certificates, which do not exist here
    const readable = plain.filter(([name]) => !name.endsWith('_PATH'));
    const target = temporalTarget({ ...Object.fromEntries(readable), TEMPORAL_API_KEY: 'secret' })!;
    assert.deepEqual([target.connection.address, target.connection.apiKey], ['temporal:7233', 'secret']);
    assert.throws(() => temporalTarget(Object.fromEntries(plain)), /\/secrets\/temporal\//);
    assert.deepEqual(worker(accepted[1]!, 'gpu').envFrom, [{ secretRef: { name: 'bucket' } }]);
    assert.equal(env.GAUNTLET_CODEC_KEYS, '/secrets/codec/keys');
    assert.equal(env.GAUNTLET_BUILD_ID, '2026-05-01');
  });

  it('leaves workers ten seconds of the grace period to save and close', () => {
    const graceOf = (manifests: Manifest[]) => [
      worker(manifests, 'gpu').pod.terminationGracePeriodSeconds,
      environment(manifests, 'gpu').GAUNTLET_GRACE_SECONDS,
    ];
    assert.deepEqual(accepted.map(graceOf), [
      [30, '20'],
      [120, '110'],
      [30, '20'],
    ]);
  });

  it('places the role gpu on its nodes', () => {
    const { image, resources, pod } = worker(accepted[1]!, 'gpu');
    assert.equal(image, EVERYTHING.gpu.image);
    assert.equal(resources.limits['nvidia.com/gpu'], 1);
    assert.deepEqual(pod.nodeSelector, EVERYTHING.gpu.nodeSelector);
    assert.deepEqual(pod.tolerations, EVERYTHING.gpu.tolerations);
  });

  it('closes the network of the sandbox and blocks the metadata service of a cloud', () => {
    for (const manifests of accepted) {
      const { spec } = manifests.find(({ kind }) => kind === 'NetworkPolicy')!;
      assert.equal(spec.podSelector.matchLabels['app.kubernetes.io/component'], 'sandbox');
      assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
      assert.deepEqual(
        spec.ingress.map(({ ports }: { ports: { port: number }[] }) => ports.map(({ port }) => port)),
        [[9464]],
      );
      const anywhere = spec.egress.filter(({ to }: { to?: object[] }) => to !== undefined);
      assert.deepEqual(anywhere, [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] } }] }]);
    }
  });

  it('scales by the backlog of existing task queues, with credentials', () => {
    // the settings of KEDA 2.21: pkg/scalers/temporal_scaler.go
    const settings = ['endpoint', 'namespace', 'taskQueue', 'queueTypes', 'targetQueueSize', 'enableTLS'];
    settings.push('includeRunningWorkflowCount', 'workflowTaskQueueForCount', 'workerDeploymentName');
    settings.push('workerDeploymentBuildId');
    assert.deepEqual(
      accepted.map((manifests) => manifests.filter(({ kind }) => kind === 'ScaledObject').length),
      [0, 2, 0],
    );
    for (const { spec } of accepted[1]!.filter(({ kind }) => kind === 'ScaledObject')) {
      const [{ type, metadata, authenticationRef }] = spec.triggers;
      assert.equal(type, 'temporal');
      assert.deepEqual(Object.keys(metadata).sort(), settings.sort());
      for (const value of Object.values(metadata)) assert.equal(typeof value, 'string');
      const role = metadata.taskQueue.replace('gauntlet-', '') as 'gpu' | 'sandbox';
      assert.equal(metadata.taskQueue, TASK_QUEUES[role]);
      assert.equal(metadata.workflowTaskQueueForCount, TASK_QUEUES.orchestrator);
      assert.equal(metadata.workerDeploymentName, DEPLOYMENT);
      assert.equal(spec.scaleTargetRef.name, `test-${role}`);
      const target = accepted[1]!.find(
        ({ kind, metadata: { name } }) => kind === 'Deployment' && name === `test-${role}`,
      )!;
      assert.equal(target.spec.replicas, undefined); // otherwise each upgrade would undo the scaling
      const authentication = accepted[1]!.find(({ kind }) => kind === 'TriggerAuthentication')!;
      assert.equal(authenticationRef.name, authentication.metadata.name);
      const parameters = authentication.spec.secretTargetRef.map((each: { parameter: string }) => each.parameter);
      assert.deepEqual(parameters, ['apiKey', 'cert', 'key', 'ca']);
    }
  });

  it('reports a worker as ready only if it polls the server', async () => {
    const { command } = worker(accepted[0]!, 'gpu').readinessProbe.exec;
    let page: string | undefined;
    const server = createServer((_, response) => response.end(page)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    assert.ok(command[2].includes(':9464/'));
    const probe = async () => {
      const script = command[2].replace(':9464/', `:${port}/`);
      return promisify(execFile)(process.execPath, [command[1], script]).then(
        () => true,
        () => false,
      );
    };
    try {
      page = '# TYPE temporal_num_pollers gauge\ntemporal_num_pollers{namespace="default",task_queue="gauntlet"} 2\n';
      assert.equal(await probe(), true);
      for (page of ['# TYPE temporal_num_pollers gauge\n', 'temporal_num_pollers{task_queue="gauntlet"} 0\n'])
        assert.equal(await probe(), false);
    } finally {
      server.close();
    }
    assert.equal(await probe(), false);
  });

  it('uses every value', () => {
    const templates = ['_helpers.tpl', 'autoscaling.yaml', 'networkpolicy.yaml', 'workers.yaml'];
    const text = templates.map((name) => readFileSync(join(CHART, 'templates', name), 'utf8')).join('\n');
    for (const name of namesIn(parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))))
      assert.match(text, new RegExp(`\\.${name}\\b|"${name}"`), name);
  });
});

/** The names of values. Names below `resources` and similar values belong to Kubernetes. */
const namesIn = (values: object): string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    const ours = value !== null && typeof value === 'object' && !Array.isArray(value) && name !== 'resources';
    return [name, ...(ours ? namesIn(value) : [])];
  });

const isPart = (part: Record<string, string>, whole: Record<string, string>): boolean =>
  Object.entries(part).every(([key, value]) => whole[key] === value);
