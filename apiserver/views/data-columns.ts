import { countFieldsAt } from './json-value-at.ts';
import { metadataPaths } from './table-columns.ts';
import type { Column, ColumnDefinition } from './table-columns.ts';

/**
 * The fields of a Secret or a ConfigMap that the columns read. A read does not validate the stored object, so any field
 * may have a wrong type.
 */
interface DataFields {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly type?: string;
  readonly data?: object | null;
  readonly binaryData?: object | null;
}

interface DataColumn extends Pick<Column, 'paths' | 'readJson'> {
  readonly name: string;
  readonly description: string;
  readonly type?: ColumnDefinition['type'];
  readonly format?: string;
  readonly read: (object: DataFields) => unknown;
}

const name: DataColumn = {
  name: 'Name',
  format: 'name',
  description: 'Unique within the namespace.',
  read: ({ metadata }) => metadata?.name ?? '',
  paths: [metadataPaths.name],
};
const count: DataColumn = {
  name: 'Data',
  type: 'integer',
  description: 'The number of values in the Secret or ConfigMap.',
  read: ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
  readJson: (json) => countFieldsAt(json, ['data']) + countFieldsAt(json, ['binaryData']),
};
const age: DataColumn = {
  name: 'Age',
  type: 'date',
  description: 'Time since the creation.',
  read: ({ metadata }) => metadata?.creationTimestamp,
  paths: [metadataPaths.creationTimestamp],
};
const secretType: DataColumn = {
  name: 'Type',
  description: 'The purpose of the values.',
  read: ({ type }) => type,
  paths: [['type']],
};

/** The columns that Kubernetes shows for Secrets. */
export const columnsOfSecrets: readonly Column[] = [name, secretType, count, age].map(columnOf);

/** The columns that Kubernetes shows for ConfigMaps. */
export const columnsOfConfigMaps: readonly Column[] = [name, count, age].map(columnOf);

function columnOf({ type = 'string', format = '', read, paths, readJson, ...rest }: DataColumn): Column {
  const ways = { ...(paths === undefined ? {} : { paths }), ...(readJson === undefined ? {} : { readJson }) };
  return { definition: { ...rest, type, format, priority: 0 }, read: (object) => read(object), ...ways };
}
