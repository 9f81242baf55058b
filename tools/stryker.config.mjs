// `npm run mutate`: StrykerJS empties one function or block at a time, and at least one test must fail.
// For one file: npm run mutate -- --mutate core/rewards/suite.ts --testFiles dist/test/core/suite.test.js
export default {
  mutate: ['activities/**/*.ts', 'chains/**/*.ts', 'core/{parse,rewards}/**/*.ts', 'ml/autodiff/**/*.ts'],
  mutator: {
    // Uses only BlockStatement (`{}`) and ArrowFunction (`() => undefined`), because other mutators take many hours.
    excludedMutations: [
      ...['ArithmeticOperator', 'ArrayDeclaration', 'AssignmentOperator', 'BooleanLiteral', 'ConditionalExpression'],
      ...['EqualityOperator', 'LogicalOperator', 'MethodExpression', 'ObjectLiteral', 'OptionalChaining', 'Regex'],
      ...['StringLiteral', 'UnaryOperator', 'UpdateOperator'],
    ],
  },
  buildCommand: 'tsc -p tsconfig.json',
  // Runs each test file in its own process, as run-tests.mjs does, so that mutants do not affect each other.
  testRunner: 'tap',
  plugins: ['@stryker-mutator/tap-runner'],
  tap: {
    testFiles: ['dist/test/{core,ml,activities}/*.test.js'], // tests without a server, a container or a command
    nodeArgs: ['node_modules/mocha/bin/mocha.js', '--reporter', 'tap', '--bail'],
    forceBail: false, // mocha stops by itself, and closes everything that a test opened
  },
  thresholds: { break: 100 }, // a mutant that survives fails the run
  ignorePatterns: ['.cache', '.gauntlet', 'coverage'], // folders that are not copied
  tempDirName: '.cache/stryker',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { reportTests: false },
};
