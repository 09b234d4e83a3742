/** Larger bodies are left out of entries. */
export const maxBodyLength: number = 64 * 1024;

/** The text that {@link recordedJson} returns for a body that is too large. */
export const omittedBody = '';

/**
 * Returns the JSON of a body, or {@link omittedBody} when the body is too large. Callers may pass undefined for a body
 * that they know to be too large.
 */
export function recordedJson(value: unknown, omitManagedFields: boolean): string {
  if (value === undefined) return omittedBody;
  const json = JSON.stringify(omitManagedFields ? withoutManagedFields(value) : value);
  return json.length > maxBodyLength ? omittedBody : json;
}

function withoutManagedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in value && Array.isArray(value.items)) return { ...value, items: value.items.map(withoutManagedFields) };
  if (!('metadata' in value) || typeof value.metadata !== 'object' || value.metadata === null) return value;
  return { ...value, metadata: { ...value.metadata, managedFields: undefined } };
}

/** The bodies of an entry. */
export interface RecordedBodies {
  readonly requestObject?: string;
  readonly responseObject?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Returns the bodies of an entry, from the results of {@link recordedJson}; undefined for a body that the entry must
 * not contain. An annotation says that a body was too large.
 */
export function recordedBodies(sent: string | undefined, answered: string | undefined): RecordedBodies {
  return {
    ...(sent === undefined || sent === omittedBody ? {} : { requestObject: sent }),
    ...(answered === undefined || answered === omittedBody ? {} : { responseObject: answered }),
    ...(sent === omittedBody || answered === omittedBody ? { annotations: { 'audit.k8s.io/truncated': 'true' } } : {}),
  };
}
