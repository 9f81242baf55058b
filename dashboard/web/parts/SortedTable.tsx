// A table that is sorted by the column whose title is clicked; again reverses the order.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Scroll } from './common.js';

export interface Column<T> {
  title: string;
  value: (row: T) => string | number | undefined; // to sort by; rows without one come last
  text: (row: T) => ComponentChildren;
  numeric?: true; // starts with the greatest
  detail?: true; // not shown on phones
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[]; // the first one names the row
  rows: readonly T[];
  id: (row: T) => string;
  sortedBy: number; // index of the column at first, in its own direction
  limit?: number; // rows that are shown
  before?: { title: string; cell: (row: T) => ComponentChildren }; // a column of controls
}

export function SortedTable<T>({ label, columns, rows, id, sortedBy, limit, before }: Props<T>) {
  const [order, setOrder] = useState({ column: sortedBy, descending: columns[sortedBy]!.numeric === true });
  const sortBy = (column: number): void =>
    setOrder({ column, descending: order.column === column ? !order.descending : columns[column]!.numeric === true });
  const cellsOf = (row: T) =>
    columns.map(({ title, text, ...kind }, i) =>
      i === 0 ? (
        <th key={title} scope="row">
          {text(row)}
        </th>
      ) : (
        <td key={title} class={classOf(kind)}>
          {text(row)}
        </td>
      ),
    );
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {before && (
              <th scope="col">
                <span class="unseen">{before.title}</span>
              </th>
            )}
            {columns.map(({ title, ...kind }, i) => (
              <th
                key={title}
                scope="col"
                class={classOf(kind)}
                aria-sort={order.column !== i ? 'none' : order.descending ? 'descending' : 'ascending'}
              >
                <button type="button" class="plain" onClick={() => sortBy(i)}>
                  {title}
                  <span aria-hidden="true">{order.column !== i ? '' : order.descending ? ' ▾' : ' ▴'}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, columns[order.column]!, order.descending)
            .slice(0, limit)
            .map((row) => (
              <tr key={id(row)}>
                {before && <td>{before.cell(row)}</td>}
                {cellsOf(row)}
              </tr>
            ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const classOf = ({ numeric, detail }: { numeric?: true; detail?: true }): string =>
  [numeric && 'number', detail && 'detail'].filter(Boolean).join(' ');

function sorted<T>(rows: readonly T[], { value }: Column<T>, descending: boolean): T[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    return a < b ? -sign : a > b ? sign : 0;
  });
}
