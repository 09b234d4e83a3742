import { useEffect, useRef, useState } from 'preact/hooks';
import { keyOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import type { Json } from '../../base/json.ts';
import { shortText } from '../../base/shown-text.ts';
import { Age } from '../../parts/basics.tsx';
import { useRowWindow } from '../../parts/virtual-rows.ts';
import { go, objectHref, setQuery } from '../../state/route.ts';
import { formatOrder } from './list-view.ts';
import type { ListView } from './list-view.ts';
import type { Column, Row } from './row-table.ts';

/** The height of a row in rows.css, in pixels. */
const rowHeight = 34;

interface Props {
  readonly resource: Resource;
  readonly visible: readonly Row[];
  readonly columns: readonly Column[];
  readonly view: ListView;
  readonly isComplete: boolean;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
  /** Called when the visible rows are near the end of the loaded rows. */
  readonly onEnd: () => void;
}

/** True for a column that is shown. */
export function isShown({ name, priority }: Column, { hidden, shown }: ListView): boolean {
  return priority > 0 ? shown.has(name) : !hidden.has(name);
}

/** A table of a list of any length, which renders only the visible rows. */
export function RowsTable(props: Props) {
  const { visible, columns, view, resource, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const { start, end, before, after } = useRowWindow(scroller, visible.length, rowHeight);
  useEffect(() => {
    if (end > visible.length - 100) onEnd();
  }, [end, visible.length]);
  const shown = columns.map((column, index) => ({ column, index })).filter(({ column }) => isShown(column, view));
  const span = shown.length + (resource.isNamespaced ? 2 : 1);
  const select = useSelection(props);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(visible.length - 1, to));
    setActive(next);
    scrollTo(scroller.current, next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== scroller.current) return;
    const step = steps[event.key];
    const row = visible[active];
    if (step !== undefined) move(active + step);
    else if (event.key === 'Enter' && row !== undefined) go(hrefOfRow(resource, row));
    else if (event.key === ' ' && row !== undefined) select(active, event.shiftKey);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="rows"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label={`${resource.kind} list`}
      onKeyDown={onKeyDown}
    >
      <table aria-rowcount={visible.length + 1}>
        <Head {...props} shown={shown.map(({ column }) => column)} />
        <tbody>
          <Spacer height={before} span={span} />
          {visible.slice(start, end).map((row, position) => (
            <RowView
              key={row.key}
              row={row}
              position={start + position}
              isActive={start + position === active}
              isSelected={props.selected.has(row.key)}
              cells={shown.map(({ column, index }) => ({ column, cell: row.cells[index] }))}
              resource={resource}
              onSelect={select}
            />
          ))}
          <Spacer height={after} span={span} />
        </tbody>
      </table>
    </div>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 20, PageUp: -20 };

const hrefOfRow = (resource: Resource, row: Row): string => objectHref(keyOf(resource), row.namespace, row.name);

function scrollTo(element: HTMLElement | null, index: number): void {
  if (element === null) return;
  const top = index * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + 3 * rowHeight > element.scrollTop + element.clientHeight)
    element.scrollTop = top + 3 * rowHeight - element.clientHeight;
}

/**
 * Returns a function that selects a row, or unselects a selected row. With `isRange` (Shift), all rows from the row of
 * the previous call to this row become selected or unselected like this row.
 */
function useSelection({ visible, selected, setSelected }: Props): (index: number, isRange: boolean) => void {
  const last = useRef(0);
  return (index, isRange) => {
    const changed = new Set(selected);
    const from = isRange ? Math.min(last.current, index) : index;
    const to = isRange ? Math.max(last.current, index) : index;
    const isOn = !selected.has(visible[index]?.key ?? '');
    for (const { key } of visible.slice(from, to + 1)) {
      if (isOn) changed.add(key);
      else changed.delete(key);
    }
    last.current = index;
    setSelected(changed);
  };
}

/**
 * A table row that takes the space of rows that are not rendered. If it spanned more columns than the head has, the
 * browser would make all columns narrow.
 */
function Spacer({ height, span }: { readonly height: number; readonly span: number }) {
  return height === 0 ? null : (
    <tr aria-hidden="true" class="spacer">
      <td style={{ height: `${height}px` }} colSpan={span} />
    </tr>
  );
}

function Head({
  shown,
  view,
  visible,
  selected,
  setSelected,
  isComplete,
  resource,
}: Props & { readonly shown: readonly Column[] }) {
  const isAll = visible.length > 0 && visible.every(({ key }) => selected.has(key));
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th class="cell-select">
          <input
            type="checkbox"
            aria-label="Select all loaded rows"
            checked={isAll}
            onChange={() => setSelected(new Set(isAll ? [] : visible.map(({ key }) => key)))}
          />
        </th>
        {resource.isNamespaced ? <th class="cell-namespace">Namespace</th> : null}
        {shown.map((column) => (
          <ColumnHead key={column.name} column={column} view={view} isComplete={isComplete} />
        ))}
      </tr>
    </thead>
  );
}

/**
 * True for the column of the object's age. Its type is checked as well, because a kind may have its own column "Age".
 */
const isAge = ({ name, type }: Column): boolean => name === 'Age' && type === 'date';

/** The indexed field by which the server sorts a column; undefined when only the browser can sort the column. */
function serverFieldOf(column: Column): string | undefined {
  if (column.name === 'Name') return 'metadata.name';
  return isAge(column) ? 'metadata.creationTimestamp' : undefined;
}

function ColumnHead({
  column,
  view,
  isComplete,
}: {
  readonly column: Column;
  readonly view: ListView;
  readonly isComplete: boolean;
}) {
  const field = serverFieldOf(column) ?? `column:${column.name}`;
  const isOrder = view.order.field === field;
  const canSort = isComplete || !field.startsWith('column:');
  const next = { field, isDescending: isOrder && !view.order.isDescending };
  const direction = view.order.isDescending ? 'descending' : 'ascending';
  return (
    <th
      class={column.name === 'Name' ? 'cell-name' : ''}
      aria-sort={isOrder ? direction : undefined}
      title={column.description}
    >
      {canSort ? (
        <button type="button" class="column-button" onClick={() => setQuery({ sort: formatOrder(next) })}>
          {column.name}
          <span aria-hidden="true">{isOrder ? (view.order.isDescending ? ' ↓' : ' ↑') : ''}</span>
        </button>
      ) : (
        <span title="Not all rows are loaded, so this column cannot sort them. Under Sort by, choose an indexed field.">
          {column.name}
        </span>
      )}
    </th>
  );
}

interface RowProps {
  readonly row: Row;
  readonly position: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly cells: readonly { readonly column: Column; readonly cell: Json | undefined }[];
  readonly resource: Resource;
  readonly onSelect: (index: number, isRange: boolean) => void;
}

function RowView({ row, position, isActive, isSelected, cells, resource, onSelect }: RowProps) {
  const classes = [
    row.mark === undefined ? '' : `row-${row.mark}`,
    isActive ? 'row-active' : '',
    row.isDeleting ? 'row-deleting' : '',
  ];
  return (
    <tr class={classes.join(' ')} aria-rowindex={position + 2} aria-selected={isSelected}>
      <td class="cell-select">
        <input
          type="checkbox"
          aria-label={`Select ${row.name}`}
          checked={isSelected}
          onClick={(event) => onSelect(position, event.shiftKey)}
        />
      </td>
      {resource.isNamespaced ? <td>{row.namespace}</td> : null}
      {cells.map(({ column, cell }) => (
        <td key={column.name}>
          {column.name === 'Name' ? (
            <a href={hrefOfRow(resource, row)} tabIndex={-1}>
              {row.name}
            </a>
          ) : (
            <Cell column={column} cell={cell} row={row} />
          )}
        </td>
      ))}
    </tr>
  );
}

function Cell({ column, cell, row }: { readonly column: Column; readonly cell: Json | undefined; readonly row: Row }) {
  // The text from the server is the age at the time of the list, so the present age is computed here.
  if (isAge(column) && row.created !== '') return <Age time={row.created} />;
  if (cell === null || cell === undefined || cell === '') return <span class="muted">–</span>;
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell);
  return <bdi title={text.length > 40 ? shortText(text, 1000) : undefined}>{shortText(text, 160)}</bdi>;
}
