import type { Context } from 'koa';
import type { AuditedResponse } from '../../audit/audit-event.ts';
import type { AuditDecision } from '../../audit/audit-policy.ts';
import { hasSecretBody } from '../../audit/secret-bodies.ts';
import type { Attributes } from '../../authorization/attributes.ts';
import type { BodySource } from '../../decode/body-codec.ts';

/** Larger bodies are left out of entries. */
const maxBodyLength = 64 * 1024;

interface RecordedBodies {
  readonly requestObject?: string;
  readonly responseObject?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface BodiesOf {
  readonly attributes: Attributes;
  readonly decision: AuditDecision;
  readonly body: BodySource | undefined;
  readonly response: AuditedResponse | undefined;
}

/** Returns the bodies of a request that the policy records, without bodies that hold secrets. */
export function recordedBodies(context: Context, { attributes, decision, body, response }: BodiesOf): RecordedBodies {
  if (hasSecretBody(attributes)) return {};
  const { level, omitManagedFields } = decision;
  const sent = body === undefined ? undefined : jsonOf(body.isLarge === true ? undefined : body(), omitManagedFields);
  const isWanted = level === 'RequestResponse' && response?.reason === undefined;
  const answered = isWanted ? responseJson(context, omitManagedFields) : undefined;
  return {
    ...(sent === undefined || sent === tooLarge ? {} : { requestObject: sent }),
    ...(answered === undefined || answered === tooLarge ? {} : { responseObject: answered }),
    ...(sent === tooLarge || answered === tooLarge ? { annotations: { 'audit.k8s.io/truncated': 'true' } } : {}),
  };
}

const tooLarge = '';

function responseJson(context: Context, omitManagedFields: boolean): string | undefined {
  const { body } = context;
  if (body === undefined || body === null || context.respond === false) return undefined;
  const isJson = body instanceof Buffer && !context.res.hasHeader('Content-Encoding');
  if (!isJson || body.length > maxBodyLength) return tooLarge;
  if (context.res.getHeader('Content-Type') !== 'application/json') return tooLarge;
  return jsonOf(JSON.parse(body.toString('utf8')), omitManagedFields);
}

/** Returns the JSON of a value; undefined stands for a body that is too large. */
function jsonOf(value: unknown, omitManagedFields: boolean): string {
  if (value === undefined) return tooLarge;
  const json = JSON.stringify(omitManagedFields ? withoutManagedFields(value) : value);
  return json.length > maxBodyLength ? tooLarge : json;
}

function withoutManagedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in value && Array.isArray(value.items)) return { ...value, items: value.items.map(withoutManagedFields) };
  if (!('metadata' in value) || typeof value.metadata !== 'object' || value.metadata === null) return value;
  return { ...value, metadata: { ...value.metadata, managedFields: undefined } };
}
