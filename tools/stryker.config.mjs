// `npm run mutate`: StrykerJS empties one function or block at a time. At least one test must fail.
// One file: npm run mutate -- --mutate core/rewards/suite.ts --testFiles dist/test/core/suite.test.js
export default {
  mutate: ['activities/**/*.ts', 'chains/**/*.ts', 'core/{parse,rewards}/**/*.ts', 'ml/autodiff/**/*.ts'],
  mutator: {
    // Only BlockStatement (`{}`) and ArrowFunction (`() => undefined`) remain. With the others, a run takes many hours.
    excludedMutations: [
      ...['ArithmeticOperator', 'ArrayDeclaration', 'AssignmentOperator', 'BooleanLiteral', 'ConditionalExpression'],
      ...['EqualityOperator', 'LogicalOperator', 'MethodExpression', 'ObjectLiteral', 'OptionalChaining', 'Regex'],
      ...['StringLiteral', 'UnaryOperator', 'UpdateOperator'],
    ],
  },
  buildCommand: 'tsc -p tsconfig.json',
  // A process per test file, as in run-tests.mjs: no state of one mutant reaches the next.
  testRunner: 'tap',
  plugins: ['@stryker-mutator/tap-runner'],
  tap: {
    testFiles: ['dist/test/{core,ml,activities}/*.test.js'], // tests without a server, a container or a command
    nodeArgs: ['node_modules/mocha/bin/mocha.js', '--reporter', 'tap', '--bail'],
    forceBail: false, // mocha stops itself, and closes what a test opened
  },
  thresholds: { break: 100 }, // a survivor fails the run
  ignorePatterns: ['.cache', '.gauntlet', 'coverage'], // not copied
  tempDirName: '.cache/stryker',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { reportTests: false },
};
