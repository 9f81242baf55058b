// Errors with a code. activities/failures.ts decides which of them Temporal retries.

/** By code: whether the error is retryable, and what the user should do. A test compares docs/errors.md with this table. */
export const ERROR_CODES = {
  BAD_CONFIG: { retryable: false, help: 'correct the field that the message names' },
  BAD_INPUT: { retryable: false, help: 'correct the file or argument that the message names' },
  BAD_MODEL: {
    retryable: false,
    help: 'provide a folder in Hugging Face layout (config.json, *.safetensors, tokenizer.json), or follow the message',
  },
  HUB_FAULT: {
    retryable: true,
    help: 'check the network and HF_ENDPOINT; it is retried, and continues a partial download',
  },
  BAD_ADAPTER: { retryable: false, help: 'provide an adapter of this model' },
  BAD_CHECKPOINT: { retryable: false, help: 'run `gauntlet store verify` and resume from another checkpoint' },
  CORRUPT_ARTIFACT: {
    retryable: false,
    help: '`gauntlet resume` recomputes it if its inputs are available; `gauntlet store verify` lists all damage',
  },
  RUN_EXISTS: { retryable: false, help: 'choose another run id, or resume with the same configuration' },
  RUN_FAILED: { retryable: false, help: 'start the run again with `gauntlet resume RUN`' },
  NOT_FOUND: { retryable: false, help: 'list what exists with `gauntlet status` or `gauntlet checkpoints list`' },
  SANDBOX_UNAVAILABLE: {
    retryable: false,
    help: 'start Docker, or use --sandbox wasm, which is not a security boundary',
  },
  SANDBOX_FAULT: {
    retryable: true,
    help: 'check the sandbox with `gauntlet doctor`; it is retried and never affects a reward',
  },
  ENVIRONMENT_CHANGED: {
    retryable: true,
    help: 'start a worker with the environment of the run, or accept the change as the message says; it is retried',
  },
  STORE_FAULT: { retryable: true, help: 'check the free space and permissions of the store, or its server' },
  ENGINE_FAULT: {
    retryable: true,
    help: 'check memory and device with `gauntlet doctor`; it is retried with a new session',
  },
  NO_PROGRESS: {
    retryable: true,
    help: 'a call hangs: its worker ends, so start it again; check device and disk, or raise GAUNTLET_HANG_SECONDS if it is only slow',
  },
  DEVICE_LOST: {
    retryable: true,
    help: 'CUDA failed: its worker ends, because later calls would fail, too; start it again, and check the driver',
  },
  ENDPOINT_FAULT: {
    retryable: true,
    help: 'the rollout server failed or answered wrongly; it is retried and never affects a reward; follow the message',
  },
  DEVICE_UNAVAILABLE: { retryable: false, help: 'use --device cpu, or install the component that the message names' },
  OUT_OF_MEMORY: {
    retryable: false,
    help: 'estimated before loading, or a GPU has no more: free memory, or quantize the base (engine.quantization)',
  },
  SERVER_UNAVAILABLE: { retryable: false, help: 'check TEMPORAL_ADDRESS, or unset it to use the embedded server' },
  PORT_TAKEN: { retryable: false, help: 'choose another port' },
} as const;
export type ErrorCode = keyof typeof ERROR_CODES;

/** The most characters of a message. A longer message is cut, because it must repeat the contents of a file. */
const MAX_MESSAGE = 4000;

/** `message` is one line. It names the field or file and, if possible, the solution. */
export class GauntletError extends Error {
  override readonly name = 'GauntletError';
  /** The digest of the missing or damaged artifact, if that is the cause. */
  readonly artifact?: string;
  constructor(
    readonly code: ErrorCode,
    message: string,
    options: { cause?: unknown; artifact?: string } = {},
  ) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message, options);
    if (options.artifact !== undefined) this.artifact = options.artifact;
  }
  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }
}
