/** The maximum length of the JSON of a body in an entry. Longer bodies are left out. */
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

/** The bodies of request and response in an audit entry. */
export interface RecordedBodies {
  readonly requestObject?: string;
  readonly responseObject?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Returns the bodies of an entry. `sent` and `answered` are results of {@link recordedJson}, or undefined for a body
 * that the policy leaves out. For a body that was too large, the entry has an annotation instead.
 */
export function recordedBodies(sent: string | undefined, answered: string | undefined): RecordedBodies {
  return {
    ...(sent === undefined || sent === omittedBody ? {} : { requestObject: sent }),
    ...(answered === undefined || answered === omittedBody ? {} : { responseObject: answered }),
    ...(sent === omittedBody || answered === omittedBody ? { annotations: { 'audit.k8s.io/truncated': 'true' } } : {}),
  };
}
