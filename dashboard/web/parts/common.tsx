// Small parts that all pages use.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Loaded } from '../data.js';
import { visible } from '../format.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';

/** Shows a resource when it is loaded, and says what is wrong if it cannot be. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  if (of.error !== undefined)
    return (
      <p class="problem" role="alert">
        {visible(of.error)}
      </p>
    );
  if (of.data === undefined)
    return (
      <p class="muted" aria-live="polite">
        Loading …
      </p>
    );
  return <>{children(of.data)}</>;
}

export function Crumbs({ children }: { children?: ComponentChildren }) {
  const hasRuns = source.has('runs');
  if (!hasRuns && children === undefined) return null;
  return (
    <nav class="crumbs" aria-label="Breadcrumbs">
      {hasRuns && <a href={link('runs')}>Runs</a>}
      {children}
    </nav>
  );
}

/** A link to the page of a resource; its text alone if a report leaves that out. */
export function ResourceLink({ to, children }: { to: (string | number)[]; children: ComponentChildren }) {
  return source.has(resource(...to)) ? <a href={link(...to)}>{children}</a> : children;
}

const CLIP = 3000;

/** Text of a model or a problem, which may be very long. */
export function LongText({ text, label }: { text: string; label?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > CLIP + 500;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="text" tabIndex={0} aria-label={label ?? 'Text'}>
        <pre>
          {visible(isLong && !isWhole ? text.slice(0, CLIP) : text)}
          {isLong && !isWhole && ' …'}
        </pre>
      </section>
      {isLong && (
        <button type="button" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
      )}
    </>
  );
}

/** A region that scrolls sideways on small screens. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** Contents that are built when they are opened for the first time. */
export function Details({ summary, children }: { summary: ComponentChildren; children: () => ComponentChildren }) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>{summary}</summary>
      {wasOpened && children()}
    </details>
  );
}

export function Tiles({ of }: { of: (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="tiles">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
