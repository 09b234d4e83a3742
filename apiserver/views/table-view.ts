import { jsonValueAt } from './json-value-at.ts';
import { formatMetadata } from './metadata-view.ts';
import type { ListEnvelope, ListView, MetaVersion, ObjectView } from './object-view.ts';
import { parseRow } from './table-columns.ts';
import type { TableColumns } from './table-columns.ts';

/** The form of the object that a row has in addition to its cells. The default is Metadata. */
export const includedObjects = ['Metadata', 'Object', 'None'] as const;

export type IncludedObject = (typeof includedObjects)[number];

export interface TableViewParts {
  readonly columns: TableColumns;
  readonly version: MetaVersion;
  readonly includeObject: IncludedObject;
  /** Returns the time of the wall clock in milliseconds since 1970. Ages are computed from it. */
  readonly now: () => number;
}

/**
 * The maximum size of an object that is parsed completely. In a larger object, only the fields that the columns show
 * are parsed, because parsing takes 17 ms for each MB.
 */
const parsedWhole = 64 * 1024;

/** The view Table: it has a row for each object, with a cell for each column of the model. */
export class TableView implements ObjectView {
  readonly #parts: TableViewParts;

  constructor(parts: TableViewParts) {
    this.#parts = parts;
  }

  ofObject(object: Buffer): Buffer {
    return this.#one(object, true);
  }

  ofList(envelope: ListEnvelope): ListView {
    return {
      head: this.#head(envelope, true),
      field: 'rows',
      itemOf: (object) => Buffer.from(this.#row(object).text),
    };
  }

  /** Returns a function that makes a Table of each object. Only the first Table declares the columns. */
  ofEvents(): (object: Buffer) => Buffer {
    let isFirst = true;
    return (object) => {
      const table = this.#one(object, isFirst);
      isFirst = false;
      return table;
    };
  }

  #one(object: Buffer, hasColumns: boolean): Buffer {
    const { text, resourceVersion } = this.#row(object);
    const head = this.#head({ metadata: { resourceVersion } }, hasColumns);
    return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"rows":[${text}]}`);
  }

  #head(envelope: object, hasColumns: boolean): object {
    const { version, columns } = this.#parts;
    const columnDefinitions = hasColumns ? columns.definitions : null;
    return { ...envelope, kind: 'Table', apiVersion: `meta.k8s.io/${version}`, columnDefinitions };
  }

  #row(bytes: Buffer): { readonly text: string; readonly resourceVersion: string | undefined } {
    const { columns, now } = this.#parts;
    const object = bytes.length > parsedWhole ? undefined : parseRow(bytes);
    const cells = object === undefined ? columns.cellsOfJson(bytes, now()) : columns.cellsOf(object, now());
    const text = `{"cells":${JSON.stringify(cells)},"object":${this.#included(bytes)}}`;
    const { metadata } = object ?? { metadata: { resourceVersion: revisionOf(bytes) } };
    return { text, resourceVersion: metadata.resourceVersion };
  }

  #included(bytes: Buffer): string {
    const { includeObject, version } = this.#parts;
    switch (includeObject) {
      case 'Metadata':
        return formatMetadata(version, bytes).toString('utf8');
      case 'Object':
        return bytes.toString('utf8');
      case 'None':
        return 'null';
    }
  }
}

/** Returns the resourceVersion from the JSON of an object. It consists of digits, so the string has no escapes. */
function revisionOf(bytes: Buffer): string | undefined {
  return jsonValueAt(bytes, ['metadata', 'resourceVersion'])?.toString('latin1').slice(1, -1);
}
