// mocha's own spec output, and the outcome as a file, so that infra/run-tests.mjs can add up many mocha processes.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

const firstLine = (error) =>
  String(error?.message ?? error)
    .split('\n')[0]
    .slice(0, 500);

class SpecAndFile extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.GAUNTLET_TEST_OUTCOME;
    const skipped = [];
    const failures = [];
    runner.on('pending', (test) => skipped.push(test.fullTitle()));
    runner.on('fail', (test, error) => failures.push(`${test.fullTitle()}: ${firstLine(error)}`));
    const write = (ended) => {
      const { passes, failures: failed, pending } = this.stats;
      writeFileSync(
        file,
        JSON.stringify({ ended, passed: passes, failed, failures, skipped: pending, skippedTitles: skipped }),
      );
    };
    if (!file) return;
    runner.on('test end', () => write(false)); // what a crash leaves behind
    runner.once('end', () => write(true));
  }
}

module.exports = SpecAndFile;
