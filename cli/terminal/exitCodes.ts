// Exit codes of the command line. docs/errors.md lists the same tables; a test compares them.
import type { ErrorCode } from '../../core/base/errors.js';

export const EXIT = { ok: 0, failed: 1, usage: 2, unavailable: 3, interrupted: 130 } as const;

/** A failed run exits with `EXIT.failed`, whatever the code of its error. */
export const EXIT_CODES: Readonly<Record<ErrorCode, number>> = {
  BAD_CONFIG: EXIT.usage,
  BAD_INPUT: EXIT.usage,
  BAD_MODEL: EXIT.usage,
  HUB_FAULT: EXIT.unavailable,
  BAD_ADAPTER: EXIT.usage,
  BAD_CHECKPOINT: EXIT.failed,
  CORRUPT_ARTIFACT: EXIT.failed,
  RUN_EXISTS: EXIT.usage,
  RUN_FAILED: EXIT.failed,
  NOT_FOUND: EXIT.usage,
  SANDBOX_UNAVAILABLE: EXIT.unavailable,
  SANDBOX_FAULT: EXIT.unavailable,
  ENVIRONMENT_CHANGED: EXIT.unavailable,
  STORE_FAULT: EXIT.unavailable,
  ENGINE_FAULT: EXIT.unavailable,
  NO_PROGRESS: EXIT.unavailable,
  DEVICE_LOST: EXIT.unavailable,
  ENDPOINT_FAULT: EXIT.unavailable,
  DEVICE_UNAVAILABLE: EXIT.unavailable,
  OUT_OF_MEMORY: EXIT.unavailable,
  SERVER_UNAVAILABLE: EXIT.unavailable,
  PORT_TAKEN: EXIT.unavailable,
};
