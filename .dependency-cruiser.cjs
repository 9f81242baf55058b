// The dependency rules of docs/architecture.md. dependency-cruiser 16 reads TypeScript up to 5.9. With a newer version it
// sees no modules and reports success, so tools/check-deps.mjs fails without modules.
const layer = (name, from, to, extra = {}) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: to, ...extra },
});
const TOP =
  '(api|core|method|ml|sandbox|store|data|chains|activities|workflows|workers|dashboard|inference|cli|infra|lab|tools|test)';
const except = (...allowed) => `^(?!(${allowed.join('|')})/)${TOP}/`;
const PORTS = ['core', 'method', 'ml', 'data', 'store', 'sandbox'];
const TEST_SOURCE = '^sandbox/testSource/';
const COMPILER = '^ml/(ir|autodiff|nn|optim|loss|onnx)/';

module.exports = {
  forbidden: [
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    layer('core-is-a-leaf', '^core/', except('core')),
    { name: 'core-is-pure', severity: 'error', from: { path: '^core/' }, to: { dependencyTypes: ['core'] } },
    {
      name: 'core-only-zod',
      severity: 'error',
      from: { path: '^core/' },
      to: { dependencyTypes: ['npm'], pathNot: 'node_modules/(zod|@lezer)/' },
    },
    layer('ml-sees-core', '^ml/', except('ml', 'core'), { pathNot: '^infra/scripts\\.ts' }),
    layer('ml-compiler-is-pure', COMPILER, '^ml/', { pathNot: COMPILER }),
    { name: 'ml-compiler-no-io', severity: 'error', from: { path: COMPILER }, to: { dependencyTypes: ['core'] } },
    {
      name: 'ort-only-in-device',
      severity: 'error',
      from: { pathNot: '^ml/device/' },
      to: { path: 'onnxruntime-node' },
    },
    {
      name: 'koffi-only-in-device',
      severity: 'error',
      from: { pathNot: '^(ml/device/ortApi\\.ts|lab/fakeCuda/|test/)' },
      to: { path: 'node_modules/koffi/', dependencyTypesNot: ['type-only'] },
    },
    layer('ports-see-core', '^(sandbox|store|data)/', except('core', 'infra'), { pathNot: '^$1/' }),
    layer(
      'ports-use-little-of-infra',
      '^(sandbox|store|data)/',
      '^infra/(?!(lock|place|proxy|root|scripts|sharedFolder)\\.)',
    ),
    layer('sandbox-backends-are-siblings', '^sandbox/([^/]+)/', '^sandbox/([^/]+)/', {
      pathNot: `^sandbox/($1|guest)/|${TEST_SOURCE}`,
    }),
    // Only the two modules that open a backend import the runner of test source.
    {
      name: 'test-source-is-opened',
      severity: 'error',
      from: { path: '^(?!test/|lab/)([^/]+/[^/]+)', pathNot: '^sandbox/(docker/openDocker|wasm/openWasm)\\.ts' },
      to: { path: TEST_SOURCE, pathNot: '^$1/' },
    },
    // Training knows the sandbox port alone; workers inject the backend.
    layer('training-avoids-test-source', '^(chains|activities)/', TEST_SOURCE, { reachable: true }),
    layer('store-hides-its-objects', '^(?!(store|test)/)', '^store/([a-z0-9]+Objects|objects|layout)\\.ts'),
    {
      name: 's3-only-in-store',
      severity: 'error',
      from: { pathNot: '^(store/s3Objects\\.ts|test/)' },
      to: { path: '@aws-sdk' },
    },
    {
      name: 'tracing-is-optional',
      severity: 'error',
      from: { pathNot: '^(workers/tracing\\.ts|test/)' },
      to: { path: 'node_modules/(@opentelemetry|@temporalio/interceptors-opentelemetry)/' },
    },
    {
      name: 'tracing-is-loaded-on-demand',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { path: '^workers/tracing\\.ts', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    layer(
      'dashboard-reads',
      '^dashboard/',
      except('dashboard', 'core', 'method', 'data', 'store', 'chains', 'ml', 'infra'),
    ),
    layer('inference-sees-chains', '^inference/', except('inference', 'chains', ...PORTS), {
      pathNot: '^infra/(httpServer|turns|root)\\.',
    }),
    layer('only-the-cli-opens-inference', '^(?!(inference|cli|test)/)', '^inference/'),
    layer('pages-run-in-a-browser', '^dashboard/web/', '^(?!dashboard/(web/|api\\.ts)|node_modules/)'),
    layer('only-roots-open-the-dashboard', '^(?!(dashboard|cli|workers|test|lab)/)', '^dashboard/'),
    layer('the-product-stands-alone', '^(?!(lab|tools|test)/)', '^(lab|tools)/'),
    layer('tools-run-before-the-build', '^tools/', except('tools', 'infra')),
    layer('infra-sees-core', '^infra/', except('infra', 'core')),
    layer('method-sees-core', '^method/', except('method', 'core')),
    layer('chains-see-ports', '^chains/', except('chains', ...PORTS)),
    layer('chains-know-no-temporal', '^chains/', 'node_modules/@temporalio/'),
    layer('activities-see-chains', '^activities/', except('activities', 'chains', ...PORTS)),
    layer('runs-use-sandbox-port', '^(chains|activities|inference)/', '^sandbox/[^/]+/'),
    // Others call the functions of chains/.
    layer('only-hosts-run-activities', '^(?!(activities|workers|api|test|lab)/)', '^activities/'),
    layer('workflows-see-the-method', '^workflows/', except('workflows', 'core', 'method')),
    {
      name: 'workflows-deterministic',
      severity: 'error',
      from: { path: '^workflows/' },
      to: { dependencyTypes: ['core'] },
    },
    layer('cli-starts-workflows-by-type', '^cli/', '^workflows/', { dependencyTypesNot: ['type-only'] }),
    {
      name: 'nothing-imports-roots',
      severity: 'error',
      from: { pathNot: '^(api|workers|cli|test|lab)/' },
      to: { path: '^(workers|cli)/' },
    },
    layer('nothing-imports-the-api', '^(?!(api|test)/)', '^api/'),
    { name: 'no-test-in-source', severity: 'error', from: { pathNot: '^(test|lab)/' }, to: { path: '^test/' } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
    exclude: { path: '^(dist/|(?!node_modules/).*/generated/)' },
  },
};
