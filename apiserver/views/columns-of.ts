import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventKind } from '../builtin/event-kinds.ts';
import { columnsOfEvents } from './event-columns.ts';
import { declaredColumns, defaultColumns, TableColumns } from './table-columns.ts';

/** Returns the columns of a model: Name and those that it declares, or Name and Age. Events have Kubernetes' columns. */
export function columnsOf(model: ModelDescriptor): TableColumns {
  const { group, kind, printerColumns } = model;
  if (group === eventKind.group && kind === eventKind.kind) return new TableColumns(columnsOfEvents);
  return declaredColumns(printerColumns.length === 0 ? defaultColumns : printerColumns);
}
