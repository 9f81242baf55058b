// The schedule as a band above the curves, which have the same horizontal axis.
import type { Band, RunEvent } from '../../api.js';
import { stageName } from '../format.js';

/** The width of a phase is its number of updates; the finished part is filled. Lines mark requests, failures and alarms. */
export function Schedule({ bands, events }: { bands: readonly Band[]; events: readonly RunEvent[] }) {
  const [first, last] = [bands[0]?.start ?? 0, bands.at(-1)?.end ?? 0];
  const place = (from: number, to: number) => ({
    left: `${(100 * (from - first)) / (last - first)}%`,
    width: `${(100 * (to - from)) / (last - first)}%`,
  });
  const stages = [...new Set(bands.map(({ stage }) => stage))];
  return (
    <>
      <ol class="schedule" aria-label="Stages and their phases">
        {stages.map((stage) => {
          const own = bands.filter((band) => band.stage === stage);
          return (
            <li key={stage}>
              <span class="name" style={place(own[0]!.start, own.at(-1)!.end)}>
                {stageName(stage)}
              </span>
              <ol>
                {own.map(({ phase, start, end, done }) => (
                  <li
                    key={phase}
                    class="phase"
                    style={{ ...place(start, end), '--phase': `var(--${phase})` }}
                    title={`${stageName(stage)}, ${phase}: ${done} of ${end - start} updates`}
                  >
                    <span class="unseen">
                      {phase}: {done} of {end - start} updates
                    </span>
                    <span class="done" style={{ width: `${(100 * done) / (end - start)}%` }} />
                  </li>
                ))}
              </ol>
            </li>
          );
        })}
        {events
          .filter(({ step }) => step >= first && step <= last)
          .map(({ step, kind, at }, i) => (
            <li
              key={`${at} ${kind} ${i}`}
              class="mark-line"
              title={`${kind} after step ${step}`}
              style={{ left: place(step, step).left }}
            >
              <span class="unseen">
                {kind} after step {step}
              </span>
            </li>
          ))}
      </ol>
      <p class="muted key">
        {['warm-start', 'discriminator', 'generator', 'alternating']
          .filter((phase) => bands.some((band) => band.phase === phase))
          .map((phase) => (
            <span key={phase}>
              <span class="swatch" style={{ background: `var(--${phase})` }} /> {phase}
            </span>
          ))}
      </p>
    </>
  );
}
