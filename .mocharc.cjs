// A test from source (`npx mocha test/core/rewards.test.ts`) needs a loader of TypeScript.
const isSource = process.argv.some((argument) => argument.endsWith('.ts'));

module.exports = {
  timeout: 60_000,
  extension: ['js', 'ts'],
  forbidOnly: true,
  ...(isSource && { require: './tools/tsx.mjs' }),
};
