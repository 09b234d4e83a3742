import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { configMapKind } from '../builtin/config-map-kind.ts';
import { eventKind } from '../builtin/event-kinds.ts';
import { secretKind } from '../builtin/secret-kind.ts';
import { columnsOfConfigMaps, columnsOfSecrets } from './data-columns.ts';
import { columnsOfEvents } from './event-columns.ts';
import { policyColumns } from './policy-columns.ts';
import { rbacColumns } from './rbac-columns.ts';
import { webhookColumns } from './webhook-columns.ts';
import { declaredColumns, defaultColumns, TableColumns } from './table-columns.ts';

/** The columns of Events, Secrets and ConfigMaps. */
const columnsOfBuiltins = [
  { model: eventKind, columns: columnsOfEvents },
  { model: secretKind, columns: columnsOfSecrets },
  { model: configMapKind, columns: columnsOfConfigMaps },
] as const;

/**
 * Returns the columns of a model: Name and the columns that the model declares, or Name and Age when it declares none.
 * Built-in kinds have the same columns as in Kubernetes.
 */
export function columnsOf(model: ModelDescriptor): TableColumns {
  const { group, kind, printerColumns } = model;
  const builtin = columnsOfBuiltins.find((each) => group === each.model.group && kind === each.model.kind);
  if (builtin !== undefined) return new TableColumns(builtin.columns);
  const own = rbacColumns(model) ?? webhookColumns(model) ?? policyColumns(model);
  if (own !== undefined) return new TableColumns(own);
  return declaredColumns(printerColumns.length === 0 ? defaultColumns : printerColumns);
}
