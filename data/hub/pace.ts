// Ends a transfer that goes on, but so slowly that it would never finish.

/** The least that a server must send. Tests shorten the time. */
export const PACE = { bytes: 256 * 1024, ms: 60_000 };

export interface Pace {
  signal: AbortSignal; // aborts the request
  count(bytes: number): void;
  end(): void;
}

/** Watches a request from now on. Its error is one of the network, so the transfer is continued some times. */
export function watchPace(): Pace {
  const slow = new AbortController();
  const cause = { code: `it sends less than ${PACE.bytes / 1024} KiB in ${PACE.ms / 1000} s` };
  let received = 0;
  const timer = setInterval(() => {
    if (received < PACE.bytes) slow.abort(new TypeError('terminated', { cause }));
    received = 0;
  }, PACE.ms);
  return {
    signal: slow.signal,
    count: (bytes) => {
      received += bytes;
    },
    end: () => clearInterval(timer),
  };
}
