import { useState } from 'preact/hooks';
import { keyOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { shownAs } from '../../base/json.ts';
import { formatCount } from '../../base/shown-text.ts';
import { Badge, Empty, Failure, Loading, PageHead } from '../../parts/basics.tsx';
import { createHref, route, setQuery } from '../../state/route.ts';
import { may } from '../../state/session.ts';
import { BulkMenu } from './bulk-menu.tsx';
import { Filters } from './filters.tsx';
import { readView } from './list-view.ts';
import type { ListView } from './list-view.ts';
import { RowsTable } from './rows-table.tsx';
import type { Row } from './row-table.ts';
import { mostRows, useRows } from './use-rows.ts';
import type { Rows } from './use-rows.ts';

/** The live table of a kind. */
export function KindListPage({ resource }: { readonly resource: Resource }) {
  const view = readView(route.value.query);
  const rows = useRows(resource, view);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const visible = filterRows(rows, view.text);
  const chosen = rows.table.rows.filter(({ key, mark }) => selected.has(key) && mark !== 'gone');
  return (
    <div class="page page-full">
      <PageHead title={resource.kind}>
        <Status rows={rows} visible={visible.length} view={view} />
        <BulkMenu resource={resource} rows={chosen} onEnd={() => setSelected(new Set())} />
        {may('create', resource) && resource.verbs.includes('create') ? (
          <a class="button button-primary" href={createHref(keyOf(resource))}>
            Create
          </a>
        ) : null}
      </PageHead>
      <Filters resource={resource} view={view} columns={rows.columns} />
      <TextLimit rows={rows} view={view} />
      <Body resource={resource} rows={rows} visible={visible} {...{ view, selected, setSelected }} />
    </div>
  );
}

/** Returns the rows that have the text in their namespace, their name or a cell. */
function filterRows({ table }: Rows, text: string): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return table.rows;
  return table.rows.filter(
    ({ key, cells }) => key.includes(wanted) || cells.some((cell) => shownAs(cell).toLowerCase().includes(wanted)),
  );
}

interface StatusProps {
  readonly rows: Rows;
  readonly visible: number;
  readonly view: ListView;
}

/** Shows the number of objects, and whether the list is live. */
function Status({ rows, visible, view }: StatusProps) {
  const { table, state, isRelisted } = rows;
  const isFiltered = view.text.trim() !== '';
  return (
    <div class="list-status">
      {state.kind === 'refused' ? null : (
        <span>
          {isFiltered ? `${formatCount(visible)} of ` : ''}
          {formatCount(table.total)} {table.total === 1 ? 'object' : 'objects'}
        </span>
      )}
      {isRelisted ? (
        <span title="The list was read again, because the server no longer had all missed changes.">
          <Badge tone="quiet">read again</Badge>
        </span>
      ) : null}
      {state.kind === 'live' ? <Badge tone="good">live</Badge> : null}
      {state.kind === 'lost' ? <Badge tone="bad">reconnecting</Badge> : null}
    </div>
  );
}

/** Says which rows the text filter does not search. */
function TextLimit({ rows: { table }, view }: Pick<StatusProps, 'rows' | 'view'>) {
  if (view.text.trim() === '' || !table.isRead || table.isComplete) return null;
  return (
    <p class="filter-limit">
      The text is searched only in the {formatCount(table.rows.length)} loaded rows, not in all{' '}
      {formatCount(table.total)} objects. Filter by labels or by a field to search all.
    </p>
  );
}

interface BodyProps {
  readonly resource: Resource;
  readonly rows: Rows;
  readonly visible: readonly Row[];
  readonly view: ListView;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
}

function Body({ resource, rows, visible, view, selected, setSelected }: BodyProps) {
  const { state, table, failure } = rows;
  if (state.kind === 'refused')
    return (
      <>
        <Failure failure={state.failure} onRetry={rows.restart} />
        {state.failure.status === 403 && resource.isNamespaced && view.namespace === '' ? (
          <p class="hint">If your permission is for one namespace, write its name into the filter above.</p>
        ) : null}
      </>
    );
  if (rows.columns.length === 0) return <Loading />;
  const isEmpty = table.isRead && (table.isComplete ? visible : table.rows).length === 0;
  if (isEmpty && rows.offset === 0) return <Nothing resource={resource} view={view} />;
  return (
    <>
      {failure === undefined ? null : <Failure failure={failure} onRetry={rows.restart} />}
      {table.isRead ? (
        <RowsTable
          {...{ resource, visible, view, selected, setSelected }}
          columns={rows.columns}
          isComplete={table.isComplete}
          onEnd={rows.more}
        />
      ) : (
        <Loading />
      )}
      {table.rows.length >= mostRows || rows.offset > 0 ? <Parts rows={rows} /> : null}
    </>
  );
}

/** Buttons for the parts of a list that is too long for one page. */
function Parts({ rows }: { readonly rows: Rows }) {
  const { offset, table } = rows;
  return (
    <div class="parts">
      <span>
        {formatCount(offset + 1)} to {formatCount(offset + table.rows.length)} of {formatCount(table.total)}
      </span>
      <button type="button" class="button" disabled={offset === 0} onClick={rows.restart}>
        First part
      </button>
      <button type="button" class="button" disabled={offset + table.rows.length >= table.total} onClick={rows.nextPart}>
        Next part
      </button>
    </div>
  );
}

function Nothing({ resource, view }: { readonly resource: Resource; readonly view: ListView }) {
  const isFiltered = [view.labels, view.fields, view.namespace, view.text.trim()].some((each) => each !== '');
  if (isFiltered)
    return (
      <Empty title="Nothing matches the filters">
        <button type="button" class="button" onClick={() => setQuery({ ns: '', labels: '', fields: '', q: '' })}>
          Clear the filters
        </button>
      </Empty>
    );
  return (
    <Empty title={`There is no ${resource.kind} yet`}>
      {may('create', resource) && resource.verbs.includes('create') ? (
        <p>
          <a href={createHref(keyOf(resource))}>Create one</a>, or apply a file: <code>kubectl apply -f …</code>
        </p>
      ) : (
        <p>It appears here as soon as a user or a controller creates one.</p>
      )}
    </Empty>
  );
}
