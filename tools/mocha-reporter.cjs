// Mocha's spec output, and one message per event to tools/run-tests.mjs.
const Mocha = require('mocha');

/** First lines of the error and of its causes. */
const linesOf = (error) => {
  const line = String(error?.message ?? error)
    .split('\n')[0]
    .slice(0, 500);
  return error?.cause === undefined ? line : `${line}: ${linesOf(error.cause)}`;
};

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const send = (type, { file, parent } = {}, text = '') => process.send({ type, file: file ?? parent?.file, text });
    runner.on('suite', (suite) => suite.file && send('file', suite));
    runner.on('pass', (test) => send('passed', test));
    runner.on('pending', (test) => send('skipped', test, test.fullTitle()));
    runner.on('fail', (test, error) => send('failed', test, `${test.fullTitle()}: ${linesOf(error)}`));
    runner.once('end', () => send('end'));
  }
};
