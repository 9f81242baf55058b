// mocha's own spec output, and the outcome as a file, so that infra/run-tests.mjs can add up many mocha processes.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

class SpecAndFile extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.GAUNTLET_TEST_OUTCOME;
    const skipped = [];
    runner.on('pending', (test) => skipped.push(test.fullTitle()));
    const write = (ended) => {
      const { passes, failures, pending } = this.stats;
      writeFileSync(file, JSON.stringify({ ended, passed: passes, failed: failures, skipped: pending, skippedTitles: skipped }));
    };
    if (!file) return;
    runner.on('test end', () => write(false)); // what a crash leaves behind
    runner.once('end', () => write(true));
  }
}

module.exports = SpecAndFile;
