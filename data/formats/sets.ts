// Public sets as tables: which columns tell the format, and which column holds which part of a problem.
import { columnsFormat, type Traits } from './columns.js';
import type { Columns, FormatName, ProblemFormat } from './format.js';

const TABLE = {
  // LiveCodeBench: methods of an interview class, or whole programs; no solutions
  livecodebench: {
    recognises: [['question_content', 'public_test_cases', 'private_test_cases']],
    columns: {
      id: ['question_id'],
      title: ['question_title'],
      description: ['question_content'],
      signature: ['starter_code'],
      tests: ['public_test_cases'],
      hidden_tests: ['private_test_cases'],
      reference: ['reference_solution'],
      difficulty: ['difficulty'],
      tags: ['platform'],
    },
    functions: { absolute: 1e-5 }, // the tolerance of interview sites
  },
  // CodeContests
  codecontests: {
    recognises: [['name', 'description', 'public_tests', 'solutions']],
    columns: {
      id: ['name'],
      description: ['description'],
      reference: ['solutions'],
      tests: ['public_tests'],
      hidden_tests: ['private_tests', 'generated_tests'],
      difficulty: ['difficulty'],
      tags: ['cf_tags'],
    },
    programs: { text: 'tokens-any-case' }, // as the set's own judge compares
    files: ['input_file', 'output_file'],
  },
  // codeparrot/apps, BAAI/TACO, and sets made of them
  apps: {
    recognises: [['question', 'input_output']],
    columns: {
      id: ['problem_id', 'id'],
      description: ['question'],
      signature: ['starter_code'],
      reference: ['solutions'],
      tests: ['input_output'],
      difficulty: ['difficulty'],
    },
  },
  // PRIME-RL/Eurus-2-RL-Data, and sets for the `prime_code` grader of verl
  prime: {
    recognises: [['prompt', 'reward_model.ground_truth']],
    columns: {
      id: ['extra_info.task_id', 'extra_info.index'],
      description: ['extra_info.question', 'prompt'],
      reference: ['extra_info.reference', 'solution'],
      tests: ['reward_model.ground_truth'],
    },
  },
  // agentica-org/DeepCoder-Preview-Dataset
  deepcoder: {
    recognises: [['problem', 'tests']],
    columns: {
      id: ['uid'],
      description: ['problem'],
      signature: ['starter_code'],
      entry: ['metadata.func_name'],
      reference: ['solutions'],
      tests: ['tests'],
    },
  },
  // open-r1/verifiable-coding-problems-python, PrimeIntellect/SYNTHETIC-1 and verifiable-coding-problems
  verification: {
    recognises: [['verification_info']],
    columns: {
      id: ['problem_id', 'in_source_id'],
      description: ['problem_statement', 'problem', 'prompt'],
      reference: ['gold_standard_solution'],
      tests: ['verification_info.test_cases'],
      language: ['verification_info.language'],
      difficulty: ['metadata.difficulty'],
    },
  },
  // TIGER-Lab/AceCode-87K
  acecode: {
    recognises: [
      ['question', 'test_cases'],
      ['question', 'tests'],
    ],
    columns: {
      id: ['id'],
      description: ['question'],
      reference: ['inferences'],
      tests: ['test_cases', 'tests'],
    },
  },
  // KodCode/KodCode-V1, KodCode-Light-RL-10K, KodCode-V1-SFT-R1
  kodcode: {
    recognises: [
      ['question', 'solution', 'test'],
      ['question', 'solution', 'test_code'],
    ],
    columns: {
      id: ['question_id', 'conversation_id'],
      description: ['question'],
      entry: ['test_info.0.function_name', 'test_entry_point'],
      reference: ['solution'],
      test_source: ['test', 'test_code'],
      difficulty: ['gpt_difficulty'],
    },
  },
  // newfacade/LeetCodeDataset
  leetcode: {
    recognises: [['task_id', 'entry_point', 'completion', 'test']],
    columns: {
      id: ['task_id'],
      description: ['problem_description', 'query', 'prompt'],
      signature: ['starter_code'],
      entry: ['entry_point'],
      preamble: ['prompt'],
      reference: ['completion'],
      test_source: ['test'],
      difficulty: ['difficulty'],
      tags: ['tags'],
    },
  },
  // ByteDance-Seed/Code-Contests-Plus, in one of the configurations 1x to 5x
  codecontestsplus: {
    recognises: [
      ['description', 'correct_submissions', 'test_cases'],
      ['description', 'correct_submissions', 'checker'],
    ],
    columns: {
      id: ['id'],
      title: ['title'],
      description: ['description'],
      reference: ['correct_submissions'],
      tests: ['test_cases'],
    },
  },
} satisfies Partial<Record<FormatName, { recognises: string[][]; columns: Columns } & Traits>>;

export const SETS = Object.fromEntries(
  Object.entries(TABLE).map(([name, { recognises, columns, ...traits }]) => [
    name,
    columnsFormat(name as FormatName, recognises, columns, traits),
  ]),
) as Record<keyof typeof TABLE, ProblemFormat>;
