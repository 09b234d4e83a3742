import type { Context } from 'koa';
import type { AuditedResponse } from '../../audit/audit-event.ts';
import type { AuditDecision } from '../../audit/audit-policy.ts';
import { maxBodyLength, recordedBodies, recordedJson, omittedBody } from '../../audit/recorded-json.ts';
import type { RecordedBodies } from '../../audit/recorded-json.ts';
import { hasSecretBody } from '../../audit/secret-bodies.ts';
import type { Attributes } from '../../authorization/attributes.ts';
import type { BodySource } from '../../decode/body-codec.ts';

export interface BodiesOf {
  readonly attributes: Attributes;
  readonly decision: AuditDecision;
  readonly body: BodySource | undefined;
  readonly response: AuditedResponse | undefined;
}

/** Returns the bodies of a request and its response that the policy records, without bodies that contain secrets. */
export function bodiesOf(context: Context, { attributes, decision, body, response }: BodiesOf): RecordedBodies {
  if (hasSecretBody(attributes)) return {};
  const { level, omitManagedFields } = decision;
  const sent =
    body === undefined ? undefined : recordedJson(body.isLarge === true ? undefined : body(), omitManagedFields);
  const isWanted = level === 'RequestResponse' && response?.reason === undefined;
  const answered = isWanted ? responseJson(context, omitManagedFields) : undefined;
  return recordedBodies(sent, answered);
}

function responseJson(context: Context, omitManagedFields: boolean): string | undefined {
  const { body } = context;
  if (body === undefined || body === null || context.respond === false) return undefined;
  const isJson = body instanceof Buffer && !context.res.hasHeader('Content-Encoding');
  if (!isJson || body.length > maxBodyLength) return omittedBody;
  if (context.res.getHeader('Content-Type') !== 'application/json') return omittedBody;
  return recordedJson(JSON.parse(body.toString('utf8')), omitManagedFields);
}
