// Small components that all pages use.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Loaded } from '../data.js';
import { percent, visible } from '../format.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';

/** Shows a resource when it is loaded, or says why it cannot be loaded. */
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

/** A link to the page of a resource. If a report leaves the resource out, only the text is shown. */
export function ResourceLink({ to, children }: { to: (string | number)[]; children: ComponentChildren }) {
  return source.has(resource(...to)) ? <a href={link(...to)}>{children}</a> : children;
}

const CLIP = 3000;

/** A text that may be very long, because a model or a problem set wrote it. */
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

export const clipped = (text: string): string => visible(text.length > 300 ? `${text.slice(0, 300)} …` : text);

/** A part of a page with a title. */
export const Card = ({ title, children }: { title: ComponentChildren; children: ComponentChildren }) => (
  <section class="card">
    <h2>{title}</h2>
    {children}
  </section>
);

/** A region that scrolls sideways on small screens, and says so. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const place = useRef<HTMLElement>(null);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const element = place.current!;
    const observer = new ResizeObserver(() => setCut(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <>
      {isCut && <p class="muted hint">More to the right: scroll sideways →</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section ref={place} class="scroll" tabIndex={0} aria-label={label}>
        {children}
      </section>
    </>
  );
}

/** A field that filters a list. */
export const Search = ({ label, text, onText }: { label: string; text: string; onText: (text: string) => void }) => (
  <label>
    {label} <input type="search" value={text} onInput={({ currentTarget }) => onText(currentTarget.value)} />
  </label>
);

type Value = string | number | undefined;
interface Sortable {
  value: Value;
  text: ComponentChildren;
}
type Cell = ComponentChildren | Sortable;

/** A cell of a sorted table: the value by which its row is sorted, and the text that it shows. */
export const by = (value: Value, text: ComponentChildren = value): Sortable => ({ value, text });

const isSortable = (cell: Cell): cell is Sortable => typeof cell === 'object' && cell !== null && 'value' in cell;

interface TableProps {
  label: string;
  head: readonly ComponentChildren[];
  numbers?: readonly number[]; // columns that are aligned to the right
  details?: readonly number[]; // columns that phones do not show
  sorted?: { column: number; descending: boolean }; // the first order; a click on a title changes it
  limit?: number; // the largest number of rows that are shown
  rows: readonly (readonly Cell[])[]; // the first cell of a row is its header
  empty?: string; // the text that is shown instead of a table without rows
}

export function Table({ label, head, numbers = [], details = [], sorted, limit, rows, empty }: TableProps) {
  const [order, setOrder] = useState(sorted);
  if (rows.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>;
  const classOf = (i: number): string =>
    `${numbers.includes(i) ? 'number' : ''} ${details.includes(i) ? 'detail' : ''}`;
  const sortBy = (column: number): void =>
    setOrder({ column, descending: order?.column === column ? !order.descending : numbers.includes(column) });
  const title = (text: ComponentChildren, i: number) =>
    order === undefined ? (
      text
    ) : (
      <button type="button" class="plain" onClick={() => sortBy(i)}>
        {text}
        <span aria-hidden="true">{order.column !== i ? '' : order.descending ? ' ▾' : ' ▴'}</span>
      </button>
    );
  const direction = (i: number) => (order?.column !== i ? 'none' : order.descending ? 'descending' : 'ascending');
  const shown = order === undefined ? rows : inOrder(rows, order.column, order.descending);
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {head.map((text, i) => (
              <th key={i} scope="col" class={classOf(i)} aria-sort={order && direction(i)}>
                {title(text, i)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, limit).map((cells, r) => (
            <tr key={r}>
              {cells.map((cell, i) => {
                const text = isSortable(cell) ? cell.text : cell;
                if (i === 0) return <th scope="row">{text}</th>;
                return <td class={classOf(i)}>{text}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Sorts the rows by a column. Rows without a value come last. */
function inOrder<T extends readonly Cell[]>(rows: readonly T[], column: number, descending: boolean): T[] {
  const keyOf = (row: T): Value => (isSortable(row[column]) ? row[column].value : undefined);
  return rows.toSorted((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    return (a < b ? -1 : Number(a > b)) * (descending ? -1 : 1);
  });
}

/** Contents that are built only when the user opens them for the first time. */
export function Details({ summary, children }: { summary: ComponentChildren; children: () => ComponentChildren }) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>{summary}</summary>
      {wasOpened && children()}
    </details>
  );
}

const [WIDTH, HEIGHT, FEW] = [96, 26, 6];

/** A small curve of rates from 0 to 1, without axes. Few values are drawn as points, because nothing lies between them. */
export function Spark({ title, values, colour }: { title: string; values: readonly number[]; colour: string }) {
  if (values.length === 0) return null;
  const at = (value: number, i: number) => ({
    x: 3 + (i / Math.max(1, values.length - 1)) * (WIDTH - 6),
    y: 3 + (1 - value) * (HEIGHT - 6),
  });
  const points = values.map(at);
  const label = `${title}: ${percent(values[0])} at first, ${percent(values.at(-1))} now`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      <line x1="0" x2={WIDTH} y1={HEIGHT - 2} y2={HEIGHT - 2} stroke="var(--line)" />
      {values.length >= FEW && (
        <polyline
          points={points.map(({ x, y }) => `${x},${y}`).join(' ')}
          fill="none"
          stroke={`var(--${colour})`}
          stroke-width="1.8"
        />
      )}
      {(values.length >= FEW ? points.slice(-1) : points).map(({ x, y }, i) => (
        <circle key={i} cx={x} cy={y} r="2.4" fill={`var(--${colour})`} />
      ))}
    </svg>
  );
}
