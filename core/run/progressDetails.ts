// The progress of a run as Markdown, shown in the Web UI of Temporal.
import { isFinal, type RunProgress } from '../schema/run.js';

export function progressDetails(progress: RunProgress): string {
  const { runId, state, requested, stage, reward, validation, best, failure, warnings = [] } = progress;
  const resume = `\`gauntlet resume ${runId}\``;
  const skip = failure?.inStep ? ', skip the step with `--skip`,' : '';
  const lines = [
    `**${state}** · step ${progress.step} of ${progress.totalSteps}`,
    requested && `requested: ${requested.join(', ')}`,
    failure && `\`${failure.activity}\` failed: ${failure.code}: ${failure.message}`,
    state === 'waiting' && `Continue with ${resume}${skip} or end the run with \`--abort\`.`,
    state === 'failed' && isFinal(failure?.code) && 'Start another run with a corrected configuration.',
    (state === 'paused' || (state === 'failed' && !isFinal(failure?.code))) && `Continue with ${resume}.`,
    ...warnings.map(({ message }) => `⚠ ${message}`),
    stage !== undefined && `stage ${stage} · ${progress.phase} · epoch ${progress.epoch}`,
    reward !== undefined && `reward ${reward.toFixed(3)}`,
    validation?.passRate !== undefined && `validation pass rate ${(100 * validation.passRate).toFixed(1)} %`,
    best && `best \`${best.name}\` (${best.score.toFixed(3)})`,
  ];
  return lines.filter(Boolean).join('\n\n');
}
