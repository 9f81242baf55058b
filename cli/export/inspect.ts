// Inspect: every evaluation that `gauntlet evaluate` recorded for checkpoints of the run, as a log for `inspect view` and
// inspect_ai.log.
import { problemOf, readConfig, readProblems } from '../../chains/artifacts.js';
import { codeOf, groupByProblem } from '../../chains/chainLists.js';
import { GauntletError } from '../../core/base/errors.js';
import { PROMPTS, textOf } from '../../core/prompts/prompts.js';
import { countPassed } from '../../core/rewards/rule.js';
import type { Chain } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { EvaluationRecord } from '../../core/schema/evaluation.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import { readEvaluations } from '../../store/runs.js';
import { commandLine } from '../terminal/commandLine.js';
import type { ExportedFiles, ExportedRun } from './exporter.js';

const SCORER = 'hidden_tests';

export async function* inspectLogs(run: ExportedRun): ExportedFiles {
  const evaluations = await readEvaluations(run.store, run.id);
  if (evaluations.length === 0)
    throw new GauntletError(
      'NOT_FOUND',
      `run '${run.id}' has no recorded evaluation: make one with ${commandLine(`evaluate ${run.id}`)}`,
    );
  for (const [id, record] of evaluations) {
    const time = record.at.slice(0, 19).replaceAll(':', '-'); // Inspect lists files that begin with a time
    yield [`${time}_gauntlet_${id}.json`, JSON.stringify(await inspectLog(run, id, record), null, 1)];
  }
}

async function inspectLog({ id: run, store, records }: ExportedRun, id: string, record: EvaluationRecord) {
  const { checkpoint, at, samples: epochs, temperature, metrics, artifacts } = record;
  const config = await readConfig(store, artifacts);
  const { byId } = await readProblems(store, artifacts.problems);
  const chains = groupByProblem(await store.getJson(artifacts.chains));
  const judged = await store.getJson(artifacts.verdicts);
  const model = `gauntlet/${run}/${checkpoint}`;
  const samples = judged.flatMap((one) => {
    const problem = problemOf(byId, one.problemId);
    return chains.get(one.problemId)!.map((chain, i) => sampleOf(model, chain, problem, config, one, i));
  });
  const { configDigest, modelDigest, dataDigest, seed } = records.manifest;
  return {
    version: 2,
    status: 'success',
    eval: {
      eval_id: id,
      run_id: run,
      task_id: id,
      task: 'gauntlet',
      created: at,
      model,
      dataset: { name: config.problems, samples: judged.length, sample_ids: judged.map(({ problemId }) => problemId) },
      config: { epochs },
      model_generate_config: { temperature },
      scorers: [{ name: SCORER }],
      metadata: { run, checkpoint, base_model: config.model, seed, configDigest, modelDigest, dataDigest },
    },
    plan: { steps: [{ solver: 'gauntlet', params: { stages: config.stages } }] },
    results: {
      total_samples: samples.length,
      completed_samples: samples.length,
      scores: [
        {
          name: SCORER,
          scorer: SCORER,
          metrics: Object.fromEntries(
            Object.entries(metrics).map(([name, { value, low, high }]) => [
              name,
              { name, value, metadata: { low, high } },
            ]),
          ),
        },
      ],
    },
    stats: { started_at: at, completed_at: at, model_usage: {} },
    samples,
  };
}

function sampleOf(
  model: string,
  chain: Chain,
  problem: Problem,
  config: RunConfig,
  { suite, verdicts }: SuiteVerdicts,
  index: number,
) {
  const input = PROMPTS[config.prompts].opening(problem, chain.turns[0]!.stage).map(({ role, content }) => ({
    role,
    content: textOf(content),
  }));
  const answers = chain.turns.flatMap((turn, i) => [
    ...(i === 0 ? [] : [{ role: 'user', content: textOf(PROMPTS[config.prompts].continuation(problem, turn.stage)) }]),
    { role: 'assistant', content: turn.text, model },
  ]);
  const hidden = verdicts[index]!.filter((_, i) => suite[i]!.origin === 'baseline');
  const passed = countPassed(hidden);
  const stop_reason = chain.turns.at(-1)!.truncated ? 'max_tokens' : 'stop';
  return {
    id: chain.problemId,
    epoch: chain.sample + 1,
    input,
    target: problem.referenceSolution ?? '',
    messages: [...input, ...answers],
    output: { model, choices: [{ message: answers.at(-1), stop_reason }] },
    scores: {
      [SCORER]: {
        value: hidden.length > 0 && passed === hidden.length ? 'C' : 'I',
        answer: codeOf(chain, problem, config),
        explanation: `passes ${passed} of ${hidden.length} hidden tests`,
        metadata: { verdicts: hidden },
      },
    },
  };
}
