// Reads requests for chat completions of OpenAI's API, and writes the answers. The program is the content, the
// stages before it are the reasoning, and everything that solving found out is in the field `gauntlet`.

import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { STAGE_SPECS } from '../core/prompts/stages.js';
import type { Problem } from '../core/schema/problem.js';
import { parseExactJson, parseJson } from '../data/exactJson.js';
import {
  defaultTemperature,
  type ProgramEvent,
  type SolveEvent,
  type SolveOptions,
  type StageEvent,
  type TestsEvent,
} from './solver.js';
import { taskOfMessage } from './tasks.js';

const MAX_SAMPLES = 16;
/** The next three constants limit characters, because reading text takes time on the event loop. */
const MAX_MESSAGE = 20_000;
const MAX_SIGNATURE = 2_000;
const MAX_TESTS = 20_000;

const isShort = (json: unknown): boolean => JSON.stringify(json).length <= MAX_TESTS;

const parts = z.array(z.object({ type: z.literal('text'), text: z.string() }));
const joined = parts.transform((texts) => texts.map(({ text }) => text).join('\n'));
const contentSchema = z.union([z.string(), joined], 'only text is supported').nullish();
const limit = z.int().positive().nullish();
const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  temperature: z.number().min(0).max(2).nullish(),
  seed: z.number().refine(Number.isInteger, 'must be an integer').nullish(), // may be negative, or have 64 bits
  n: z.literal(1, 'must be 1: gauntlet.samples sets how many programs to choose from').nullish(),
  gauntlet: z
    .strictObject({
      samples: z.int().min(1).max(MAX_SAMPLES).optional(),
      // the fields of a problem file
      function_signature: z.string().max(MAX_SIGNATURE).optional(),
      entry: z.string().max(MAX_SIGNATURE).optional(),
      baseline_tests: z.array(z.unknown()).refine(isShort, `must have at most ${MAX_TESTS} characters`).optional(),
      comparison: z.unknown().optional(),
      calling: z.unknown().optional(),
    })
    .nullish(),
});

/** The error for a request that cannot be answered, with the HTTP status and the fields of OpenAI's errors. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly details: { code?: string; param?: string; type?: string } = {},
  ) {
    super(message);
  }

  get body(): { error: object } {
    const usual = this.status < 500 ? 'invalid_request_error' : 'server_error';
    const { code = null, param = null, type = usual } = this.details;
    return { error: { message: this.message, type, param, code } };
  }
}

export interface CompletionRequest {
  stream: boolean;
  withUsage: boolean;
  task: Problem;
  options: Omit<SolveOptions, 'signal'>;
}

export const otherModel = (model: string): ApiError =>
  new ApiError(404, `model: '${model}' is served here`, { param: 'model', code: 'model_not_found' });

/** @param path the place of the value in the body of the request */
function checked<T>(schema: z.ZodType<T>, value: unknown, ...path: PropertyKey[]): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const param = [...path, ...issue.path].join('.');
  throw new ApiError(400, `${param || 'the body'}: ${issue.message}`, { param: param || undefined });
}

/** @param samples programs to choose from, unless the request says how many. @throws ApiError */
export function parseRequest(text: string, model: string, samples: number): CompletionRequest {
  const { messages, gauntlet, ...request } = checked(requestSchema, jsonOf(text));
  const isFolder = /^[./~]/.test(model) && request.model === basename(model);
  if (request.model !== model && !isFolder) throw otherModel(model);
  const { samples: count = samples, ...fields } = gauntlet ?? {};
  return {
    stream: request.stream ?? false,
    withUsage: request.stream_options?.include_usage ?? false,
    task: readTask(messages, fields, () => (parseExactJson(text) as { gauntlet: unknown }).gauntlet),
    options: {
      samples: count,
      temperature: request.temperature ?? defaultTemperature(count),
      seed: request.seed ?? undefined,
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
      trustBaseline: true,
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new ApiError(400, 'the body is not JSON, or nested too deep');
  }
}

/** Reads the problem from the user's last message. Earlier messages are ignored. */
function readTask(messages: z.output<typeof requestSchema>['messages'], fields: object, exact: () => unknown): Problem {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const message = checked(contentSchema, messages[last]?.content, 'messages', last, 'content') ?? '';
  const refuse = (what: string): never => {
    throw new ApiError(400, `messages: the last message of the user ${what}`, { param: 'messages' });
  };
  if (message.trim() === '') refuse('must be a problem in plain English');
  if (message.length > MAX_MESSAGE) refuse(`must have at most ${MAX_MESSAGE} characters`);
  try {
    return taskOfMessage(message, fields, exact);
  } catch (error) {
    if (error instanceof GauntletError) throw new ApiError(400, `gauntlet: ${error.message}`, { param: 'gauntlet' });
    throw error;
  }
}

/** Collects the events of one problem, and writes them as one answer or as chunks. */
export class Completion {
  private readonly id = `chatcmpl-${randomUUID()}`;
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly stages: StageEvent[] = [];
  private readonly programs: ProgramEvent[] = [];
  private tests: TestsEvent | undefined;
  private isStarted = false; // whether the stream has begun

  constructor(
    private readonly model: string,
    private readonly request: CompletionRequest,
  ) {}

  /** Adds an event. @returns the chunk that tells a streaming client about the event */
  add(event: SolveEvent): object {
    if (event.event === 'stage') this.stages.push(event);
    else if (event.event === 'tests') this.tests = event;
    else this.programs.push(event);
    // the reasoning of several samples waits until one is selected
    const isReasoning = event.event === 'stage' && event.stage !== 5 && this.request.options.samples === 1;
    return { ...this.chunk(isReasoning ? { reasoning_content: reasoning(event) } : {}), gauntlet: event };
  }

  /** The last chunks of a stream. */
  end(): object[] {
    const { content, reasoning_content } = this.message;
    const isKnown = this.request.options.samples === 1;
    return [
      this.chunk({ ...(!isKnown && { reasoning_content }), content }),
      this.chunk({}, this.finishReason),
      ...(this.request.withUsage ? [{ ...this.head('chat.completion.chunk'), choices: [], usage: this.usage }] : []),
    ];
  }

  whole(): object {
    const { stages, programs, tests } = this;
    const choice = { index: 0, message: this.message, logprobs: null, finish_reason: this.finishReason };
    const { code } = this.selected;
    return {
      ...this.head('chat.completion'),
      choices: [choice],
      usage: this.usage,
      gauntlet: { code, stages, tests: tests?.tests ?? [], programs },
    };
  }

  private get selected(): ProgramEvent {
    return this.programs.find(({ selected }) => selected)!;
  }

  private get chain(): StageEvent[] {
    return this.stages.filter(({ sample }) => sample === this.selected.sample);
  }

  private get message() {
    const thoughts = this.chain.filter(({ stage }) => stage !== 5).map(reasoning);
    return { role: 'assistant', content: block(this.selected.code), reasoning_content: thoughts.join('') };
  }

  /** 'length' if a limit cut the program, or kept the model from writing one. */
  private get finishReason(): 'stop' | 'length' {
    const last = this.chain.at(-1)!;
    return last.stage === 5 && !last.truncated ? 'stop' : 'length';
  }

  private get usage(): object {
    const sum = (count: (event: StageEvent) => number): number => this.stages.reduce((n, event) => n + count(event), 0);
    const prompt_tokens = sum(({ promptTokens }) => promptTokens);
    const completion_tokens = sum(({ tokens }) => tokens) + (this.tests?.tokens ?? 0);
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  }

  private head(object: string): object {
    return { id: this.id, object, created: this.created, model: this.model };
  }

  private chunk(delta: object, finish_reason: string | null = null): object {
    const first = this.isStarted ? {} : { role: 'assistant' };
    this.isStarted = true;
    const choice = { index: 0, delta: { ...first, ...delta }, finish_reason };
    return { ...this.head('chat.completion.chunk'), choices: [choice] };
  }
}

const reasoning = ({ stage, text }: StageEvent): string => `## ${STAGE_SPECS[stage].title}\n\n${text.trim()}\n\n`;

/** A code block, with a fence that is longer than any in the program; '' without a program. */
function block(code: string): string {
  if (code === '') return '';
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}python\n${code}\n${fence}`;
}
