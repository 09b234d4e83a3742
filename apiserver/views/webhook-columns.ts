import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { mutatingWebhookKind, validatingWebhookKind } from '../builtin/webhook-kinds.ts';
import { metadataPaths } from './table-columns.ts';
import type { Column } from './table-columns.ts';

/** The fields that the columns read. A read does not validate the stored object, so any field may have a wrong type. */
interface Fields {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly webhooks?: unknown;
}

const columns: readonly Column[] = [
  {
    definition: { name: 'Name', type: 'string', format: 'name', description: 'Unique within the kind.', priority: 0 },
    read: ({ metadata }: Fields) => metadata?.name ?? '',
    paths: [metadataPaths.name],
  },
  {
    definition: { name: 'Webhooks', type: 'integer', format: '', description: 'The number of webhooks.', priority: 0 },
    read: ({ webhooks }: Fields) => (Array.isArray(webhooks) ? webhooks.length : 0),
    paths: [['webhooks']],
  },
  {
    definition: { name: 'Age', type: 'date', format: '', description: 'Time since the creation.', priority: 0 },
    read: ({ metadata }: Fields) => metadata?.creationTimestamp,
    paths: [metadataPaths.creationTimestamp],
  },
];

/** Returns the columns that Kubernetes shows for webhook configurations; undefined for other kinds. */
export function webhookColumns({ group, kind }: ModelDescriptor): readonly Column[] | undefined {
  const kinds = [mutatingWebhookKind, validatingWebhookKind];
  return kinds.some((each) => each.group === group && each.kind === kind) ? columns : undefined;
}
