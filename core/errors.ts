// Coded errors, typed once at the boundary they cross. One place (activities/) decides what Temporal may retry.

/** code → [retryable, what a person should do]. docs/errors.md is compared with this table by a test. */
export const ERROR_CODES = {
  BAD_CONFIG: { retryable: false, help: 'correct the field that the message names' },
  BAD_INPUT: { retryable: false, help: 'correct the file or argument that the message names' },
  BAD_MODEL: {
    retryable: false,
    help: 'give a folder in Hugging Face layout (config.json, *.safetensors, tokenizer.json)',
  },
  BAD_ADAPTER: { retryable: false, help: 'give an adapter made for this model' },
  BAD_CHECKPOINT: { retryable: false, help: 'run `gauntlet store verify` and resume from another checkpoint' },
  CORRUPT_ARTIFACT: {
    retryable: false,
    help: '`gauntlet resume` computes it again where its inputs are there; `gauntlet store verify` lists all damage',
  },
  RUN_EXISTS: { retryable: false, help: 'choose another run id, or resume with the same configuration' },
  RUN_FAILED: { retryable: false, help: 'start the run again with `gauntlet resume RUN`' },
  NOT_FOUND: { retryable: false, help: 'list what exists with `gauntlet status` or `gauntlet checkpoints list`' },
  SANDBOX_UNAVAILABLE: { retryable: false, help: 'start Docker, or use --sandbox wasm' },
  SANDBOX_FAULT: { retryable: true, help: 'an infrastructure fault of the sandbox; retried, never a reward' },
  STORE_FAULT: { retryable: true, help: 'check free space and permissions of the store' },
  ENGINE_FAULT: { retryable: true, help: 'a model session failed; retried on a fresh one' },
  DEVICE_UNAVAILABLE: { retryable: false, help: 'use --device cpu, or install what the message names' },
  OUT_OF_MEMORY: {
    retryable: false,
    help: 'foreseen before anything was loaded: free memory, quantise the base (--quantize int4), or insist (--force)',
  },
  SERVER_UNAVAILABLE: { retryable: false, help: 'check TEMPORAL_ADDRESS, or unset it to use the embedded server' },
  PORT_TAKEN: { retryable: false, help: 'choose another port' },
} as const;
export type ErrorCode = keyof typeof ERROR_CODES;

/** One clear line in `message`: it names the field or file and, where it helps, the way out. */
export class GauntletError extends Error {
  override readonly name = 'GauntletError';
  /** The digest of the artifact that is missing or was damaged, where that is what went wrong. */
  readonly artifact?: string;
  constructor(
    readonly code: ErrorCode,
    message: string,
    options: { cause?: unknown; artifact?: string } = {},
  ) {
    super(message, options);
    if (options.artifact !== undefined) this.artifact = options.artifact;
  }
  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }
}

export function assertNever(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
