// A test from source (`npx mocha test/core/rewards.test.ts`) needs a loader of TypeScript.
const isSource = process.argv.some((argument) => argument.endsWith('.ts'));

module.exports = {
  timeout: 600_000, // ends a test that hangs; a busy machine may need ten times as long as an idle one
  extension: ['js', 'ts'],
  forbidOnly: true,
  ...(isSource && { require: './tools/tsx.mjs' }),
};
