import { readFileSync } from 'node:fs';
import type { PrinterColumn } from '@homeostat/controller-runtime/api';
import { checkDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { personDescriptor } from '../index/person.fixture.ts';
import { cellOf, declaredColumns } from './table-columns.ts';
import type { TableColumns } from './table-columns.ts';
import { TableView } from './table-view.ts';

type Type = PrinterColumn['type'];

function load<T>(name: string): readonly T[] {
  const file = new URL(`../../../test/vectors/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly T[] }).cases;
}

interface CellCase {
  readonly columnType: string;
  readonly value: unknown;
  readonly cell: unknown;
}

describe('table-cells.json: cells as in the real server', () => {
  // The time at which the cases were recorded.
  const nowMs = Date.parse('2026-11-21T06:30:23Z');
  // The cases in table-cells.json are the results of a function of Kubernetes. For these two values in a column of type
  // string, the function returns empty cells. But kube-apiserver calls the function only for columns of other types: in
  // a column of type string, kube-apiserver prints the value (a list as JSON), as the cases in table-convert.json show.
  // This server does the same.
  const printed: readonly unknown[] = [42, 3.14];

  const cases = load<CellCase>('table-cells');
  const known = cases.filter(({ columnType }) => columnType !== 'unknown');

  it('has cases for each of the five column types', () => {
    expect(new Set(known.map(({ columnType }) => columnType)).size).to.equal(5);
  });

  for (const { columnType, value, cell } of known) {
    const differs = columnType === 'string' && printed.includes(value);
    const expected = differs ? String(value) : cell;
    it(`shows ${JSON.stringify(value)} in a column of type ${columnType} as ${JSON.stringify(expected)}`, () => {
      expect(cellOf(columnType as Type, value, nowMs)).to.equal(expected);
      if (differs) expect(expected).not.to.equal(cell);
    });
  }

  it('the other cases have the column type `unknown`; a model that declares this type is refused', () => {
    const unknown = cases.filter(({ columnType }) => columnType === 'unknown');
    expect(unknown).not.to.have.length(0);
    for (const { columnType } of unknown) {
      const printerColumns = [{ name: 'Age', type: columnType as Type, jsonPath: '.spec.age' }];
      expect(() =>
        checkDescriptor({ ...personDescriptor(), printerColumns }, { serviceDomain: 'x.internal' }),
      ).to.throw('must be one of integer');
    }
  });
});

interface ConvertCase {
  readonly name: string;
  readonly args: { readonly obj: Record<string, unknown>; readonly tableOptions?: { readonly NoHeaders?: boolean } };
  readonly fields: {
    readonly headers: readonly { readonly Name: string; readonly Type: Type }[];
    readonly additionalColumns?: readonly { readonly name: string; readonly parser: { readonly input: string } }[];
  };
  readonly want: {
    readonly ColumnDefinitions?: readonly { readonly Name: string; readonly Type: string }[];
    readonly Rows: readonly { readonly Cells: readonly unknown[]; readonly Object: unknown }[];
  };
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly type: string }[] | null;
  readonly rows: readonly unknown[];
}

/** Returns the JSON of a recorded object. Some objects were recorded as JSON, others as the fields of a Go struct. */
function bytesOf(object: Record<string, unknown>): Buffer {
  const meta = object['ObjectMeta'] as Record<string, unknown> | undefined;
  if (meta === undefined) return Buffer.from(JSON.stringify(object));
  const metadata = { name: meta['Name'], creationTimestamp: meta['CreationTimestamp'] };
  return Buffer.from(JSON.stringify({ metadata }));
}

function columnsOf({ headers, additionalColumns = [] }: ConvertCase['fields']): TableColumns {
  return declaredColumns(
    additionalColumns.map(({ name, parser }) => {
      const type = headers.find((header) => header.Name === name)?.Type ?? 'string';
      return { name, type, jsonPath: parser.input.slice(1, -1) };
    }),
  );
}

function tableOf({ args, fields }: ConvertCase): Table {
  const view = new TableView({ columns: columnsOf(fields), version: 'v1', includeObject: 'Object', now: () => 0 });
  const items = args.obj['Items'] as readonly Record<string, unknown>[] | undefined;
  if (items !== undefined) {
    const { head, field, itemOf } = view.ofList({ apiVersion: 'v1', kind: 'List', metadata: {} });
    const made = items.map((item): unknown => JSON.parse(itemOf(bytesOf(item)).toString()));
    return { ...head, [field]: made } as unknown as Table;
  }
  const show = view.ofEvents();
  // With NoHeaders, the recorded table has no columns. In a watch, only the table of the first event has columns. So
  // the test compares the table of a second event.
  if (args.tableOptions?.NoHeaders === true) show(bytesOf(args.obj));
  return JSON.parse(show(bytesOf(args.obj)).toString()) as Table;
}

describe('table-convert.json: tables as in the real server', () => {
  for (const vector of load<ConvertCase>('table-convert')) {
    it(vector.name, () => {
      const { columnDefinitions, rows } = tableOf(vector);
      const { ColumnDefinitions, Rows } = vector.want;
      const shown = columnDefinitions?.map((column) => ({
        // In the recorded cases, the column of names is called `name`. This server calls it `Name`, as real servers do
        // in their responses.
        Name: column.name === 'Name' ? 'name' : column.name,
        Type: column.type,
      }));
      expect(shown ?? undefined).to.deep.equal(ColumnDefinitions);
      expect(rows).to.deep.equal(Rows.map(({ Cells, Object: object }) => ({ cells: Cells, object })));
    });
  }
});
